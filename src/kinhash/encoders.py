"""How a vector becomes a code, without torch: arrays, a NumPy forward pass, a native kernel."""

import dataclasses
import functools
import hashlib
import math
import os
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.codes import Codes, words_per_code
from kinhash.errors import FormatError, InvalidInputError

Array = npt.NDArray[Any]

# Rows looked at, and bytes converted, at a time: bounds the memory for inputs that are not float32.
CHUNK_ROWS = 8192
CHUNK_BYTES = 2**26

# An output o = tanh(beta h) is nearest to 1 when o > 1/2, that is h > atanh(1/2) / beta.
HALF_WAY = math.atanh(0.5)


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """Turns vectors into codes; what a fitted method leaves behind.

    Inputs are standardised, `(x - mean) * scale`, and brought to unit length. Subclasses add the
    map from there to `n_bits` outputs. All arrays are float32.
    """

    kind: ClassVar[str]

    mean: Array  # (n_features,)
    scale: Array  # (n_features,)
    W: Array  # (n_bits, n_features)

    @property
    def n_features(self) -> int:
        """Width of the vectors it takes."""
        return int(self.W.shape[1])

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0])

    @property
    def signed(self) -> bool:
        """Whether entries of its codes may be -1."""
        return False

    def forward(self, X: Array) -> Array:
        """Return the real outputs behind the codes, float32 `(n, n_bits)`, in plain NumPy."""
        raise NotImplementedError

    def _native_arguments(self) -> dict[str, Any]:
        raise NotImplementedError

    @functools.cached_property
    def _native(self) -> _native.NetworkEncoder:
        return _native.NetworkEncoder(
            mean=self.mean, scale=self.scale, W=self.W, unit_length=True, **self._native_arguments()
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def encode(self, X: Array, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows of `X`.

        A row's code does not depend on the rows around it. `X` may be memory-mapped and of any
        real type: it is converted a chunk at a time.

        Args:
            X: `(n, n_features)` numbers.
            n_threads: Threads to use; all cores by default.

        Raises:
            InvalidInputError: Another width, or a row with NaN, infinity or too large a value.
        """
        if X.ndim != 2 or X.shape[1] != self.n_features:
            got = f"{X.shape[1]} columns" if X.ndim == 2 else f"shape {X.shape}"
            raise InvalidInputError(
                f"`X` has {got}, but the encoder takes vectors of {self.n_features} numbers."
            )
        n_threads = n_threads or os.cpu_count() or 1
        words = np.empty((len(X), words_per_code(self.n_bits, signed=self.signed)), np.uint64)
        # What needs no conversion goes in one call: threads take milliseconds to get going.
        ready = X.dtype == np.float32 and X.flags.c_contiguous
        step = max(1, len(X) if ready else CHUNK_BYTES // (4 * self.n_features))
        for start in range(0, len(X), step):
            chunk = as_float32(X[start : start + step])
            row = self._native.encode(chunk, words[start : start + step], n_threads)
            if row < len(chunk):
                check_finite(np.asarray(X[start + row])[None], first_row=start + row)
                raise InvalidInputError(
                    f"`X` has a value too large for this encoder in row {start + row}. "
                    "Scale the vectors as the training vectors were."
                )
        return Codes._trusted(words, self.n_bits, signed=self.signed)  # noqa: SLF001 - own words

    def standardise(self, X: Array) -> Array:
        """Return the rows of `X` as the network sees them: float32, unit length."""
        return unit_length((as_float32(X) - self.mean) * self.scale)

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
        """Return everything else to store: numbers and flags."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in fields.items() if name not in self.arrays()}

    @classmethod
    def restore(cls, arrays: dict[str, Array], settings: dict[str, Any]) -> Self:
        """Return the encoder of stored arrays and settings.

        Raises:
            FormatError: Something is missing, superfluous, or of another shape.
        """
        names = {f.name for f in dataclasses.fields(cls)}
        if names != arrays.keys() | settings.keys():
            given = ", ".join(sorted(arrays.keys() | settings.keys()))
            raise FormatError(
                f"a {cls.kind!r} encoder has {', '.join(sorted(names))}; the file has {given}."
            )
        encoder = cls(**arrays, **settings)
        encoder._check()
        return encoder

    def _check(self) -> None:
        n_bits, n_features = self.W.shape if self.W.ndim == 2 else (0, 0)
        shapes = {"mean": (n_features,), "scale": (n_features,), "W": (n_bits, n_features)}
        shapes |= {"S": (n_bits, n_bits), "tau": (n_bits,), "bias": (n_bits,)}
        for name, array in self.arrays().items():
            if array.dtype != np.float32 or array.shape != shapes[name] or not array.size:
                raise FormatError(
                    f"`{name}` of the encoder must be float32 of shape {shapes[name]}, "
                    f"the file has {array.dtype} of shape {array.shape}."
                )


@dataclasses.dataclass(frozen=True, eq=False)
class _PursuitEncoder(Encoder):
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

    def _shrink(self, v: Array) -> Array:
        size: Array = np.maximum((np.abs(v) if self.two_sided else v) - self.tau, 0)
        return np.copysign(size, v) if self.two_sided else size


class IstaEncoder(_PursuitEncoder):
    """h = shrink(W x + S h), `n_steps` uses of S after the first shrinkage; output tanh(beta h)."""

    kind = "ista"

    def forward(self, X: Array) -> Array:
        """Return tanh(beta h), float32 `(n, n_bits)`: codes are its nearest integers."""
        v = self.standardise(X) @ self.W.T
        h = self._shrink(v)
        for _ in range(self.n_steps):
            h = self._shrink(v + h @ self.S.T)
        return np.tanh(np.float32(self.beta) * h)


class CodEncoder(_PursuitEncoder):
    """Coordinate descent: `n_steps` updates of one coordinate each, so at most that many active."""

    kind = "cod"

    def forward(self, X: Array) -> Array:
        """Return tanh(beta z), float32 `(n, n_bits)`: codes are its nearest integers."""
        b = self.standardise(X) @ self.W.T
        z = np.zeros_like(b)
        rows = np.arange(len(b))
        for _ in range(self.n_steps):
            h = self._shrink(b)
            best = np.abs(h - z).argmax(axis=1)
            delta = h[rows, best] - z[rows, best]
            b = b + self.S.T[best] * delta[:, None]
            z[rows, best] = h[rows, best]
        return np.tanh(np.float32(self.beta) * z)


@dataclasses.dataclass(frozen=True, eq=False)
class LinearEncoder(Encoder):
    """Dense codes: bit j is set where W x + bias is positive."""

    kind = "linear"

    bias: Array  # (n_bits,)

    def forward(self, X: Array) -> Array:
        """Return W x + bias, float32 `(n, n_bits)`: a bit is set where it is positive."""
        return self.standardise(X) @ self.W.T + self.bias

    def _native_arguments(self) -> dict[str, Any]:
        return {
            "S": np.zeros((0, 0), np.float32),
            "tau": np.zeros(self.n_bits, np.float32),
            "bias": self.bias,
            "cut": 0.0,
            "n_steps": 0,
            "two_sided": False,
            "coordinate_descent": False,
        }


ENCODERS: dict[str, type[Encoder]] = {e.kind: e for e in (IstaEncoder, CodEncoder, LinearEncoder)}


def as_float32(X: Array) -> Array:
    """Return `X` as contiguous float32, the same memory when it already is."""
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is reported with its row
        return np.ascontiguousarray(X, dtype=np.float32)


def unit_length(X: Array) -> Array:
    """Return the rows of `X` at length 1; rows of zeros stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    unit: Array = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    return unit


def check_finite(X: Array, *, first_row: int = 0) -> None:
    """Raise InvalidInputError naming the first row of `X` that has a NaN or an infinity."""
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        what = "NaN" if np.isnan(X[row]).any() else "infinity"
        raise InvalidInputError(
            f"Input X contains {what} in row {first_row + row}. "
            "Drop that row, or fill its missing values."
        )
