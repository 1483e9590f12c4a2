"""`AnchorGraphEncoder`: eigenfunctions of a graph that joins each item to its nearest anchors."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.vectors import squared_distances


def nearest_anchors(X: Array, anchors: Array, n_nearest: int) -> tuple[Array, Array]:
    """Return the numbers of the `n_nearest` anchors of each row, and their squared distances."""
    squared = squared_distances(X, anchors)
    nearest = np.argpartition(squared, n_nearest - 1, axis=1)[:, :n_nearest]
    return nearest, np.take_along_axis(squared, nearest, axis=1)


def weights(squared: Array, width: float) -> Array:
    """Return exp(-squared / width), each row scaled to a sum of 1."""
    # From the least distance on: far from all anchors, every exponential would be 0.
    parts: Array = np.exp((squared.min(axis=1, keepdims=True) - squared) / np.float32(width))
    parts /= parts.sum(axis=1, keepdims=True)
    return parts


def second_layer(Y: Array, thresholds: Array) -> Array:
    """Return |y| less the threshold of its sign: `thresholds[0]` if positive, else [1]."""
    above: Array = np.abs(Y) - np.where(Y > 0, thresholds[0], thresholds[1])
    return above


@dataclasses.dataclass(frozen=True, eq=False)
class AnchorGraphEncoder(BlockEncoder):
    """Dense codes: the signs of y = W z(x), then the second bits of the first few of them.

    z(x) holds the weights of the `n_nearest` anchors, zero for all others.
    """

    kind = "anchor-graph"

    anchors: Array  # (n_anchors, n_features), standardised
    W: Array  # (n_outputs, n_anchors)
    thresholds: Array  # (2, n_second), n_second from 0 to n_outputs
    n_nearest: int
    width: float

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0] + self.thresholds.shape[1])

    def _outputs(self, standard: Array) -> Array:
        """Return y and its second layer, float32 `(n, n_bits)`: a bit is set where positive."""
        nearest, squared = nearest_anchors(standard, self.anchors, self.n_nearest)
        Z = np.zeros((len(standard), len(self.anchors)), np.float32)
        np.put_along_axis(Z, nearest, weights(squared, self.width), axis=1)
        Y = Z @ self.W.T
        second = second_layer(Y[:, : self.thresholds.shape[1]], self.thresholds)
        return np.concatenate([Y, second], axis=1)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_nearest": (1, len(self.anchors))}

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, n_features = shape_of(self.anchors)
        n_outputs, _ = shape_of(self.W)
        _, n_second = shape_of(self.thresholds)
        return {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "anchors": (np.float32, (n_anchors, n_features)),
            "W": (np.float32, (n_outputs, n_anchors)),
            "thresholds": (np.float32, (2, min(n_second, n_outputs))),
        }
