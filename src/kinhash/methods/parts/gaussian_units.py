"""`GaussianUnits`: a fixed layer, above which a linear one learns in the space of a kernel."""

import numpy as np

from kinhash.arrays import Array, Matrix
from kinhash.encoders import (
    Encoder,
    IstaEncoder,
    KernelEncoder,
    KernelIstaEncoder,
    KernelTopKEncoder,
    LinearEncoder,
    TopKEncoder,
    as_float32,
    is_sparse,
    unit_length,
)
from kinhash.encoders.kernel import rbf

SMALLEST = 1e-3  # added to the eigenvalues of the kernel: below it there is only rounding


class GaussianUnits:
    """A fixed layer whose outputs have the inner products of a Gaussian kernel, nearly.

    Args:
        centres: `(n_outputs, n_features)`, standardised.
        gamma: The kernel is exp(-gamma ||x - c||^2).
        unit_rows: Bring rows to unit length first, as the centres are.
    """

    def __init__(self, centres: Array, gamma: float, *, unit_rows: bool = False) -> None:
        self.centres, self.gamma, self.unit_rows = centres, float(gamma), unit_rows
        K = rbf(centres.astype(np.float64), centres, self.gamma)
        values, vectors = np.linalg.eigh(K)
        # K^(-1/2): rows at the centres then have exactly their kernel as inner products.
        self.whitening = (vectors / np.sqrt(np.maximum(values, 0) + SMALLEST)) @ vectors.T
        # All kernel values are positive: without their mean, all bits would start as ones.
        self.mean = K.mean(axis=0) @ self.whitening

    @property
    def n_outputs(self) -> int:
        """How many outputs it has."""
        return len(self.centres)

    def __call__(self, X: Array) -> Array:
        """Return the outputs for standardised vectors, float32 `(n, n_outputs)`."""
        rows = unit_length(X) if self.unit_rows else X
        outputs: Array = rbf(rows, self.centres, self.gamma) @ self.whitening.astype(np.float32)
        outputs -= self.mean.astype(np.float32)
        return outputs


def units_at_rows(
    X: Matrix,
    mean: Array,
    scale: Array,
    n_units: int,
    *,
    gamma: float,
    seed: int,
) -> GaussianUnits:
    """Return units at random rows of `X`, at all of them if there are fewer.

    Sparse rows are brought to unit length first: how many entries they have says little.

    Args:
        X: The training vectors.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        n_units: How many.
        gamma: Sharpness: the kernel's width is the mean squared distance of two rows, over this.
        seed: Draws the rows.
    """
    rows = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:n_units])
    if is_sparse(X):
        centres = unit_length(as_float32(X[rows].toarray()) * scale)
        return GaussianUnits(centres, gamma / 2, unit_rows=True)  # most rows share no entry
    centres = (as_float32(X[rows]) - mean) * scale
    # The variances of standardised columns are 1, and two rows differ by twice their sum.
    return GaussianUnits(centres, gamma / (2 * np.sum(scale > 0)))


def with_units(network: Encoder, units: GaussianUnits | None) -> Encoder:
    """Return the encoder of a network with the fixed layer below it, if there is one.

    The whitening goes into the network's own weights, so that nothing is left but the kernel.
    """
    if units is None or not isinstance(network, IstaEncoder | LinearEncoder | TopKEncoder):
        return network
    W = (network.W @ units.whitening).astype(np.float32)
    below = network.W @ units.mean
    if isinstance(network, LinearEncoder):
        bias = (network.bias - below).astype(np.float32)
        return KernelEncoder(network.mean, network.scale, units.centres, W, bias, units.gamma)
    if isinstance(network, TopKEncoder):
        return KernelTopKEncoder(
            network.mean,
            network.scale,
            W=W,
            bias=(network.bias - below).astype(np.float32),
            n_active=network.n_active,
            anchors=units.centres,
            gamma=units.gamma,
        )
    return KernelIstaEncoder(
        network.mean,
        network.scale,
        anchors=units.centres,
        W=W,
        bias=-below.astype(np.float32),
        S=network.S,
        tau=network.tau,
        gamma=units.gamma,
        beta=network.beta,
        n_steps=network.n_steps,
        two_sided=network.two_sided,
        unit_rows=units.unit_rows,
    )
