"""`BlockEncoder`: maps that NumPy evaluates, in blocks of rows shared out among threads."""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from kinhash import _native
from kinhash.arrays import Array
from kinhash.encoders.base import Encoder

BLOCK_ROWS = 256

_lock = threading.Lock()
_n_inside = 0
_limits: Any = None


@functools.cache
def _blas() -> Any:  # noqa: ANN401 - untyped
    return ThreadpoolController()  # looks through all loaded libraries: once is enough


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to the thread that asks for them, until the last one leaves.

    The blocks run in parallel already; and how a product is cut up for several threads could
    change its last digits.
    """
    global _n_inside, _limits  # noqa: PLW0603 - BLAS has one setting for the whole process
    with _lock:
        if _n_inside == 0:
            _limits = _blas().limit(limits=1, user_api="blas")
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _limits.restore_original_limits()


@dataclasses.dataclass(frozen=True, eq=False)
class BlockEncoder(Encoder):
    """Entry j follows from output j of `forward`: set where it is positive, unless overridden.

    Matrix products may round a row differently in a matrix of another height. So every block has
    `BLOCK_ROWS` rows, the last one filled up with zeros: a row's code is the same in any batch.
    """

    def forward(self, X: Array) -> Array:
        """Return the real outputs behind the codes, float32 `(n, n_bits)`, in plain NumPy."""
        return self._outputs(self.standardise(X))

    def _outputs(self, standard: Array) -> Array:
        """Return the outputs of standardised rows."""
        raise NotImplementedError

    def _entries(self, outputs: Array) -> Array:
        """Return the codes behind the outputs, int8."""
        return (outputs > 0).astype(np.int8)

    def _encode_chunk(self, X: Array, words: Array, n_threads: int) -> int:
        starts = range(0, len(X), BLOCK_ROWS)
        kept = threading.local()  # fresh memory for each block would cost as much as its arithmetic

        def encode_block(start: int) -> int:
            rows = X[start : start + BLOCK_ROWS]
            if not hasattr(kept, "block"):
                kept.block = np.empty((BLOCK_ROWS, self.n_features), np.float32)
            kept.block[len(rows) :] = 0
            bad = _native.standardise(rows, self.mean, self.scale, kept.block[: len(rows)])
            with np.errstate(all="ignore"):  # what is not finite is reported with its row
                outputs = self._outputs(kept.block)[: len(rows)]
                finite: Array = np.logical_and.reduce(np.isfinite(outputs), axis=1)
                entries = self._entries(np.where(finite[:, None], outputs, 0))
            self._pack(entries, words[start : start + len(rows)])
            bad = min(bad, len(rows) if finite.all() else int(finite.argmin()))
            return start + bad if bad < len(rows) else len(X)

        with one_blas_thread(), ThreadPoolExecutor(min(n_threads, len(starts)) or 1) as pool:
            return min(pool.map(encode_block, starts), default=len(X))

    def _pack(self, entries: Array, words: Array) -> None:
        """Write the words of the bucket, then those of the rank bits."""
        if not self.n_rank_bits:
            _native.pack(entries, words, signed=self.signed)
            return
        n_bucket_bits = self.n_bits - self.n_rank_bits
        parts = np.split(entries, [n_bucket_bits], axis=1)
        sides = np.split(words, [self._n_words()[0]], axis=1)
        for part, side, signed in zip(parts, sides, (self.signed, False), strict=True):
            packed = np.empty(side.shape, np.uint64)
            _native.pack(np.ascontiguousarray(part), packed, signed=signed)
            side[:] = packed
