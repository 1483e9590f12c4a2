"""The codes that near vectors are looked for by, where the user brings none."""

import warnings
from typing import Protocol

import numpy as np

from kinhash.arrays import Array, Words
from kinhash.codes import Codes
from kinhash.dedup.directions import directions
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import ConstantColumnWarning
from kinhash.methods import ITQ, LSH

N_BITS = 256
TRAINING_ROWS = 1024  # more make the codes hardly better at telling near pairs from others
CHUNK_ROWS = 2048  # larger ones would need more memory than all codes


class Coder(Protocol):
    """A fitted model, or anything else that makes codes of vectors."""

    def encode(self, X: Array, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows."""
        ...


class UnitCoder:
    """Codes of directions: vectors are brought to unit length first, as the cosine does.

    Args:
        vectors: `(n, n_features)`: what it learns from, or draws a sample of.
        seed: Draws the sample, and what the method draws.
    """

    def __init__(self, vectors: Array, *, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows = np.arange(len(vectors))
        if len(rows) > TRAINING_ROWS:
            rows = np.sort(rng.choice(len(rows), TRAINING_ROWS, replace=False))
        sample = directions(vectors[rows])
        n_varying = int((sample != sample[:1]).any(axis=0).sum())
        # Fewer directions, or rows to learn them from, than bits: random projections have no limit.
        learned = n_varying >= N_BITS and len(sample) > 2 * N_BITS
        # A rotation that is learned for longer brings pairs nearer by a bit or two of 256.
        method = ITQ(N_BITS, n_iterations=2, seed=seed) if learned else LSH(N_BITS, seed=seed)
        # The matrices are so small that several threads would take many times as long.
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantColumnWarning)
            self._model = method.fit(np.repeat(sample, 2, axis=0) if len(sample) < 2 else sample)

    def encode(self, X: Array, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows."""
        words = np.empty((len(X), N_BITS // 64), np.uint64)
        for start in range(0, len(X), CHUNK_ROWS):
            rows = directions(X[start : start + CHUNK_ROWS], first_row=start)
            words[start : start + len(rows)] = self._model.encode(rows, n_threads=n_threads).words
        return Codes(words, N_BITS)


def all_words(codes: Codes) -> Words:
    """Return all stored bits of codes, rank bits included: `(n, n_words)`."""
    if not codes.n_rank_bits:
        return codes.words
    return np.concatenate([codes.words, codes.rank_words], axis=1)
