"""`Codes`: n sparse codes, packed into 64-bit words."""

import os
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native, storage
from kinhash.arrays import Array, Bytes, Integers, Words
from kinhash.errors import FormatError, InvalidInputError

MAX_BITS = 1024

_ENTRIES = ("format", "kinhash", "kind", "n_bits", "signed", "made_by")  # of the header of codes


def words_per_code(n_bits: int, *, signed: bool) -> int:
    """Return how many 64-bit words one code takes, all planes together."""
    return -(-n_bits // 64) * (2 if signed else 1)


class Codes:
    """A fixed, packed batch of codes over {0, 1}, or over {-1, 0, 1} when `signed`.

    Bit j of a plane is bit `j % 64` of word `j // 64`. A signed code stores the plane of its +1
    entries, then the plane of its -1 entries, so the l1 distance of two codes is the number of
    differing stored bits: a flipped sign costs 2.

    Codes are immutable: `words` is read-only, and slices share its memory.

    Args:
        words: uint64, `(n, n_words)`: the plus plane's words, then the minus plane's when signed.
        n_bits: Entries per code, 1 to 1,024.
        signed: Whether entries may be -1.

    Raises:
        InvalidInputError: The words have another shape or type, set bits beyond `n_bits`, or claim
            that an entry is +1 and -1 at once.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 0, 1]])
        >>> len(codes), codes.n_bits, codes.n_active.tolist()
        (2, 3, [2, 1])
        >>> codes[1].to_dense()
        array([[0, 0, 1]], dtype=int8)
    """

    __slots__ = ("_n_bits", "_signed", "_words")

    def __init__(self, words: Array, n_bits: int, *, signed: bool = False) -> None:
        n_bits = _checked_n_bits(n_bits)
        words = np.asarray(words)
        expected = words_per_code(n_bits, signed=signed)
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != expected:
            kind = "signed" if signed else "unsigned"
            raise InvalidInputError(
                f"`words` of {n_bits}-bit {kind} codes must be uint64 of shape (n, {expected}), "
                f"got {words.dtype} of shape {words.shape}."
            )
        n_planes = 2 if signed else 1
        planes = words.reshape(len(words), n_planes, expected // n_planes)
        if n_bits % 64 and np.any(planes[:, :, -1] >> np.uint64(n_bits % 64)):
            raise InvalidInputError(f"`words` set bits beyond the {n_bits} bits of a code.")
        if signed and np.any(planes[:, 0] & planes[:, 1]):
            raise InvalidInputError("`words` hold an entry that is +1 and -1 at once.")
        self._n_bits = n_bits
        self._signed = bool(signed)
        # A copy unless nobody else can write: a caller's array must not change codes later.
        self._words = np.ascontiguousarray(words if _is_frozen(words) else words.copy())
        self._words.flags.writeable = False

    @classmethod
    def _trusted(cls, words: Array, n_bits: int, *, signed: bool) -> Self:
        """Wrap words made by this package: no checks, no copy."""
        codes = object.__new__(cls)
        codes._n_bits, codes._signed, codes._words = n_bits, signed, words
        words.flags.writeable = False
        return codes

    @classmethod
    def from_dense(cls, array: npt.ArrayLike, *, signed: bool = False) -> Self:
        """Pack a `(n, n_bits)` array of 0 and 1; of -1, 0 and 1 when `signed`.

        Raises:
            InvalidInputError: Another value or shape.
        """
        dense = np.asarray(array)
        if dense.ndim != 2:
            raise InvalidInputError(f"`array` must be 2-dimensional, got shape {dense.shape}.")
        n_bits = _checked_n_bits(dense.shape[1])
        if dense.dtype.kind not in "biuf":
            raise InvalidInputError(f"`array` must hold numbers, got dtype {dense.dtype}.")
        with np.errstate(invalid="ignore"):  # nan and inf are refused below, by value
            packed = dense.astype(np.int8, copy=False)
        allowed = (-1, 0, 1) if signed else (0, 1)
        wrong = (packed != dense) | (packed < allowed[0]) | (packed > 1)
        if np.any(wrong):
            got = dense[wrong][0]
            hint = " Pass signed=True for -1." if got == -1 else ""
            raise InvalidInputError(
                f"`array` must hold only {', '.join(map(str, allowed))}, got {got}.{hint}"
            )
        words = np.empty((len(dense), words_per_code(n_bits, signed=signed)), np.uint64)
        _native.pack(np.ascontiguousarray(packed), words, signed)
        return cls._trusted(words, n_bits, signed=signed)

    @classmethod
    def from_bytes(cls, array: Array, n_bits: int, *, signed: bool = False) -> Self:
        """Return codes from `to_bytes`'s layout, which is FAISS's for binary vectors.

        Args:
            array: uint8, `(n, n_bytes)` where a plane takes `ceil(n_bits / 8)` bytes.
            n_bits: Entries per code.
            signed: Whether a minus plane follows the plus plane.
        """
        n_bits = _checked_n_bits(n_bits)
        array = np.asarray(array)
        n_planes, n_bytes = (2 if signed else 1), -(-n_bits // 8)
        if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != n_planes * n_bytes:
            raise InvalidInputError(
                f"`array` must be uint8 of shape (n, {n_planes * n_bytes}) for {n_bits} bits, "
                f"got {array.dtype} of shape {array.shape}."
            )
        n_words = words_per_code(n_bits, signed=signed)
        padded = np.zeros((len(array), n_planes, n_words // n_planes * 8), np.uint8)
        padded[:, :, :n_bytes] = array.reshape(len(array), n_planes, n_bytes)
        words = padded.reshape(len(array), n_words * 8).view("<u8").astype(np.uint64, copy=False)
        return cls(words, n_bits, signed=signed)

    @classmethod
    def concatenate(cls, parts: Sequence["Codes"]) -> Self:
        """Return all codes of `parts`, in order; they must agree in `n_bits` and `signed`."""
        if not parts:
            raise InvalidInputError("`parts` must hold at least one batch of codes, got none.")
        for part in parts[1:]:
            part.check_comparable(parts[0], "the parts", "the first part")
        words = np.concatenate([part.words for part in parts])
        return cls._trusted(words, parts[0].n_bits, signed=parts[0].signed)

    @property
    def words(self) -> Words:
        """The packed codes: uint64, `(n, n_words)`, read-only."""
        return self._words

    @property
    def n_bits(self) -> int:
        """Entries per code."""
        return self._n_bits

    @property
    def signed(self) -> bool:
        """Whether entries may be -1."""
        return self._signed

    @property
    def n_active(self) -> Integers:
        """How many entries of each code are not zero: int64, `(n,)`."""
        n_active: Array = np.bitwise_count(self._words).sum(axis=1, dtype=np.int64)
        return n_active

    @property
    def n_unique(self) -> int:
        """How many different codes there are."""
        return len(np.unique(self._words, axis=0))

    def to_dense(self) -> npt.NDArray[np.int8]:
        """Return one int8 per entry, `(n, n_bits)`."""
        dense = np.empty((len(self), self._n_bits), np.int8)
        _native.unpack(self._words, dense, self._signed)
        return dense

    def to_bytes(self) -> Bytes:
        """Return uint8 `(n, n_bytes)`, FAISS's layout of binary vectors; signed: plus, minus."""
        n_planes, n_bytes = (2 if self._signed else 1), -(-self._n_bits // 8)
        raw = np.ascontiguousarray(self._words, dtype="<u8").view(np.uint8)
        planes = raw.reshape(len(self), n_planes, self._words.shape[1] // n_planes * 8)
        return planes[:, :, :n_bytes].copy().reshape(len(self), n_planes * n_bytes)

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
            ids: `(n,)` integers, the ids of the items; none are stored by default.
            made_by: The fingerprint of the encoder, against which a search can check its model.

        Raises:
            InvalidInputError: The ids are not as many integers as there are codes, `made_by` is no
                string, or the folder cannot be written.
        """
        if made_by is not None and not isinstance(made_by, str):
            raise InvalidInputError(
                f"`made_by` must be a fingerprint (a string) or None, got {made_by!r}."
            )
        header = {
            "kind": "codes",
            "n_bits": self.n_bits,
            "signed": self.signed,
            "made_by": made_by,
        }
        arrays = {"words": self.words}
        if ids is not None:
            arrays["ids"] = _checked_ids(ids, len(self))
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
        """Raise unless `other` has the same `n_bits` and `signed`; `mine`, `theirs` name both."""
        if self.n_bits != other.n_bits:
            raise InvalidInputError(
                f"{mine} have {self.n_bits} bits but {theirs} has {other.n_bits}-bit codes. "
                "Encode both with the same encoder."
            )
        if self.signed != other.signed:
            kinds = {True: "signed", False: "unsigned"}
            raise InvalidInputError(
                f"{mine} are {kinds[self.signed]} but {theirs} has {kinds[other.signed]} codes. "
                "Encode both with the same encoder."
            )

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, rows: slice | npt.ArrayLike) -> "Codes":
        """Return the codes at `rows` (an int, a slice, a mask or row numbers), always as Codes.

        Raises:
            IndexError: It is something else, such as a pair, or a row that there is not.
        """
        words = self._words[rows if type(rows) is slice else _checked_rows(rows, len(self))]
        return Codes._trusted(words, self._n_bits, signed=self._signed)

    def __iter__(self) -> Iterator["Codes"]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codes):
            return NotImplemented
        return (
            (self.n_bits, self.signed) == (other.n_bits, other.signed)
            and len(self) == len(other)
            and bool(np.array_equal(self._words, other._words))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        active = f"{self.n_active.mean():.1f}" if len(self) else "-"
        return f"Codes(n={len(self)}, n_bits={self.n_bits}, signed={self.signed}, active={active})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (np.array(self._words), self._n_bits, self._signed)


class StoredCodes(NamedTuple):
    """Codes as a file holds them."""

    codes: Codes
    ids: Integers | None  # (n,)
    made_by: str | None  # fingerprint of the encoder


def stored_codes(header: dict[str, Any], arrays: dict[str, Array]) -> StoredCodes:
    """Return the codes of a file that `storage.read` has read.

    Raises:
        FormatError: Something is missing or does not fit.
    """
    storage.check_names("entry", header, _ENTRIES)
    storage.check_names("array", arrays, {"ids", "words"})
    n_bits, signed = storage.value(header, "n_bits", int), storage.value(header, "signed", bool)
    made_by = storage.value(header, "made_by", str, type(None))
    if "words" not in arrays:
        raise FormatError("the array `words` is missing.")
    try:
        codes = Codes(arrays["words"], n_bits, signed=signed)
    except InvalidInputError as error:
        raise FormatError(str(error)) from error
    ids = arrays.get("ids")
    if ids is not None and (ids.dtype != np.int64 or ids.shape != (len(codes),)):
        raise FormatError(
            f"`ids` must be int64 of shape ({len(codes)},), "
            f"the file has {ids.dtype} of shape {ids.shape}."
        )
    return StoredCodes(codes, ids, made_by)


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


def _checked_ids(ids: npt.ArrayLike, n: int) -> Array:
    checked = np.asarray(ids)
    if checked.shape != (n,):
        raise InvalidInputError(
            f"`ids` must be one id for each of {n} codes, got shape {checked.shape}."
        )
    if checked.dtype.kind not in "iu" and checked.size:
        raise InvalidInputError(f"`ids` must be integers, got dtype {checked.dtype}.")
    if checked.dtype == np.uint64 and checked.size and checked.max() > np.iinfo(np.int64).max:
        raise InvalidInputError(f"`ids` must fit into int64, got {checked.max()}.")
    return checked.astype(np.int64)


def _rebuild(words: Array, n_bits: int, signed: bool) -> Codes:  # noqa: FBT001 - pickle's call
    return Codes(words, n_bits, signed=signed)


def _is_frozen(array: object) -> bool:
    """Whether neither `array` nor any array that it is a view of can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def _checked_n_bits(n_bits: int) -> int:
    is_integer = isinstance(n_bits, (int, np.integer)) and not isinstance(n_bits, bool)
    if not is_integer or not 1 <= n_bits <= MAX_BITS:
        raise InvalidInputError(f"`n_bits` must be an integer in [1, {MAX_BITS}], got {n_bits!r}.")
    return int(n_bits)
