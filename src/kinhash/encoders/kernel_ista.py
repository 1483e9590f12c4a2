"""`KernelIstaEncoder`: sparse codes of an RBF kernel with a few anchors."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.kernel import rbf
from kinhash.encoders.network import MAX_STEPS, ista
from kinhash.encoders.vectors import unit_length


@dataclasses.dataclass(frozen=True, eq=False)
class KernelIstaEncoder(BlockEncoder):
    """The ISTA network over v = W k(x) + bias, k the kernel with the anchors."""

    kind = "kernel-ista"

    anchors: Array  # (n_anchors, n_features), standardised
    W: Array  # (n_bits, n_anchors)
    bias: Array  # (n_bits,)
    S: Array  # (n_bits, n_bits)
    tau: Array  # (n_bits,)
    gamma: float
    beta: float
    n_steps: int
    two_sided: bool
    unit_rows: bool  # whether standardised rows are brought to unit length, as the anchors are

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.W.shape[0])

    @property
    def signed(self) -> bool:
        """Whether entries of its codes may be -1."""
        return self.two_sided

    def _outputs(self, standard: Array) -> Array:
        """Return tanh(beta h), float32 `(n, n_bits)`: codes are its nearest integers."""
        rows = unit_length(standard) if self.unit_rows else standard
        v = rbf(rows, self.anchors, self.gamma) @ self.W.T + self.bias
        h = ista(v, self.S, self.tau, n_steps=self.n_steps, two_sided=self.two_sided)
        return np.tanh(np.float32(self.beta) * h)

    def _entries(self, outputs: Array) -> Array:
        return np.rint(outputs).astype(np.int8)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_steps": (0, MAX_STEPS)}

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, n_features = shape_of(self.anchors)
        n_bits, _ = shape_of(self.W)
        shapes: dict[str, tuple[int, ...]] = {
            "mean": (n_features,),
            "scale": (n_features,),
            "anchors": (n_anchors, n_features),
            "W": (n_bits, n_anchors),
            "bias": (n_bits,),
            "S": (n_bits, n_bits),
            "tau": (n_bits,),
        }
        return {name: (np.float32, shape) for name, shape in shapes.items()}
