import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_info

from kinhash.encoders import (
    AnchorGraphEncoder,
    ClassEncoder,
    KernelEncoder,
    KernelIstaEncoder,
)
from kinhash.encoders.blocks import BLOCK_ROWS, BlockEncoder, one_blas_thread
from kinhash.errors import FormatError, InvalidInputError


def random_block_encoder(rng, kind, n_features=7):
    def floats(*shape):
        return rng.normal(size=shape).astype(np.float32)

    common = {"mean": floats(n_features), "scale": np.abs(floats(n_features))}
    if kind is KernelEncoder:
        return KernelEncoder(
            **common, anchors=floats(30, n_features), W=floats(20, 30), bias=floats(20), gamma=0.1
        )
    if kind is AnchorGraphEncoder:
        return AnchorGraphEncoder(
            **common,
            anchors=floats(30, n_features),
            W=floats(12, 30),
            thresholds=np.abs(floats(2, 8)),
            n_nearest=4,
            width=2.0,
        )
    if kind is KernelIstaEncoder:
        return KernelIstaEncoder(
            **common,
            anchors=floats(30, n_features),
            W=floats(20, 30) * 0.3,
            bias=floats(20) * 0.1,
            S=floats(20, 20) * 0.05,
            tau=np.abs(floats(20)) * 0.1,
            gamma=0.1,
            beta=10.0,
            n_steps=2,
            two_sided=True,
            unit_rows=True,
        )
    return ClassEncoder(
        **common,
        support=floats(24, n_features),
        coefficients=rng.normal(size=(2, 24)),
        intercepts=rng.normal(size=3),
        n_support=np.array([10, 8, 6]),
        class_codes=np.eye(3, 20, dtype=np.uint8),
        gamma=0.1,
    )


def block_encoders():
    return pytest.mark.parametrize(
        "kind", [KernelEncoder, KernelIstaEncoder, AnchorGraphEncoder, ClassEncoder]
    )


@block_encoders()
def test_a_block_encoder_gives_a_row_one_code_in_any_batch(rng, kind):
    encoder = random_block_encoder(rng, kind)
    X = rng.normal(size=(1000, 7)).astype(np.float32)
    whole = encoder.encode(X)
    outputs = encoder.forward(X)
    expected = np.rint(outputs) if kind is KernelIstaEncoder else outputs > 0
    assert np.array_equal(whole.to_dense(), expected)
    order = rng.permutation(len(X))
    assert encoder.encode(X[order]) == whole[order]
    for start, stop in ((0, 0), (0, 1), (5, 262), (300, 1000)):
        assert encoder.encode(X[start:stop]) == whole[start:stop]
    for n_threads in (1, 2, 7):
        assert encoder.encode(X, n_threads=n_threads) == whole


@block_encoders()
def test_a_block_encoder_names_the_first_bad_row(rng, kind):
    encoder = random_block_encoder(rng, kind)
    X = rng.normal(size=(1000, 7)).astype(np.float32)
    X[900, 1], X[700, 2] = np.nan, np.inf
    with pytest.raises(InvalidInputError, match=r"contains infinity in row 700, column 2\."):
        encoder.encode(X)
    X[600, 3] = 3e38
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 600"):
        encoder.encode(X)


@block_encoders()
def test_a_block_encoder_is_restored_from_its_arrays_and_nothing_else(rng, kind):
    encoder = random_block_encoder(rng, kind)
    restored = kind.restore(encoder.arrays(), encoder.settings())
    assert restored.fingerprint == encoder.fingerprint
    arrays = encoder.arrays()
    for name, array in arrays.items():
        for wrong in (array[..., None], array[:0], array.astype(np.int32)):
            with pytest.raises(FormatError, match=r"of the encoder must be .* the file has "):
                kind.restore(arrays | {name: wrong}, encoder.settings())
    with pytest.raises(FormatError, match=rf"a '{kind.kind}' encoder has .* the file has "):
        kind.restore({"mean": encoder.mean}, encoder.settings())


def test_threads_of_blas_are_given_back_by_the_last_one_out():
    def n_threads():
        return {library["num_threads"] for library in threadpool_info()}

    before = n_threads()
    with one_blas_thread():
        with one_blas_thread():
            pass
        blas = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
        assert all(library["num_threads"] == 1 for library in blas)
    assert n_threads() == before


@block_encoders()
def test_a_block_encoder_takes_sparse_rows(rng, kind):
    encoder = random_block_encoder(rng, kind)
    X = scipy.sparse.random_array((40, 7), density=0.3, rng=rng, dtype=np.float32)
    assert np.array_equal(encoder.encode(X).words, encoder.encode(X.toarray()).words)


class _Heights(BlockEncoder):
    """One bit, set where the first number is positive; notes how many rows come in at a time."""

    kind = "heights"
    n_bits = 1

    def _outputs(self, standard):
        self.seen.append(len(standard))
        return standard[:, :1]


def test_every_block_has_the_same_height(rng):
    encoder = _Heights(np.zeros(2, np.float32), np.ones(2, np.float32))
    object.__setattr__(encoder, "seen", [])
    X = rng.normal(size=(2 * BLOCK_ROWS + 3, 2))
    assert encoder.encode(X).to_dense()[:, 0].tolist() == (X[:, 0] > 0).tolist()
    assert encoder.seen == [BLOCK_ROWS] * 3
