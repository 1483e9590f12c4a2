"""`Layout`: how codes lie in the columns of a table, 64 bits to a BIGINT."""

import dataclasses
from collections.abc import Mapping
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_integer
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS, Codes, words_per_code
from kinhash.errors import InvalidInputError

_TOLD = ("n_bits", "n_rank_bits", "signed")


class HasLengths(Protocol):
    """What says how long codes are: `Codes`, an encoder, or a fitted model's encoder."""

    @property
    def n_bits(self) -> int:
        """Entries per code, bucket and rank."""

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""

    @property
    def signed(self) -> bool:
        """Whether entries of the bucket may be -1."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of codes: `w0`, `w1`, ... of the bucket, then `r0`, ... of the rank bits.

    A column is a BIGINT with the 64 bits of a word of `Codes.words`, as two's complement: bit 63
    is the sign. Signed codes have the words of the plus plane, then those of the minus plane.

    Args:
        n_bits: Entries per code, bucket and rank.
        signed: Whether entries of the bucket may be -1.
        n_rank_bits: How many of the entries are rank bits.

    Raises:
        InvalidInputError: The lengths make no code.

    Example:
        >>> Layout(100, n_rank_bits=20).columns
        ('w0', 'w1', 'r0')
    """

    n_bits: int
    signed: bool = dataclasses.field(default=False, kw_only=True)
    n_rank_bits: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_rank_bits", self.n_rank_bits, 0, self.n_bits - 1)
        Codes(  # checks the lengths together
            np.zeros((0, len(self.words)), np.uint64),
            self.n_bits,
            signed=self.signed,
            rank_words=np.zeros((0, len(self.rank_words)), np.uint64),
            n_rank_bits=self.n_rank_bits,
        )

    @classmethod
    def of(cls, codes: HasLengths) -> Self:
        """Return the layout of codes, or of the codes that an encoder gives."""
        return cls(codes.n_bits, signed=codes.signed, n_rank_bits=codes.n_rank_bits)

    @classmethod
    def from_metadata(cls, metadata: Mapping[bytes, bytes] | None) -> Self | None:
        """Return the layout that the schema of a table says its codes have; None if it does not.

        Raises:
            InvalidInputError: It says so in words that make no lengths.
        """
        told = {key: (metadata or {}).get(f"kinhash.{key}".encode()) for key in _TOLD}
        if None in told.values():
            return None
        texts = {key: value.decode(errors="replace") for key, value in told.items() if value}
        try:
            n_bits, n_rank_bits = int(texts["n_bits"]), int(texts["n_rank_bits"])
            signed = {"true": True, "false": False}[texts["signed"]]
        except (KeyError, ValueError):
            raise InvalidInputError(
                f"The table's metadata must say how long its codes are, got {texts}."
            ) from None
        return cls(n_bits, signed=signed, n_rank_bits=n_rank_bits)

    def metadata(self) -> dict[bytes, bytes]:
        """Return what the schema of an Arrow table says of its codes, as `kinhash export` does."""
        values = {key: str(getattr(self, key)).lower() for key in _TOLD}
        return {f"kinhash.{key}".encode(): value.encode() for key, value in values.items()}

    @property
    def bucket(self) -> Self:
        """The layout of the same codes without their rank bits."""
        return dataclasses.replace(self, n_bits=self.n_bucket_bits, n_rank_bits=0)

    @property
    def n_bucket_bits(self) -> int:
        """How many of the entries are the bucket's."""
        return self.n_bits - self.n_rank_bits

    @property
    def words(self) -> tuple[str, ...]:
        """The columns of the bucket."""
        n_words = words_per_code(self.n_bucket_bits, signed=self.signed)
        return tuple(f"w{i}" for i in range(n_words))

    @property
    def rank_words(self) -> tuple[str, ...]:
        """The columns of the rank bits; none if there are no rank bits."""
        n_words = words_per_code(self.n_rank_bits, signed=False)
        return tuple(f"r{i}" for i in range(n_words))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of a code."""
        return self.words + self.rank_words

    @property
    def bits(self) -> list[tuple[int, int]]:
        """The word and the bit in it of each stored bit of the bucket."""
        n_planes = 2 if self.signed else 1
        n_plane_words = len(self.words) // n_planes
        return [
            (plane * n_plane_words + bit // 64, bit % 64)
            for plane in range(n_planes)
            for bit in range(self.n_bucket_bits)
        ]

    def arrays(self, codes: Codes) -> dict[str, Array]:
        """Return the columns of codes: int64, `(n,)` each.

        Raises:
            InvalidInputError: The codes have another length or `signed`.
        """
        if type(self).of(codes) != self:
            raise InvalidInputError(
                f"`codes` are of {type(self).of(codes)}, but the table is of {self}. "
                "Encode both with the same encoder."
            )
        both = np.concatenate([codes.words, codes.rank_words], axis=1).view(np.int64)
        return {name: both[:, i] for i, name in enumerate(self.columns)}

    def codes(self, columns: Mapping[str, npt.ArrayLike]) -> Codes:
        """Return the codes of columns, which may be among others.

        Raises:
            InvalidInputError: A column is missing, holds no int64, or they make no code.
        """
        missing = [name for name in self.columns if name not in columns]
        if missing:
            raise InvalidInputError(
                f"The columns of a code of {self.n_bits} bits are {', '.join(self.columns)}, but "
                f"`{missing[0]}` is missing among {', '.join(columns)}."
            )
        arrays = [np.asarray(columns[name]) for name in self.columns]
        for name, array in zip(self.columns, arrays, strict=True):
            if array.dtype != np.int64 or array.ndim != 1:
                raise InvalidInputError(
                    f"`{name}` must be one column of int64, got {array.dtype} of shape "
                    f"{array.shape}."
                )
        words = np.stack(arrays, axis=1).view(np.uint64)
        bucket, rank = np.split(words, [len(self.words)], axis=1)
        return Codes(
            bucket,
            self.n_bits,
            signed=self.signed,
            rank_words=rank if self.n_rank_bits else None,
            n_rank_bits=self.n_rank_bits,
        )
