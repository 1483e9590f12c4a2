import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash import _native
from kinhash.encoders import CodEncoder, IstaEncoder, LinearEncoder, unit_length
from kinhash.errors import InvalidInputError
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
    monkeypatch.setattr("kinhash.encoders.CHUNK_BYTES", 10 * 4 * 8)
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = (rng.normal(size=(55, 8)) > 0).astype(dtype)
    assert encoder.encode(X) == encoder.encode(X.astype(np.float32))


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_row_that_is_not_finite_is_named(rng, monkeypatch, value, name):
    monkeypatch.setattr("kinhash.encoders.CHUNK_BYTES", 1000 * 4 * 8)
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
