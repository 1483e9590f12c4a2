import numpy as np
import pytest

import kinhash
from kinhash.errors import InvalidInputError
from kinhash.methods import ITQ, LSH
from kinhash.methods.rivals import itq
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def mean_ap(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])["map"]


def test_it_ranks_better_than_random_projections(digits):
    X, y = digits
    assert mean_ap(ITQ(32).fit(X), X, y) > mean_ap(LSH(32).fit(X), X, y) + 0.03


def test_labels_are_ignored(digits):
    X, y = digits
    assert ITQ(8).fit(X, y).encode(X) == ITQ(8).fit(X).encode(X)


def test_bits_are_the_signs_of_rotated_principal_components(digits):
    X, _ = digits
    model = ITQ(6).fit(X)
    U = model.encoder_.standardise(X)
    centred = U - U.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][:6]
    W = model.encoder_.W
    assert np.allclose(W @ W.T, np.eye(6), atol=1e-4)
    assert np.allclose(W @ components.T @ components, W, atol=1e-3)  # the same subspace
    assert np.allclose(model.encoder_.forward(X), centred @ W.T, atol=1e-4)


def test_many_rows_are_sampled_for_the_rotation(digits, monkeypatch):
    X, y = digits
    monkeypatch.setattr(itq, "MAX_ROTATION_ROWS", 500)
    assert mean_ap(ITQ(32).fit(X), X, y) > mean_ap(LSH(32).fit(X), X, y)


def test_more_bits_than_varying_columns_are_refused(digits):
    X = digits[0][:, :30].copy()
    X[:, 3] = 5
    assert ITQ(29).fit(X).encode(X).n_bits == 29
    with pytest.raises(InvalidInputError, match=r"at most 29, the columns .* got 30: .* Lower"):
        ITQ(30).fit(X)


def test_fewer_rows_than_bits_are_refused(digits):
    with pytest.raises(InvalidInputError, match="more rows than the 32 bits, got 32"):
        ITQ(32).fit(digits[0][:32])


def test_files_give_equal_codes(digits, tmp_path):
    X, _ = digits
    model = ITQ(40).fit(X)
    model.save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.history_ == model.history_


def test_bad_parameters_are_refused(digits):
    with pytest.raises(InvalidInputError, match=r"`n_iterations` must be .* at least 0, got -1"):
        ITQ(n_iterations=-1).fit(digits[0])


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        ITQ(2).fit(np.ones((50, 3)))
