import dataclasses
import math
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash import _native
from kinhash.encoders import HALF_WAY, CodEncoder, IstaEncoder, LinearEncoder
from kinhash.encoders.network import ista, shrink
from kinhash.errors import InvalidInputError


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request):
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)


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
def test_the_kernel_equals_numpy(rng, instruction_set, kind, n_bits, n_features, random_encoder):
    encoder = random_encoder(rng, kind, n_bits, n_features, n_steps=3)
    check_native_equals_numpy(encoder, rng.normal(size=(237, n_features)).astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "n_bits", "signed"),
    [(IstaEncoder, 2048, True), (CodEncoder, 2048, True), (LinearEncoder, 4096, False)],
)
def test_the_longest_codes_are_those_of_numpy(rng, kind, n_bits, signed, random_encoder):
    options = {"signed": True} if signed else {}
    encoder = random_encoder(rng, kind, n_bits, 7, **options)
    check_native_equals_numpy(encoder, rng.normal(size=(9, 7)).astype(np.float32))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 40),
    n_bits=st.integers(1, 1024),
    n_features=st.integers(1, 40),
    signed=st.booleans(),
    n_steps=st.integers(0, 3),
)
def test_the_kernel_equals_numpy_at_any_size(
    seed, n, n_bits, n_features, signed, n_steps, random_encoder
):
    rng = np.random.default_rng(seed)
    encoder = random_encoder(rng, IstaEncoder, n_bits, n_features, signed=signed, n_steps=n_steps)
    check_native_equals_numpy(encoder, rng.normal(size=(n, n_features)).astype(np.float32))


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder, LinearEncoder])
def test_a_row_does_not_depend_on_its_neighbours(rng, instruction_set, kind, random_encoder):
    encoder = random_encoder(rng, kind, 70, 45)
    X = rng.normal(size=(331, 45)).astype(np.float32)
    whole = encoder.encode(X)
    order = rng.permutation(len(X))
    assert encoder.encode(X[order]) == whole[order]
    for start, stop in ((0, 1), (5, 12), (100, 331)):
        assert encoder.encode(X[start:stop]) == whole[start:stop]
    for n_threads in (1, 2, 7):
        assert encoder.encode(X, n_threads=n_threads) == whole


def test_wide_vectors_give_the_same_bits_on_every_vector_unit(rng, random_encoder):
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


def test_a_row_of_the_mean_gets_the_code_of_zero(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    assert encoder.encode(encoder.mean[None]).n_active.tolist() == [0]


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


def test_a_sparse_row_gets_the_same_code_in_any_batch(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 20, 300)
    X = scipy.sparse.random_array((50, 300), density=0.05, rng=rng, dtype=np.float32).tocsr()
    alone = np.concatenate([encoder.encode(X[[row]]).words for row in range(50)])
    assert np.array_equal(encoder.encode(X).words, alone)


def test_shrinkage_by_hand():
    v, tau = np.array([3.0, 0.5, -0.5, -3.0]), np.array([1.0, 1.0, 0.25, 0.25])
    assert shrink(v, tau, two_sided=False).tolist() == [2, 0, 0, 0]
    assert shrink(v, tau, two_sided=True).tolist() == [2, 0, -0.25, -2.75]


def test_a_step_of_ista_by_hand():
    """One bit, v = 2, S = -0.5, tau = 0.5: h = 1.5, then max(0, 2 - 0.75 - 0.5) = 0.75."""
    v, S, tau = np.array([[2.0]]), np.array([[-0.5]]), np.array([0.5])
    assert ista(v, S, tau, n_steps=0, two_sided=False).tolist() == [[1.5]]
    assert ista(v, S, tau, n_steps=1, two_sided=False).tolist() == [[0.75]]


def test_an_entry_is_set_beyond_half_way():
    """tanh(beta h) = 1/2 at h = HALF_WAY / beta, here just above and below it."""
    assert math.tanh(HALF_WAY) == pytest.approx(0.5)
    beta, W = 2.0, np.array([[1.0, 0.0]], np.float32)
    for tau, expected in ((1 - HALF_WAY / beta - 0.001, 1), (1 - HALF_WAY / beta + 0.001, 0)):
        encoder = IstaEncoder(
            mean=np.zeros(2, np.float32),
            scale=np.ones(2, np.float32),
            W=W,
            S=np.zeros((1, 1), np.float32),
            tau=np.array([tau], np.float32),
            beta=beta,
            n_steps=0,
            two_sided=False,
        )
        assert encoder.encode(np.array([[7.0, 0.0]])).to_dense().tolist() == [[expected]]


def test_coordinate_descent_equals_a_loop_over_rows_and_steps(rng, random_encoder):
    encoder = random_encoder(rng, CodEncoder, 6, 4, signed=True, n_steps=3)
    X = rng.normal(size=(20, 4)).astype(np.float32)
    for row, found in zip(encoder.standardise(X), encoder.forward(X), strict=True):
        b, z = encoder.W @ row, np.zeros(6)
        for _ in range(3):
            h = np.sign(b) * np.maximum(np.abs(b) - encoder.tau, 0)
            k = int(np.argmax(np.abs(h - z)))
            b = b + encoder.S[:, k] * (h[k] - z[k])
            z[k] = h[k]
        assert np.allclose(found, np.tanh(3.0 * z), atol=1e-5)
        assert np.count_nonzero(found) <= 3


def test_a_pickled_encoder_leaves_the_compiled_network_behind(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 6, 4)
    X = rng.normal(size=(20, 4))
    codes = encoder.encode(X)
    copied = pickle.loads(pickle.dumps(encoder))  # noqa: S301 - our own
    assert "_network" in vars(encoder)
    assert "_network" not in vars(copied)
    assert copied.encode(X) == codes


@pytest.mark.parametrize("kind", [IstaEncoder, CodEncoder, LinearEncoder])
def test_outputs_that_overflow_are_reported_with_their_row(
    rng, instruction_set, kind, random_encoder
):
    encoder = random_encoder(rng, kind, 20, 6, n_steps=3)
    encoder.W[7] = 3e38
    encoder.mean[:] *= 1e-3  # so that no sum of its products overflows, in whatever order
    X = np.tile(encoder.mean, (300, 1))  # standardised to zeros, which any weight leaves at zero
    X[250] += 1000
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 250"):
        encoder.encode(X)
    assert len(encoder.encode(X[:250])) == 250
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 250"):
        encoder.encode(scipy.sparse.csr_array(X))


def test_an_overflow_that_a_later_step_would_hide_is_reported(rng, instruction_set, random_encoder):
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


def test_sparse_rows_whose_length_is_no_number_are_reported(rng, random_encoder):
    encoder = random_encoder(rng, LinearEncoder, 20, 6)
    encoder.mean[:], encoder.scale[:] = 3e38, 3e38
    for X in (np.ones((3, 6), np.float32), scipy.sparse.csr_array(np.ones((3, 6)))):
        with pytest.raises(InvalidInputError, match="too large for this encoder in row 0"):
            encoder.encode(X)
