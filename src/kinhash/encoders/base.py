"""`Encoder`: what every map from vectors to codes shares."""

import dataclasses
import functools
import hashlib
import reprlib
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from kinhash.arguments import checked_threads
from kinhash.arrays import Array, Csr, Matrix
from kinhash.codes import MAX_BITS, Codes, words_per_code
from kinhash.encoders.vectors import as_float32, check_finite, is_sparse
from kinhash.errors import FormatError, InvalidInputError

_SETTINGS = (bool, float, int)  # the types of the fields that are no arrays
_TINY, _HUGE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)

CHUNK_BYTES = 2**26  # converted at a time: bounds the memory for inputs that are not float32


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """Turns vectors into codes; what a fitted method leaves behind.

    Inputs are standardised, `(x - mean) * scale`. Subclasses add the map from there to `n_bits`
    outputs. Arrays are float32 unless a subclass says otherwise.
    """

    kind: ClassVar[str]
    _may_be_empty: ClassVar[frozenset[str]] = frozenset()  # arrays that may have no rows

    mean: Array  # (n_features,)
    scale: Array  # (n_features,)

    @property
    def n_features(self) -> int:
        """Width of the vectors it takes."""
        return int(self.mean.shape[0])

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        raise NotImplementedError

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return 0

    @property
    def signed(self) -> bool:
        """Whether entries of its codes may be -1."""
        return False

    def forward(self, X: Array) -> Array:
        """Return the real outputs behind the codes, float32 `(n, n_bits)`, in plain NumPy."""
        raise NotImplementedError

    def _encode_chunk(self, X: Array, words: Array, n_threads: int) -> int:
        """Write the codes of contiguous float32 rows into `words`: the bucket's, then the rank's.

        Returns:
            The first row that has no finite outputs, or `len(X)`.
        """
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        """Return the type and shape that each array must have."""
        raise NotImplementedError

    def _ranges(self) -> dict[str, tuple[int, int]]:
        """Return the least and the greatest value of each setting that is an integer."""
        return {}

    def _encode_sparse_chunk(self, X: Csr, words: Array, n_threads: int) -> int:
        """Write the codes of sparse rows; returns as `_encode_chunk`."""
        return self._encode_chunk(as_float32(X.toarray()), words, n_threads)

    def encode(self, X: Matrix, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows of `X`.

        A row's code does not depend on the rows around it. `X` may be memory-mapped and of any
        real type: it is converted a chunk at a time. So is a sparse matrix; where the map begins
        with a projection, the work is in proportion to its entries.

        Args:
            X: `(n, n_features)` numbers, an array or a SciPy sparse matrix.
            n_threads: Threads to use; all cores by default.

        Raises:
            InvalidInputError: Another width, a row with NaN, infinity or too large a value, or
                `n_threads` is less than 1.
        """
        if X.ndim != 2 or X.shape[1] != self.n_features:
            got = f"{X.shape[1]} columns" if X.ndim == 2 else f"shape {X.shape}"
            raise InvalidInputError(
                f"`X` has {got}, but the encoder takes vectors of {self.n_features} numbers."
            )
        n_threads = checked_threads("n_threads", n_threads)
        words = np.empty((X.shape[0], sum(self._n_words())), np.uint64)
        if is_sparse(X):
            self._encode_sparse(scipy.sparse.csr_array(X), words, n_threads)
            return self._codes(words)
        # What needs no conversion goes in one call: threads take milliseconds to get going.
        ready = X.dtype == np.float32 and X.flags.c_contiguous
        step = max(1, len(X) if ready else CHUNK_BYTES // (4 * self.n_features))
        for start in range(0, len(X), step):
            chunk = as_float32(X[start : start + step])
            row = self._encode_chunk(chunk, words[start : start + step], n_threads)
            if row < len(chunk):
                check_finite(np.asarray(X[start + row])[None], first_row=start + row)
                raise _too_large(start + row)
        return self._codes(words)

    def _n_words(self) -> tuple[int, int]:
        """Return how many words the bucket takes, and how many the rank bits."""
        n_bucket_bits = self.n_bits - self.n_rank_bits
        n_rank_words = words_per_code(self.n_rank_bits, signed=False) if self.n_rank_bits else 0
        return words_per_code(n_bucket_bits, signed=self.signed), n_rank_words

    def _codes(self, words: Array) -> Codes:
        """Return the codes of words that `_encode_chunk` has written."""
        n_bucket_words, n_rank_words = self._n_words()
        both = n_rank_words > 0
        return Codes._trusted(  # noqa: SLF001 - own words
            np.ascontiguousarray(words[:, :n_bucket_words]) if both else words,
            self.n_bits,
            signed=self.signed,
            rank_words=np.ascontiguousarray(words[:, n_bucket_words:]) if both else None,
            n_rank_bits=self.n_rank_bits,
        )

    def _encode_sparse(self, X: Csr, words: Array, n_threads: int) -> None:
        check_finite(X)
        step = max(1, CHUNK_BYTES // (4 * self.n_features))
        for start in range(0, X.shape[0], step):
            chunk = X[start : start + step].astype(np.float32)
            row = self._encode_sparse_chunk(chunk, words[start : start + step], n_threads)
            if row < chunk.shape[0]:
                raise _too_large(start + row)

    def standardise(self, X: Array) -> Array:
        """Return the rows of `X` as the map sees them, float32."""
        standard: Array = (as_float32(X) - self.mean) * self.scale
        return standard

    @functools.cached_property
    def fingerprint(self) -> str:
        """A short text that only an encoder with the same arrays and settings has."""
        digest = hashlib.sha256(f"{self.kind} {sorted(self.settings().items())}".encode())
        for name, array in sorted(self.arrays().items()):
            digest.update(f"{name} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}

    def settings(self) -> dict[str, Any]:
        """Return everything else to store: plain Python numbers and flags."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in fields.items()
            if name not in self.arrays()
        }

    @classmethod
    def restore(cls, arrays: dict[str, Array], settings: dict[str, Any]) -> Self:
        """Return the encoder of stored arrays and settings.

        Raises:
            FormatError: Something is missing, superfluous, not finite, or of another shape or type.
        """
        kinds = {f.name: f.type for f in dataclasses.fields(cls)}
        own_settings = {name for name, kind in kinds.items() if kind in _SETTINGS}
        own_arrays = kinds.keys() - own_settings
        if set(arrays) != own_arrays or set(settings) != own_settings:
            raise FormatError(
                f"a {cls.kind!r} encoder has {_listed(own_arrays, own_settings)}; "
                f"the file has {_listed(arrays, settings)}."
            )
        encoder = cls(**arrays, **settings)
        encoder._check()
        return encoder

    def _check(self) -> None:
        """Raise FormatError unless the arrays and settings are such that codes follow from them."""
        expected = self._shapes()
        for name, array in self.arrays().items():
            dtype, shape = expected[name]
            has_rows = array.ndim and (len(array) or name in self._may_be_empty)
            if array.dtype != dtype or array.shape != shape or not has_rows:
                raise FormatError(
                    f"`{name}` of the encoder must be {np.dtype(dtype)} of shape {shape}, "
                    f"the file has {array.dtype} of shape {array.shape}."
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FormatError(f"`{name}` of the encoder has a NaN or an infinity. Train again.")
        kind, most = ("signed ", MAX_BITS // 2) if self.signed else ("", MAX_BITS)
        if not 1 <= self.n_bits <= most:
            raise FormatError(f"the encoder has {self.n_bits} bits, a {kind}code has 1 to {most}.")
        for field in dataclasses.fields(self):
            if field.type in _SETTINGS:
                self._check_setting(field.name, field.type)

    def _check_setting(self, name: str, kind: Any) -> None:  # noqa: ANN401 - a type
        value = getattr(self, name)
        if kind is bool:
            fits, expected = type(value) is bool, "true or false"
        elif kind is int:
            low, high = self._ranges()[name]
            fits = type(value) is int and low <= value <= high
            expected = f"an integer in [{low}, {high}]"
        else:
            # As a float32, because that is what the maps calculate with.
            fits = type(value) in {int, float} and _TINY <= value <= _HUGE
            expected = "a positive float32 number"
        if not fits:
            raise FormatError(
                f"`{name}` of the encoder must be {expected}, the file has {reprlib.repr(value)}."
            )


def _listed(arrays: Iterable[str], settings: Iterable[str]) -> str:
    return (
        f"{', '.join(sorted(arrays)) or 'no arrays'} with "
        f"{', '.join(sorted(settings)) or 'no settings'}"
    )


def _too_large(row: int) -> InvalidInputError:
    return InvalidInputError(
        f"`X` has a value too large for this encoder in row {row}. "
        "Scale the vectors as the training vectors were."
    )


def shape_of(array: Array) -> tuple[int, int]:
    """Return the shape of a matrix, or zeros for what is none: nothing else fits those."""
    return array.shape if array.ndim == 2 else (0, 0)
