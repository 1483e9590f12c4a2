import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from kinhash import _native
from kinhash.encoders import (
    AnchorGraphEncoder,
    ClassEncoder,
    CodEncoder,
    IstaEncoder,
    KernelEncoder,
    KernelIstaEncoder,
    LinearEncoder,
    base,
    unit_length,
)
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import FormatError, InvalidInputError
from kinhash.training.network import CodNetwork, IstaNetwork


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request):
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)


def random_encoder(rng, kind, n_bits, n_features, *, signed=False, n_steps=1):
    def floats(*shape):
        return rng.normal(size=shape).astype(np.float32)

    common = {
        "mean": floats(n_features),
        "scale": np.abs(floats(n_features)),
        "W": unit_length(floats(n_bits, n_features)),
    }
    if kind is LinearEncoder:
        return LinearEncoder(**common, bias=0.1 * floats(n_bits))
    return kind(
        **common,
        S=0.3 * floats(n_bits, n_bits),
        tau=np.abs(0.1 * floats(n_bits)),
        beta=3.0,
        n_steps=n_steps,
        two_sided=signed,
    )


def check_native_equals_numpy(encoder, X):
    """Equal but where an output lies within float noise of a rounding boundary."""
    outputs = encoder.forward(X)
    linear = isinstance(encoder, LinearEncoder)
    expected = (outputs > 0) if linear else np.rint(outputs)
    boundary = np.abs(outputs) if linear else np.abs(np.abs(outputs) - 0.5)
    codes = encoder.encode(X).to_dense()
    wrong = codes != expected
    if isinstance(encoder, CodEncoder) and wrong.any():
        # A near tie between coordinates may go either way, and change the row from there.
        assert wrong.any(axis=1).mean() < 0.02
    else:
        assert np.all(boundary[wrong] < 1e-4)


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder, LinearEncoder])
@pytest.mark.parametrize(
    ("n_bits", "n_features"), [(1, 1), (5, 3), (16, 16), (64, 37), (100, 384), (200, 50)]
)
def test_the_kernel_equals_numpy(rng, instruction_set, kind, n_bits, n_features):
    encoder = random_encoder(rng, kind, n_bits, n_features, n_steps=3)
    check_native_equals_numpy(encoder, rng.normal(size=(237, n_features)).astype(np.float32))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 40),
    n_bits=st.integers(1, 1024),
    n_features=st.integers(1, 40),
    signed=st.booleans(),
    n_steps=st.integers(0, 3),
)
def test_the_kernel_equals_numpy_at_any_size(seed, n, n_bits, n_features, signed, n_steps):
    rng = np.random.default_rng(seed)
    encoder = random_encoder(rng, IstaEncoder, n_bits, n_features, signed=signed, n_steps=n_steps)
    check_native_equals_numpy(encoder, rng.normal(size=(n, n_features)).astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "network"), [(IstaEncoder, IstaNetwork), (CodEncoder, CodNetwork)]
)
@pytest.mark.parametrize("signed", [False, True])
def test_torch_and_numpy_agree(rng, kind, network, signed):
    W = torch.from_numpy(unit_length(rng.normal(size=(32, 20)).astype(np.float32)))
    trained = network(W, beta=3.0, n_steps=2, signed=signed)
    with torch.no_grad():
        trained.tau += 0.05 * torch.rand(32)
        trained.S += 0.1 * torch.randn(32, 32)
    mean, scale = np.zeros(20, np.float32), np.ones(20, np.float32)
    encoder = trained.encoder(mean, scale)
    assert type(encoder) is kind
    X = rng.normal(size=(200, 20)).astype(np.float32)
    with torch.no_grad():
        outputs = trained(torch.from_numpy(encoder.standardise(X))).numpy()
    close = np.isclose(encoder.forward(X), outputs, atol=1e-5)
    # Coordinate descent may break a near tie the other way; ISTA has no ties to break.
    assert close.all() if kind is IstaEncoder else close.all(axis=1).mean() > 0.98


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder, LinearEncoder])
def test_a_row_does_not_depend_on_its_neighbours(rng, instruction_set, kind):
    encoder = random_encoder(rng, kind, 70, 45)
    X = rng.normal(size=(331, 45)).astype(np.float32)
    whole = encoder.encode(X)
    order = rng.permutation(len(X))
    assert encoder.encode(X[order]) == whole[order]
    for start, stop in ((0, 1), (5, 12), (100, 331)):
        assert encoder.encode(X[start:stop]) == whole[start:stop]
    for n_threads in (1, 2, 7):
        assert encoder.encode(X, n_threads=n_threads) == whole


def test_wide_vectors_give_the_same_bits_on_every_vector_unit(rng):
    encoder = random_encoder(rng, IstaEncoder, 64, 300)
    X = rng.normal(size=(200, 300)).astype(np.float32)
    before, found = _native.instruction_set(), []
    for name in _native.instruction_sets():
        if name != "portable":
            _native.use_instruction_set(name)
            found.append(encoder.encode(X))
    _native.use_instruction_set(before)
    assert all(codes == found[0] for codes in found)


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match=r"Unknown instruction set 'mmx'.*portable"):
        _native.use_instruction_set("mmx")


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, bool])
def test_other_types_are_converted_in_pieces(rng, dtype, monkeypatch):
    monkeypatch.setattr("kinhash.encoders.base.CHUNK_BYTES", 10 * 4 * 8)
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = (rng.normal(size=(55, 8)) > 0).astype(dtype)
    assert encoder.encode(X) == encoder.encode(X.astype(np.float32))


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_row_that_is_not_finite_is_named(rng, monkeypatch, value, name):
    monkeypatch.setattr("kinhash.encoders.base.CHUNK_BYTES", 1000 * 4 * 8)
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = rng.normal(size=(3000, 8))
    X[2750, 1] = X[2222, 3] = value
    with pytest.raises(InvalidInputError, match=rf"contains {name} in row 2222\."):
        encoder.encode(X)


def test_a_value_that_overflows_is_named_with_its_row(rng):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = rng.normal(size=(30, 8)).astype(np.float32)
    X[17, 1] = 3e38
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 17"):
        encoder.encode(X)


def test_another_width_is_refused_with_both_widths(rng):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    with pytest.raises(InvalidInputError, match="9 columns, but the encoder takes vectors of 8"):
        encoder.encode(np.zeros((2, 9)))


def test_a_row_of_the_mean_gets_the_code_of_zero(rng):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    assert encoder.encode(encoder.mean[None]).n_active.tolist() == [0]


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
    with pytest.raises(InvalidInputError, match=r"contains infinity in row 700\."):
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


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder])
@pytest.mark.parametrize("centred", [False, True])
def test_sparse_rows_get_the_codes_of_dense_ones(rng, kind, centred):
    def floats(*shape):
        return rng.normal(size=shape).astype(np.float32)

    encoder = kind(
        mean=0.1 * floats(300) if centred else np.zeros(300, np.float32),
        scale=np.abs(floats(300)),
        W=0.3 * floats(64, 300),
        S=0.05 * floats(64, 64),
        tau=np.full(64, 0.05, np.float32),
        beta=3.0,
        n_steps=3,
        two_sided=False,
    )
    X = scipy.sparse.random_array((200, 300), density=0.02, rng=rng, dtype=np.float32).tocsr()
    outputs = encoder.forward(X.toarray())
    clear = np.abs(outputs - 0.5) > 1e-4  # rounding decides the others
    codes, dense = encoder.encode(X).to_dense(), encoder.encode(X.toarray()).to_dense()
    assert np.array_equal(codes[clear], dense[clear])
    assert 0 < dense.mean() < 0.5


def test_a_sparse_row_gets_the_same_code_in_any_batch(rng):
    encoder = random_encoder(rng, IstaEncoder, 20, 300)
    X = scipy.sparse.random_array((50, 300), density=0.05, rng=rng, dtype=np.float32).tocsr()
    alone = np.concatenate([encoder.encode(X[[row]]).words for row in range(50)])
    assert np.array_equal(encoder.encode(X).words, alone)


def test_sparse_rows_are_encoded_in_pieces(rng, monkeypatch):
    encoder = random_encoder(rng, IstaEncoder, 20, 30)
    X = scipy.sparse.random_array((50, 30), density=0.2, rng=rng).tocsr()
    whole = encoder.encode(X).words
    monkeypatch.setattr(base, "CHUNK_BYTES", 4 * 30 * 7)
    assert np.array_equal(encoder.encode(X).words, whole)


@block_encoders()
def test_a_block_encoder_takes_sparse_rows(rng, kind):
    encoder = random_block_encoder(rng, kind)
    X = scipy.sparse.random_array((40, 7), density=0.3, rng=rng, dtype=np.float32)
    assert np.array_equal(encoder.encode(X).words, encoder.encode(X.toarray()).words)


def test_a_sparse_entry_that_is_not_finite_is_named_with_its_row(rng):
    X = scipy.sparse.csr_array(np.eye(30))
    X.data[17] = np.nan
    with pytest.raises(InvalidInputError, match="NaN in row 17"):
        random_encoder(rng, IstaEncoder, 20, 30).encode(X)


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder, LinearEncoder])
def test_outputs_that_overflow_are_reported_with_their_row(rng, instruction_set, kind):
    encoder = random_encoder(rng, kind, 20, 6, n_steps=3)
    encoder.W[7] = 3e38
    X = np.tile(encoder.mean, (300, 1))  # standardised to zeros, which any weight leaves at zero
    X[250] += 1000
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 250"):
        encoder.encode(X)
    assert len(encoder.encode(X[:250])) == 250
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 250"):
        encoder.encode(scipy.sparse.csr_array(X))


def test_an_overflow_that_a_later_step_would_hide_is_reported(rng, instruction_set):
    encoder = random_encoder(rng, IstaEncoder, 20, 6, n_steps=1)
    # The first use of S gives inf - inf, of which the shrinkage makes 0: the second is finite.
    S = np.zeros((20, 20), np.float32)
    S[:2, :2] = 3e38, -3e38
    W = np.abs(encoder.W) * 1e3
    X = np.abs(rng.normal(size=(4, 6)).astype(np.float32)) + encoder.mean + 1
    for n_steps in (1, 2, 3):
        hostile = dataclasses.replace(encoder, S=S, W=W, n_steps=n_steps)
        with pytest.raises(InvalidInputError, match="too large for this encoder in row 0"):
            hostile.encode(X)


def test_sparse_rows_whose_length_is_no_number_are_reported(rng):
    encoder = random_encoder(rng, LinearEncoder, 20, 6)
    encoder.mean[:], encoder.scale[:] = 3e38, 3e38
    for X in (np.ones((3, 6), np.float32), scipy.sparse.csr_array(np.ones((3, 6)))):
        with pytest.raises(InvalidInputError, match="too large for this encoder in row 0"):
            encoder.encode(X)
