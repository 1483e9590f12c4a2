"""`LinearEncoder`: signs of projections."""

import dataclasses
from typing import Any

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.network import NetworkEncoder


@dataclasses.dataclass(frozen=True, eq=False)
class LinearEncoder(NetworkEncoder):
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
