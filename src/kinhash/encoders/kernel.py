"""`KernelEncoder`: signs of projections of an RBF kernel with a few anchors."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.vectors import squared_distances


def rbf(X: Array, anchors: Array, gamma: float) -> Array:
    """Return exp(-gamma ||x - a||^2) of each row of `X` and of `anchors`."""
    kernel = squared_distances(X, anchors)
    kernel *= -gamma
    return np.exp(kernel, out=kernel)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelEncoder(BlockEncoder):
    """Dense codes: bit j is set where W k(x) + bias is positive, k the kernel with the anchors."""

    kind = "kernel"

    anchors: Array  # (n_anchors, n_features), standardised
    W: Array  # (n_bits, n_anchors)
    bias: Array  # (n_bits,)
    gamma: float

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0])

    def _outputs(self, standard: Array) -> Array:
        """Return W k(x) + bias, float32 `(n, n_bits)`: a bit is set where it is positive."""
        return rbf(standard, self.anchors, self.gamma) @ self.W.T + self.bias

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, n_features = shape_of(self.anchors)
        n_bits, _ = shape_of(self.W)
        return {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "anchors": (np.float32, (n_anchors, n_features)),
            "W": (np.float32, (n_bits, n_anchors)),
            "bias": (np.float32, (n_bits,)),
        }
