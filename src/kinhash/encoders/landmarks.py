"""`LandmarkEncoder`: the nearest few of some landmarks are the active bits."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.vectors import unit_length


def nearest_active(similarities: Array, n_nearest: int) -> Array:
    """Return int8 of the same shape, with a 1 at the `n_nearest` largest of each row.

    Of equal ones, the first.
    """
    nearest = np.argsort(-similarities, axis=1, kind="stable")[:, :n_nearest]
    active = np.zeros(similarities.shape, np.int8)
    np.put_along_axis(active, nearest, np.int8(1), axis=1)
    return active


@dataclasses.dataclass(frozen=True, eq=False)
class LandmarkEncoder(BlockEncoder):
    """Sparse codes: bit j is set where landmark j is among the `n_nearest` by cosine."""

    kind = "landmarks"

    landmarks: Array  # (n_bits, n_features), of unit length
    n_nearest: int

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.landmarks.shape[0])

    def _outputs(self, standard: Array) -> Array:
        """Return the cosine with each landmark, float32 `(n, n_bits)`: the largest are set."""
        return unit_length(standard) @ self.landmarks.T

    def _entries(self, outputs: Array) -> Array:
        return nearest_active(outputs, self.n_nearest)

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {"n_nearest": (1, len(self.landmarks))}

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_bits, n_features = shape_of(self.landmarks)
        return {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "landmarks": (np.float32, (n_bits, n_features)),
        }
