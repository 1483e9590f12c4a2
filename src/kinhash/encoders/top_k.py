"""`TopKEncoder` and its kernel kind: the largest outputs win, equally many in every code."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.kernel import rbf
from kinhash.encoders.vectors import unit_length


def winners(outputs: Array, n_active: int) -> Array:
    """Return 1 for the `n_active` largest outputs of each row, else 0, int8; of equals the first.

    Args:
        outputs: `(n, n_bits)`.
        n_active: From 1 to `n_bits`.
    """
    largest = np.argsort(-outputs, axis=1, kind="stable")[:, :n_active]
    entries = np.zeros(outputs.shape, np.int8)
    np.put_along_axis(entries, largest, 1, axis=1)
    return entries


@dataclasses.dataclass(frozen=True, eq=False)
class TopKEncoder(BlockEncoder):
    """Sparse codes of constant weight: the `n_active` largest of W x + bias are set.

    Rows are brought to unit length first, as for all networks without a kernel.
    """

    kind = "top-k"

    W: Array  # (n_bits, n_inputs)
    bias: Array  # (n_bits,)
    n_active: int

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0])

    def _outputs(self, standard: Array) -> Array:
        """Return W x + bias, float32 `(n, n_bits)`: the largest of each row are set."""
        return self._inputs(standard) @ self.W.T + self.bias

    def _inputs(self, standard: Array) -> Array:
        """Return what the linear map takes, `(n, n_inputs)`, of standardised rows."""
        return unit_length(standard)

    def _entries(self, outputs: Array) -> Array:
        return winners(outputs, self.n_active)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_active": (1, self.n_bits)}

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_bits, n_inputs = shape_of(self.W)
        return {
            "mean": (np.float32, (n_inputs,)),
            "scale": (np.float32, (n_inputs,)),
            "W": (np.float32, (n_bits, n_inputs)),
            "bias": (np.float32, (n_bits,)),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class KernelTopKEncoder(TopKEncoder):
    """The same of W k(x) + bias, k the kernel with the anchors."""

    kind = "kernel-top-k"

    anchors: Array  # (n_anchors, n_features), standardised
    gamma: float

    def _inputs(self, standard: Array) -> Array:
        return rbf(standard, self.anchors, self.gamma)

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, n_features = shape_of(self.anchors)
        n_bits, _ = shape_of(self.W)
        return super()._shapes() | {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "anchors": (np.float32, (n_anchors, n_features)),
            "W": (np.float32, (n_bits, n_anchors)),
        }
