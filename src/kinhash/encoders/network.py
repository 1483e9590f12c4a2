"""Encoders that the native kernel runs: a projection, then shrinkage (ISTA, coordinate descent)."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from kinhash import _native
from kinhash.arrays import Array, Csr
from kinhash.encoders.base import Encoder, shape_of
from kinhash.encoders.vectors import as_float32, unit_length

# An output o = tanh(beta h) is nearest to 1 when o > 1/2, that is h > atanh(1/2) / beta.
HALF_WAY = math.atanh(0.5)
MAX_STEPS = 100  # uses of S: as many as a method can be asked for


def shrink(v: Array, tau: Array, *, two_sided: bool) -> Array:
    """Return max(0, v - tau), or sign(v) max(0, |v| - tau) if two-sided."""
    size: Array = np.maximum((np.abs(v) if two_sided else v) - tau, 0)
    return np.copysign(size, v) if two_sided else size


def ista(v: Array, S: Array, tau: Array, *, n_steps: int, two_sided: bool) -> Array:
    """Return h = shrink(v), after `n_steps` times h = shrink(v + S h)."""
    h = shrink(v, tau, two_sided=two_sided)
    for _ in range(n_steps):
        h = shrink(v + h @ S.T, tau, two_sided=two_sided)
    return h


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkEncoder(Encoder):
    """What all of them share: inputs of unit length, a projection, and the kernel."""

    W: Array  # (n_bits, n_features)

    @property
    def n_features(self) -> int:
        """Width of the vectors it takes."""
        return int(self.W.shape[1])

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0])

    def standardise(self, X: Array) -> Array:
        """Return the rows of `X` as the network sees them: float32, unit length."""
        return unit_length(super().standardise(X))

    def _native_arguments(self) -> dict[str, Any]:
        raise NotImplementedError

    @functools.cached_property
    def _network(self) -> _native.NetworkEncoder:
        return _native.NetworkEncoder(
            mean=self.mean, scale=self.scale, W=self.W, unit_length=True, **self._native_arguments()
        )

    @functools.cached_property
    def _after_projection(self) -> _native.NetworkEncoder:
        """The same network without W, for rows that are projected already."""
        n = self.n_bits
        zeros, ones = np.zeros(n, np.float32), np.ones(n, np.float32)
        return _native.NetworkEncoder(
            mean=zeros,
            scale=ones,
            W=np.eye(n, dtype=np.float32),
            unit_length=False,
            **self._native_arguments(),
        )

    def __getstate__(self) -> dict[str, Any]:
        made = {"_network", "_after_projection"}
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def _encode_chunk(self, X: Array, words: Array, n_threads: int) -> int:
        return self._network.encode(X, words, n_threads)

    def _encode_sparse_chunk(self, X: Csr, words: Array, n_threads: int) -> int:
        return self._after_projection.encode(self._projected(X), words, n_threads)

    def _projected(self, X: Csr) -> Array:
        """Return W x of unit-length rows; the work is in proportion to the entries of `X`."""
        with np.errstate(all="ignore"):  # what is not finite is reported with its row
            shift = self.mean * self.scale
            scaled = X.multiply(self.scale).tocsr()
            # ||x - m||^2 = ||x||^2 - 2 x m + ||m||^2, so that x stays sparse.
            squared = scaled.multiply(scaled).sum(axis=1) - 2 * (scaled @ shift) + shift @ shift
            lengths = np.sqrt(np.maximum(np.asarray(squared).ravel(), 0))[:, None]
            v = as_float32(scaled @ self.W.T - self.W @ shift)
            unit: Array = np.divide(v, lengths, out=np.zeros_like(v), where=lengths > 0)
            unit[~np.isfinite(lengths[:, 0])] = np.nan
        return unit

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_bits, n_features = shape_of(self.W)
        shapes: dict[str, tuple[int, ...]] = {
            "mean": (n_features,),
            "scale": (n_features,),
            "W": (n_bits, n_features),
            "S": (n_bits, n_bits),
            "tau": (n_bits,),
            "bias": (n_bits,),
        }
        return {name: (np.float32, shape) for name, shape in shapes.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class _PursuitEncoder(NetworkEncoder):
    """What both sparse encoders share: a lateral matrix, thresholds, and a tanh to binarise."""

    S: Array  # (n_bits, n_bits)
    tau: Array  # (n_bits,)
    beta: float
    n_steps: int
    two_sided: bool

    @property
    def signed(self) -> bool:
        """Whether entries of its codes may be -1."""
        return self.two_sided

    def _native_arguments(self) -> dict[str, Any]:
        return {
            "S": self.S,
            "tau": self.tau,
            "bias": np.zeros(self.n_bits, np.float32),
            "cut": HALF_WAY / self.beta,
            "n_steps": self.n_steps,
            "two_sided": self.two_sided,
            "coordinate_descent": self.kind == "cod",
        }


class IstaEncoder(_PursuitEncoder):
    """h = shrink(W x + S h), `n_steps` uses of S after the first shrinkage; output tanh(beta h)."""

    kind = "ista"

    def forward(self, X: Array) -> Array:
        """Return tanh(beta h), float32 `(n, n_bits)`: codes are its nearest integers."""
        v = self.standardise(X) @ self.W.T
        h = ista(v, self.S, self.tau, n_steps=self.n_steps, two_sided=self.two_sided)
        return np.tanh(np.float32(self.beta) * h)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_steps": (0, MAX_STEPS)}


class CodEncoder(_PursuitEncoder):
    """Coordinate descent: `n_steps` updates of one coordinate each, so at most that many active."""

    kind = "cod"

    def forward(self, X: Array) -> Array:
        """Return tanh(beta z), float32 `(n, n_bits)`: codes are its nearest integers."""
        b = self.standardise(X) @ self.W.T
        z = np.zeros_like(b)
        rows = np.arange(len(b))
        for _ in range(self.n_steps):
            h = shrink(b, self.tau, two_sided=self.two_sided)
            best = np.abs(h - z).argmax(axis=1)
            delta = h[rows, best] - z[rows, best]
            b = b + self.S.T[best] * delta[:, None]
            z[rows, best] = h[rows, best]
        return np.tanh(np.float32(self.beta) * z)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_steps": (1, self.n_bits)}
