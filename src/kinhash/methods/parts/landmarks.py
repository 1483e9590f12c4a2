"""Codes from vectors alone: landmarks give the bucket, bits that keep neighbours the rank."""

import math
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kinhash.arrays import Array, Matrix
from kinhash.encoders import LandmarkEncoder, LinearEncoder, NestedEncoder, unit_length
from kinhash.encoders.blocks import one_blas_thread
from kinhash.methods.parts.neighbour_bits import neighbour_bits
from kinhash.methods.parts.seen_rows import seen_rows, unit_rows

MAX_ROWS = 20_000  # learned from, at most
N_DIRECTIONS = 512  # along which cosines are taken, at most
N_ITERATIONS = 30


def usual_bucket_bits(n_bits: int) -> int:
    """Return how many of `n_bits` are bucket bits where nobody says: one in eight, at least 2.

    Landmarks tell less about the order than rank bits do, so there are few of them.
    """
    return min(n_bits, max(2, n_bits // 8))


def n_nearest_of(n_landmarks: int) -> int:
    """Return how many landmarks are active: 1 of 4, 2 of 8, 3 of 16, 4 of 32."""
    return max(1, round(math.log2(n_landmarks)) - 1)


def fit_vectors_alone(
    X: Matrix, mean: Array, scale: Array, *, n_bits: int, n_rank_bits: int, seed: int
) -> tuple[LandmarkEncoder | NestedEncoder, list[dict[str, float]]]:
    """Return the encoder learned from the vectors alone, and the losses of its rank bits.

    The bucket has a landmark for each bit: centres of k-means of rows of unit length. Rank bits are
    learned beside it, so that the order of both together follows the cosine.

    Args:
        X: `(n, n_features)` numbers, an array or csr.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        n_bits: Length of the code.
        n_rank_bits: How many of them are rank bits; 0 gives the bucket alone.
        seed: Draws rows, landmarks and batches.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(X.shape[0])[:MAX_ROWS])
    with one_blas_thread():  # how products are cut up would change the last digits
        U = unit_rows(X, rows, mean, scale)
        n_bucket_bits = n_bits - n_rank_bits
        found = landmarks(U, n_bucket_bits, scale > 0, rng)
        bucket = LandmarkEncoder(mean, scale, found, n_nearest=n_nearest_of(n_bucket_bits))
        if not n_rank_bits:
            return bucket, []
        seen = seen_rows(X, rows, mean, scale, n_directions=N_DIRECTIONS, seed=seed)
        fixed = 2 * bucket.encode(X[rows]).to_dense().astype(np.float32) - 1
        W, bias, losses = neighbour_bits(seen.values, fixed, n_rank_bits, rng)
    rank = LinearEncoder(mean, scale, *seen.linear(W, bias))
    history = [{"step": float(step), "loss": loss} for step, loss in enumerate(losses, 1)]
    return NestedEncoder.of(bucket, rank), history


def landmarks(U: Matrix, n_landmarks: int, varies: Array, rng: np.random.Generator) -> Array:
    """Return centres of the rows, of unit length, float32 `(n_landmarks, n_features)`.

    Where there are fewer different rows than landmarks, random directions make up the number.

    Args:
        U: Rows of unit length.
        n_landmarks: How many.
        varies: Which columns are not constant.
        rng: Draws the first centres.
    """
    n_clusters = min(n_landmarks, U.shape[0])
    k_means = KMeans(n_clusters, n_init=1, max_iter=N_ITERATIONS, random_state=rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows: seen below
        centres = k_means.fit(U).cluster_centers_
    centres = unit_length(np.unique(centres.astype(np.float32), axis=0))
    centres = centres[np.any(centres, axis=1)]
    rest = rng.standard_normal((n_landmarks - len(centres), U.shape[1])) * varies
    return np.concatenate([centres, unit_length(rest.astype(np.float32))])
