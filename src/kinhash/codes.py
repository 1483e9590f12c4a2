"""`Codes`: n codes, a sparse bucket and dense rank bits, packed into 64-bit words."""

import os
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native, storage
from kinhash.arrays import Array, Bytes, Integers, Words
from kinhash.errors import FormatError, InvalidInputError
from kinhash.ids import Texts, as_new_ids, check_table

# How items are ordered: by distance, then rank distance; or by the sum of both.
Order = Literal["nested", "total"]
ORDERS = ("nested", "total")

MAX_BITS = 4096  # stored bits of a code: a signed entry takes two

# Of the header of codes; files of format 1 have no `n_rank_bits`.
_ENTRIES = ("format", "kinhash", "kind", "n_bits", "n_rank_bits", "signed", "made_by")


def words_per_code(n_bits: int, *, signed: bool) -> int:
    """Return how many 64-bit words one code takes, all planes together."""
    return -(-n_bits // 64) * (2 if signed else 1)


class Codes:
    """A fixed, packed batch of codes: a bucket over {0, 1} (or {-1, 0, 1}), then rank bits.

    The bucket decides which items are found: distances, radii and lookups are of its bits. The
    rank bits, of which there may be none, decide only where an item stands among those that are
    found. `n_bits` counts the entries of both parts.

    Bit j of a plane is bit `j % 64` of word `j // 64`. A signed bucket stores the plane of its +1
    entries, then the plane of its -1 entries, so the l1 distance of two buckets is the number of
    differing stored bits: a flipped sign costs 2. Rank bits have words of their own.

    Codes are immutable: `words` and `rank_words` are read-only, and slices share their memory.

    Args:
        words: uint64, `(n, n_words)`: of the bucket, the plus plane's words, then the minus
            plane's when signed.
        n_bits: Entries per code, bucket and rank; at most 4,096 stored bits.
        signed: Whether entries of the bucket may be -1.
        rank_words: uint64, `(n, ceil(n_rank_bits / 64))`, if there are rank bits.
        n_rank_bits: How many of the entries are rank bits.

    Raises:
        InvalidInputError: The words have another shape or type, set bits beyond their part, or
            claim that an entry is +1 and -1 at once.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 0, 1]])
        >>> len(codes), codes.n_bits, codes.n_active.tolist()
        (2, 3, [2, 1])
        >>> codes[1].to_dense()
        array([[0, 0, 1]], dtype=int8)
        >>> nested = Codes.from_dense([[0, 1, 1]], rank=[[1, 0]])
        >>> nested.n_bits, nested.n_rank_bits, nested.rank_to_dense().tolist()
        (5, 2, [[1, 0]])
    """

    __slots__ = ("_n_bits", "_n_rank_bits", "_rank_words", "_signed", "_words")

    def __init__(
        self,
        words: Array,
        n_bits: int,
        *,
        signed: bool = False,
        rank_words: Array | None = None,
        n_rank_bits: int = 0,
    ) -> None:
        n_bits, n_rank_bits = _checked_lengths(n_bits, n_rank_bits, signed=signed)
        n_bucket_bits, words = n_bits - n_rank_bits, np.asarray(words)
        expected = words_per_code(n_bucket_bits, signed=signed)
        kind = f"{n_bucket_bits}-bit {'signed' if signed else 'unsigned'} codes"
        _check_words("`words`", words, kind, expected)
        n_planes = 2 if signed else 1
        planes = words.reshape(len(words), n_planes, expected // n_planes)
        _check_padding("`words`", planes, n_bucket_bits)
        if signed and np.any(planes[:, 0] & planes[:, 1]):
            raise InvalidInputError("`words` hold an entry that is +1 and -1 at once.")
        rank = (
            np.zeros((len(words), 0), np.uint64) if rank_words is None else np.asarray(rank_words)
        )
        n_rank_words = words_per_code(n_rank_bits, signed=False)
        _check_words("`rank_words`", rank, f"codes with {n_rank_bits} rank bits", n_rank_words)
        if len(rank) != len(words):
            raise InvalidInputError(
                f"`rank_words` must be as many as `words`, got {len(rank)} and {len(words)}."
            )
        _check_padding("`rank_words`", rank[:, None], n_rank_bits)
        self._n_bits, self._n_rank_bits, self._signed = n_bits, n_rank_bits, bool(signed)
        self._words, self._rank_words = _frozen(words), _frozen(rank)

    @classmethod
    def _trusted(
        cls,
        words: Array,
        n_bits: int,
        *,
        signed: bool,
        rank_words: Array | None = None,
        n_rank_bits: int = 0,
    ) -> Self:
        """Wrap words made by this package: no checks, no copy."""
        codes = object.__new__(cls)
        codes._n_bits, codes._n_rank_bits, codes._signed = n_bits, n_rank_bits, signed
        codes._words = words
        codes._rank_words = (
            np.zeros((len(words), 0), np.uint64) if rank_words is None else rank_words
        )
        codes._words.flags.writeable = codes._rank_words.flags.writeable = False
        return codes

    @classmethod
    def from_dense(
        cls, bucket: npt.ArrayLike, *, signed: bool = False, rank: npt.ArrayLike | None = None
    ) -> Self:
        """Pack arrays of 0 and 1; the bucket of -1, 0 and 1 when `signed`.

        Args:
            bucket: `(n, n_bucket_bits)`.
            signed: Whether the bucket may hold -1.
            rank: `(n, n_rank_bits)` of 0 and 1; none by default.

        Raises:
            InvalidInputError: Another value or shape, or more than 4,096 stored bits.
        """
        dense = _checked_dense("`bucket`", bucket, signed=signed)
        ranks = None if rank is None else _checked_dense("`rank`", rank, signed=False)
        if ranks is not None and len(ranks) != len(dense):
            raise InvalidInputError(
                f"`bucket` and `rank` must have as many rows, got {len(dense)} and {len(ranks)}."
            )
        n_rank_bits = 0 if ranks is None else ranks.shape[1]
        n_bits, _ = _checked_lengths(dense.shape[1] + n_rank_bits, n_rank_bits, signed=signed)
        return cls._trusted(
            _packed(dense, signed=signed),
            n_bits,
            signed=bool(signed),
            rank_words=None if ranks is None else _packed(ranks, signed=False),
            n_rank_bits=n_rank_bits,
        )

    @classmethod
    def from_bytes(
        cls, array: Array, n_bits: int | None = None, *, signed: bool = False, n_rank_bits: int = 0
    ) -> Self:
        """Return codes from `to_bytes`'s layout, which is FAISS's for binary vectors.

        Args:
            array: uint8, `(n, n_bytes)`: the bucket's plane (two when signed), then the rank bits,
                each padded to whole bytes. int8, as sentence-transformers' "binary" embeddings
                are, means each value plus 128.
            n_bits: Entries per code, bucket and rank; 8 for each byte unless given, which it must
                be with signs or rank bits.
            signed: Whether a minus plane follows the plus plane.
            n_rank_bits: How many of the entries are rank bits.

        Raises:
            InvalidInputError: The array is of another type or shape, or `n_bits` is missing.
        """
        array = np.asarray(array)
        if array.dtype == np.int8:
            array = (array.astype(np.int16) + 128).astype(np.uint8)
        if n_bits is None:
            if signed or n_rank_bits:
                raise InvalidInputError(
                    "`n_bits` cannot be inferred for codes with signs or rank bits. Pass n_bits=."
                )
            n_bits = 8 * (array.shape[1] if array.ndim == 2 else 1)
        n_bits, n_rank_bits = _checked_lengths(n_bits, n_rank_bits, signed=signed)
        n_planes, n_bucket_bits = (2 if signed else 1), n_bits - n_rank_bits
        n_plane_bytes, n_rank_bytes = -(-n_bucket_bits // 8), -(-n_rank_bits // 8)
        n_bytes = n_planes * n_plane_bytes + n_rank_bytes
        if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != n_bytes:
            ranked = f", {n_rank_bits} of them rank" if n_rank_bits else ""
            raise InvalidInputError(
                f"`array` must be uint8 of shape (n, {n_bytes}) for {n_bits} bits{ranked}, "
                f"got {array.dtype} of shape {array.shape}."
            )
        bucket, rank = np.split(array, [n_planes * n_plane_bytes], axis=1)
        words = _from_plane_bytes(bucket.reshape(len(array), n_planes, n_plane_bytes))
        rank_words = _from_plane_bytes(rank[:, None]) if n_rank_bits else None
        return cls(words, n_bits, signed=signed, rank_words=rank_words, n_rank_bits=n_rank_bits)

    @classmethod
    def concatenate(cls, parts: Sequence["Codes"]) -> Self:
        """Return all codes of `parts`, in order; they must have the same lengths and `signed`."""
        if not parts:
            raise InvalidInputError("`parts` must hold at least one batch of codes, got none.")
        for part in parts[1:]:
            part.check_comparable(parts[0], "the parts", "the first part")
        return cls._trusted(
            np.concatenate([part.words for part in parts]),
            parts[0].n_bits,
            signed=parts[0].signed,
            rank_words=np.concatenate([part.rank_words for part in parts]),
            n_rank_bits=parts[0].n_rank_bits,
        )

    @property
    def words(self) -> Words:
        """The packed buckets: uint64, `(n, n_words)`, read-only."""
        return self._words

    @property
    def rank_words(self) -> Words:
        """The packed rank bits: uint64, `(n, n_rank_words)`, read-only; no columns if none."""
        return self._rank_words

    @property
    def n_bits(self) -> int:
        """Entries per code, bucket and rank."""
        return self._n_bits

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return self._n_rank_bits

    @property
    def n_bucket_bits(self) -> int:
        """How many of the entries are the bucket's."""
        return self._n_bits - self._n_rank_bits

    @property
    def signed(self) -> bool:
        """Whether entries of the bucket may be -1."""
        return self._signed

    @property
    def n_active(self) -> Integers:
        """How many entries of each bucket are not zero: int64, `(n,)`."""
        n_active: Array = np.bitwise_count(self._words).sum(axis=1, dtype=np.int64)
        return n_active

    @property
    def n_unique(self) -> int:
        """How many different buckets there are."""
        return len(np.unique(self._words, axis=0))

    def to_dense(self) -> npt.NDArray[np.int8]:
        """Return one int8 per entry of the bucket, `(n, n_bucket_bits)`."""
        return _unpacked(self._words, self.n_bucket_bits, signed=self._signed)

    def rank_to_dense(self) -> npt.NDArray[np.int8]:
        """Return one int8 per rank bit, `(n, n_rank_bits)`."""
        return _unpacked(self._rank_words, self._n_rank_bits, signed=False)

    def without_rank(self) -> "Codes":
        """Return the buckets alone: codes without rank bits, which share their memory."""
        return Codes._trusted(self._words, self.n_bucket_bits, signed=self._signed)

    def to_bytes(self) -> Bytes:
        """Return uint8 `(n, n_bytes)`: bucket (plus, minus), then rank, each in whole bytes.

        Without rank bits it is FAISS's layout of binary vectors.
        """
        n_planes = 2 if self._signed else 1
        planes = self._words.reshape(len(self), n_planes, self._words.shape[1] // n_planes)
        parts = [_plane_bytes(planes, self.n_bucket_bits)]
        if self._n_rank_bits:
            parts.append(_plane_bytes(self._rank_words[:, None], self._n_rank_bits))
        return np.concatenate(parts, axis=1)

    def save(
        self,
        path: str | os.PathLike[str],
        ids: npt.ArrayLike | None = None,
        *,
        made_by: str | None = None,
    ) -> None:
        """Write the codes to one file, all or nothing; an interrupted save leaves the old file.

        Args:
            path: The file.
            ids: `(n,)` different integers or strings, the ids of the items; none are stored by
                default.
            made_by: The fingerprint of the encoder, against which a search can check its model.

        Raises:
            InvalidInputError: The ids are not as many as there are codes, of another kind or not
                different, `made_by` is no string, or the folder cannot be written.
        """
        if made_by is not None and not isinstance(made_by, str):
            raise InvalidInputError(
                f"`made_by` must be a fingerprint (a string) or None, got {made_by!r}."
            )
        header = {
            "kind": "codes",
            "n_bits": self.n_bits,
            "n_rank_bits": self.n_rank_bits,
            "signed": self.signed,
            "made_by": made_by,
        }
        arrays = {"words": self.words}
        if self.n_rank_bits:
            arrays["rank_words"] = self.rank_words
        if ids is not None:
            arrays |= _ids_as_arrays(ids, len(self))
        storage.write(path, header, arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "StoredCodes":
        """Return the codes of a file that `save` or `kinhash encode` wrote, with their ids.

        Raises:
            InvalidInputError: There is no such file, or it cannot be read.
            FormatError: It is damaged, of another program or a newer format, or holds no codes.
        """
        header, arrays = storage.read(path)
        if header.get("kind") != "codes":
            raise FormatError(
                f"{path} holds a {header.get('kind')}, not codes. Open it with kinhash.load."
            )
        try:
            return stored_codes(header, arrays)
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from error

    def check_comparable(self, other: "Codes", mine: str, theirs: str) -> None:
        """Raise unless `other` has the same lengths and `signed`; `mine`, `theirs` name both."""
        if self.n_bucket_bits != other.n_bucket_bits:
            # With rank bits, `n_bits` is another number than that of the buckets.
            bits, codes = "bits", "codes"
            if self.n_rank_bits or other.n_rank_bits:
                bits, codes = "bucket bits", "buckets"
            raise InvalidInputError(
                f"{mine} have {self.n_bucket_bits} {bits} but {theirs} has "
                f"{other.n_bucket_bits}-bit {codes}. Encode both with the same encoder."
            )
        if self.signed != other.signed:
            kinds = {True: "signed", False: "unsigned"}
            raise InvalidInputError(
                f"{mine} are {kinds[self.signed]} but {theirs} has {kinds[other.signed]} codes. "
                "Encode both with the same encoder."
            )
        if self.n_rank_bits != other.n_rank_bits:
            raise InvalidInputError(
                f"{mine} have {self.n_rank_bits} rank bits but {theirs} has codes with "
                f"{other.n_rank_bits}. Encode both with the same encoder, or drop rank bits with "
                "codes.without_rank()."
            )

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, rows: slice | npt.ArrayLike) -> "Codes":
        """Return the codes at `rows` (an int, a slice, a mask or row numbers), always as Codes.

        Raises:
            IndexError: It is something else, such as a pair, or a row that there is not.
        """
        chosen = rows if type(rows) is slice else _checked_rows(rows, len(self))
        return Codes._trusted(
            self._words[chosen],
            self._n_bits,
            signed=self._signed,
            rank_words=self._rank_words[chosen],
            n_rank_bits=self._n_rank_bits,
        )

    def __iter__(self) -> Iterator["Codes"]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codes):
            return NotImplemented
        mine = self.n_bits, self.n_rank_bits, self.signed
        return (
            mine == (other.n_bits, other.n_rank_bits, other.signed)
            and len(self) == len(other)
            and bool(np.array_equal(self._words, other._words))
            and bool(np.array_equal(self._rank_words, other._rank_words))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        active = f"{self.n_active.mean():.1f}" if len(self) else "-"
        rank = f"n_rank_bits={self.n_rank_bits}, " if self.n_rank_bits else ""
        return (
            f"Codes(n={len(self)}, n_bits={self.n_bits}, {rank}signed={self.signed}, "
            f"active={active})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        words, rank_words = np.array(self._words), np.array(self._rank_words)
        return _rebuild, (words, self._n_bits, self._signed, rank_words, self._n_rank_bits)


class StoredCodes(NamedTuple):
    """Codes as a file holds them."""

    codes: Codes
    ids: Array | None  # (n,): int64 or str
    made_by: str | None  # fingerprint of the encoder


def stored_codes(header: dict[str, Any], arrays: dict[str, Array]) -> StoredCodes:
    """Return the codes of a file that `storage.read` has read.

    Raises:
        FormatError: Something is missing or does not fit.
    """
    storage.check_names("entry", header, _ENTRIES)
    storage.check_names("array", arrays, {"id_starts", "id_texts", "ids", "rank_words", "words"})
    n_bits, signed = storage.value(header, "n_bits", int), storage.value(header, "signed", bool)
    n_rank_bits = storage.value({"n_rank_bits": 0, **header}, "n_rank_bits", int)
    made_by = storage.value(header, "made_by", str, type(None))
    if "words" not in arrays:
        raise FormatError("the array `words` is missing.")
    try:
        codes = Codes(
            arrays["words"],
            n_bits,
            signed=signed,
            rank_words=arrays.get("rank_words"),
            n_rank_bits=n_rank_bits,
        )
    except InvalidInputError as error:
        raise FormatError(str(error)) from error
    return StoredCodes(codes, _stored_ids(arrays, len(codes)), made_by)


def _ids_as_arrays(ids: npt.ArrayLike, n: int) -> dict[str, Array]:
    """Return the arrays of a file that hold the ids of `n` codes."""
    checked = as_new_ids(ids, n)
    if isinstance(checked, Texts):
        return {"id_starts": checked.starts, "id_texts": checked.texts}
    return {"ids": checked}


def _stored_ids(arrays: dict[str, Array], n: int) -> Array | None:
    """Return the ids of `n` codes in a file, if it has any."""
    found = sorted(arrays.keys() & {"id_starts", "id_texts", "ids"})
    if found in ([], ["ids"]):
        return _of_file("ids", arrays["ids"], np.int64, n) if found else None
    if found != ["id_starts", "id_texts"]:
        raise FormatError(
            "the file must have `ids`, or `id_starts` with `id_texts`, or none of these, but has "
            f"{', '.join(f'`{name}`' for name in found)}."
        )
    table = Texts(
        _of_file("id_texts", arrays["id_texts"], np.uint8, arrays["id_texts"].size),
        _of_file("id_starts", arrays["id_starts"], np.uint64, n + 1),
    )
    try:
        check_table(table)
    except ValueError as error:
        raise FormatError(f"{error}.") from error
    return table.decoded()


def _of_file(name: str, array: Array, dtype: type[np.generic], n: int) -> Array:
    """Return a one-dimensional array of a file, which must be of that type and length."""
    if array.dtype != dtype or array.shape != (n,):
        raise FormatError(
            f"`{name}` must be {np.dtype(dtype)} of shape ({n},), "
            f"the file has {array.dtype} of shape {array.shape}."
        )
    return array


def _checked_rows(rows: Any, n: int) -> Array:  # noqa: ANN401 - whatever the user has
    """Return a mask of `n` rows, or row numbers that are there; words are never indexed."""
    try:
        # A tuple would be an index of several dimensions, and None a new one.
        array = None if isinstance(rows, tuple) else np.asarray(rows)
    except ValueError:  # lists of different lengths
        array = None
    if array is not None and array.ndim == 1 and not array.size and array.dtype != bool:
        array = array.astype(np.int64)  # an empty list has floats
    is_number = array is not None and array.ndim <= 1 and array.dtype.kind in "iu"
    is_mask = array is not None and array.ndim == 1 and array.dtype == bool
    if array is None or not (is_number or is_mask):
        raise IndexError(
            "Codes are indexed by row: an int, a slice, a mask or row numbers, "
            f"got {reprlib.repr(rows)}."
        )
    if is_mask:
        if len(array) != n:
            raise IndexError(f"A mask over {n} codes must have {n} entries, got {len(array)}.")
        return array
    numbers = array.reshape(-1)
    wrong = numbers[(numbers < -n) | (numbers >= n)]
    if wrong.size:
        raise IndexError(f"There is no row {wrong[0]} of {n} codes.")
    return numbers


def _rebuild(
    words: Array,
    n_bits: int,
    signed: bool,  # noqa: FBT001
    rank_words: Array | None = None,
    n_rank_bits: int = 0,
) -> Codes:
    return Codes(words, n_bits, signed=signed, rank_words=rank_words, n_rank_bits=n_rank_bits)


def _frozen(array: Array) -> Array:
    """Return a contiguous array that cannot be written to.

    A copy unless nobody else can write: a caller's array must not change codes later.
    """
    frozen = np.ascontiguousarray(array if _is_frozen(array) else array.copy())
    frozen.flags.writeable = False
    return frozen


def _is_frozen(array: object) -> bool:
    """Whether neither `array` nor any array that it is a view of can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _checked_lengths(n_bits: int, n_rank_bits: int, *, signed: bool) -> tuple[int, int]:
    """Return both numbers as ints, once they are known to make a code."""
    for name, value, low in (("n_bits", n_bits, 1), ("n_rank_bits", n_rank_bits, 0)):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_integer or not low <= value <= MAX_BITS:
            raise InvalidInputError(
                f"`{name}` must be an integer in [{low}, {MAX_BITS}], got {value!r}."
            )
    if n_rank_bits >= n_bits:
        raise InvalidInputError(
            f"`n_rank_bits` must be less than the {n_bits} bits of a code, so that a bucket is "
            f"left, got {n_rank_bits}."
        )
    n_stored = n_bits + (n_bits - n_rank_bits if signed else 0)
    if n_stored > MAX_BITS:
        raise InvalidInputError(
            f"A code must have at most {MAX_BITS} stored bits, got {n_stored}: a signed entry "
            "takes two. Use shorter codes."
        )
    return int(n_bits), int(n_rank_bits)


def _check_words(name: str, words: Array, kind: str, n_words: int) -> None:
    if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != n_words:
        raise InvalidInputError(
            f"{name} of {kind} must be uint64 of shape (n, {n_words}), "
            f"got {words.dtype} of shape {words.shape}."
        )


def _check_padding(name: str, planes: Array, n_bits: int) -> None:
    if n_bits % 64 and np.any(planes[:, :, -1] >> np.uint64(n_bits % 64)):
        raise InvalidInputError(f"{name} set bits beyond the {n_bits} bits of a code.")


def _checked_dense(name: str, array: npt.ArrayLike, *, signed: bool) -> Array:
    """Return a contiguous int8 array of 0 and 1, or of -1, 0 and 1."""
    dense = np.asarray(array)
    if dense.ndim != 2:
        raise InvalidInputError(f"{name} must be 2-dimensional, got shape {dense.shape}.")
    if dense.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold numbers, got dtype {dense.dtype}.")
    with np.errstate(invalid="ignore"):  # nan and inf are refused below, by value
        entries = dense.astype(np.int8, copy=False)
    allowed = (-1, 0, 1) if signed else (0, 1)
    wrong = (entries != dense) | (entries < allowed[0]) | (entries > 1)
    if np.any(wrong):
        got = dense[wrong][0]
        hint = " Pass signed=True for -1." if got == -1 and name == "`bucket`" else ""
        raise InvalidInputError(
            f"{name} must hold only {', '.join(map(str, allowed))}, got {got}.{hint}"
        )
    return np.ascontiguousarray(entries)


def _packed(dense: Array, *, signed: bool) -> Array:
    words = np.empty((len(dense), words_per_code(dense.shape[1], signed=signed)), np.uint64)
    _native.pack(dense, words, signed)
    return words


def _unpacked(words: Array, n_bits: int, *, signed: bool) -> npt.NDArray[np.int8]:
    dense = np.empty((len(words), n_bits), np.int8)
    if n_bits:
        _native.unpack(words, dense, signed)
    return dense


def _plane_bytes(planes: Array, n_bits: int) -> Bytes:
    """Return the bytes of each plane, `(n, n_planes, n_words)` words, one plane after the other."""
    n, n_planes, _ = planes.shape
    raw = np.ascontiguousarray(planes, dtype="<u8").view(np.uint8)
    n_bytes = -(-n_bits // 8)
    return raw[:, :, :n_bytes].copy().reshape(n, n_planes * n_bytes)


def _from_plane_bytes(planes: Bytes) -> Array:
    """Return the words of planes of bytes, `(n, n_planes, n_bytes)`."""
    n, n_planes, n_bytes = planes.shape
    n_words = -(-n_bytes // 8)
    padded = np.zeros((n, n_planes, 8 * n_words), np.uint8)
    padded[:, :, :n_bytes] = planes
    words: Array = padded.reshape(n, n_planes * n_words * 8).view("<u8")
    return words.astype(np.uint64, copy=False)
