"""`NestedEncoder`: two encoders, of which one gives the bucket and the other the rank bits."""

import dataclasses
from typing import Any, Self

import numpy as np

from kinhash.arrays import Array, Matrix
from kinhash.codes import MAX_BITS, Codes
from kinhash.encoders.base import Encoder
from kinhash.errors import FormatError


@dataclasses.dataclass(frozen=True, eq=False)
class NestedEncoder(Encoder):
    """Codes with both parts; each encoder standardises for itself."""

    kind = "nested"

    bucket: Encoder
    rank: Encoder

    @classmethod
    def of(cls, bucket: Encoder, rank: Encoder) -> Self:
        """Return the encoder of two that take the same vectors; the rank's is unsigned."""
        return cls(bucket.mean, bucket.scale, bucket, rank)

    @classmethod
    def checked(cls, bucket: Encoder, rank: Encoder) -> Self:
        """Return the encoder of two that came from a file.

        Raises:
            FormatError: They do not fit together.
        """
        if rank.signed or bucket.n_features != rank.n_features:
            raise FormatError(
                "the rank must have unsigned codes of vectors with "
                f"{bucket.n_features} numbers, as the bucket has them, the file has "
                f"{'signed' if rank.signed else 'unsigned'} ones of {rank.n_features} numbers."
            )
        if bucket.n_rank_bits or rank.n_rank_bits:
            raise FormatError("a part of nested codes must have one part, the file has two.")
        n_stored = bucket.n_bits * (2 if bucket.signed else 1) + rank.n_bits
        if n_stored > MAX_BITS:
            raise FormatError(f"the model has {n_stored} bits, a code has 1 to {MAX_BITS}.")
        return cls.of(bucket, rank)

    @property
    def n_bits(self) -> int:
        """Entries per code it gives, bucket and rank."""
        return self.bucket.n_bits + self.rank.n_bits

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return self.rank.n_bits

    @property
    def signed(self) -> bool:
        """Whether entries of its buckets may be -1."""
        return self.bucket.signed

    def forward(self, X: Array) -> Array:
        """Return the outputs of the bucket, then those of the rank, float32 `(n, n_bits)`."""
        return np.concatenate([self.bucket.forward(X), self.rank.forward(X)], axis=1)

    def encode(self, X: Matrix, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows of `X`, with rank bits; otherwise as every encoder."""
        bucket = self.bucket.encode(X, n_threads=n_threads)
        rank = self.rank.encode(X, n_threads=n_threads)
        return Codes._trusted(  # noqa: SLF001 - words that encoders made
            bucket.words,
            self.n_bits,
            signed=self.signed,
            rank_words=rank.words,
            n_rank_bits=self.n_rank_bits,
        )

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of both, with `bucket/` or `rank/` before their names."""
        return {
            f"{part}/{name}": array
            for part, encoder in self._parts().items()
            for name, array in encoder.arrays().items()
        }

    def settings(self) -> dict[str, Any]:
        """Return the kinds of both, and their settings."""
        return {
            part: {"encoder": encoder.kind, "settings": encoder.settings()}
            for part, encoder in self._parts().items()
        }

    def _parts(self) -> dict[str, Encoder]:
        return {"bucket": self.bucket, "rank": self.rank}
