"""One battery over every method."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import kinhash
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.methods import METHODS, SparseHash

QUICK = {"max_steps": 60, "n_anchors": 100, "n_rank_bits": 8}
PAPER = {"recipe": "paper", "max_steps": 60}

# scikit-learn's checks have as few as ten rows or one column: no more bits than those can give.
CHECKED_BITS = {
    "agh": {"n_bits": 8},
    "dh": {"n_bits": 1},
    "itq": {"n_bits": 1},
    "nested": {"n_rank_bits": 1},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore:`X` has:UserWarning"),
    pytest.mark.filterwarnings(r"ignore:\d+ bucket bits have no room:UserWarning"),
]


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Let rank bits that have no setting for it take a moment to learn."""
    monkeypatch.setattr("kinhash.training.rank_bits.N_STEPS", 20)
    monkeypatch.setattr("kinhash.methods.parts.class_probabilities.N_UNITS", 200)


def quick(name, **parameters):
    method = METHODS[name]()
    # What is None is of another recipe.
    own = {key for key, value in method.get_params().items() if value is not None}
    fast = {key: value for key, value in QUICK.items() if key in own}
    return method.set_params(n_bits=20, **(fast | parameters))


VARIANTS = [
    *(quick(name) for name in METHODS),
    quick("agh", n_layers=1),
    quick("classcode", levels=2),
    quick("nested", bucket=quick("classcode", levels=2), rank=quick("nnhash")),
    quick("nested", bucket=quick("sparsehash", **PAPER, signed=True), rank=quick("lsh")),
    quick("nested", bucket=quick("sparsehash"), rank=quick("nnhash")),
    quick("sparsehash", transfer=1.0, n_rank_bits=9),
    quick("sparsehash", n_rank_bits=0),
    quick("sparsehash", **PAPER),
    quick("sparsehash", **PAPER, signed=True),
    quick("sparsehash", **PAPER, encoder="cod", n_active=4),
    quick("sparsehash", **PAPER, n_layers=3, optimizer="sgd"),
]


@pytest.fixture(params=VARIANTS, ids=str)
def method(request):
    return clone(request.param)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.func.__name__}-{i}")
        for method in VARIANTS[: len(METHODS)]
        for i, (estimator, check) in enumerate(
            estimator_checks_generator(
                clone(method).set_params(**CHECKED_BITS.get(method.name, {}))
            )
        )
        # It skips itself for whoever does not claim to support the array API.
        if check.func.__name__ != "check_array_api_input"
    ],
)
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_it_is_deterministic_by_seed(method, digits):
    X, y = digits
    first = clone(method).fit(X[:300], y[:300]).encode(X)
    assert clone(method).fit(X[:300], y[:300]).encode(X) == first
    assert clone(method).set_params(seed=5).fit(X[:300], y[:300]).encode(X) != first


def test_input_is_left_untouched(method, digits):
    X, y = digits[0][:200].copy(), digits[1][:200].copy()
    X.flags.writeable = y.flags.writeable = False
    method.fit(X, y).encode(X)


def test_codes_do_not_depend_on_order_or_batch(method, digits, rng):
    X, y = digits
    method.fit(X[:300], y[:300])
    whole = method.encode(X)
    order = rng.permutation(len(X))
    assert method.encode(X[order]) == whole[order]
    assert method.encode(X[40:41]) == whole[40:41]


def test_files_and_pickles_give_equal_codes(method, digits, tmp_path):
    X, y = digits
    method.fit(X[:300], y[:300]).save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert type(loaded) is type(method)
    assert loaded.encode(X) == method.encode(X)
    assert pickle.loads(pickle.dumps(method)).encode(X) == method.encode(X)  # noqa: S301 - our own


def test_transform_is_sparse_int8_and_equals_encode(method, digits):
    X, y = digits
    S = method.fit(X[:300], y[:300]).transform(X[:50])
    assert scipy.sparse.issparse(S)
    assert S.format == "csr"
    assert S.dtype == np.int8
    assert np.array_equal(S.toarray(), method.encode(X[:50]).to_dense())


def test_it_works_in_a_pipeline(method, digits):
    X, y = digits
    pipeline = make_pipeline(StandardScaler(), method).fit(X[:300], y[:300])
    n_rank_bits = method.encoder_.n_rank_bits
    assert pipeline.transform(X[:10]).shape == (10, 20 - n_rank_bits)


def test_pandas_names_are_kept_and_checked(method, digits, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = digits
    frame = pandas.DataFrame(X[:300], columns=[f"pixel{i}" for i in range(X.shape[1])])
    method.fit(frame, pandas.Series(y[:300]))
    assert method.encode(frame) == method.encode(frame.copy())
    method.save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert list(loaded.feature_names_in_) == list(frame.columns)
    with pytest.raises(InvalidInputError, match="feature names"):
        loaded.encode(frame[frame.columns[::-1]])


def test_codes_before_fit_are_refused(method):
    with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call fit, or load a model"):
        method.encode(np.zeros((3, 3)))


def test_bad_vectors_are_refused_and_change_nothing(method, digits):
    X, y = digits
    method.fit(X[:300], y[:300])
    before = method.encode(X)
    bad = X[:300].copy()
    bad[123, 4] = np.nan
    for call in (lambda: method.fit(bad, y[:300]), lambda: method.encode(bad)):
        with pytest.raises(InvalidInputError, match="contains NaN in row 123"):
            call()
    with pytest.raises(InvalidInputError, match=f"5 features, .* expecting {X.shape[1]}"):
        method.encode(X[:, :5])
    with pytest.raises(InvalidInputError, match="must hold numbers: could not convert"):
        method.fit(np.array([["red", "green"], ["1", "2"]], dtype=object), [0, 1])
    assert method.encode(X) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39], ids=str)
def test_vectors_without_labels_must_be_finite(method, digits, value):
    bad = digits[0][:300].astype(np.float64)
    bad[123, 4] = value
    what = {"nan": "NaN", "inf": "infinity"}.get(str(value), r"1e\+39, too large for float32,")
    needs_labels = "requires y to be passed"
    with pytest.raises(
        InvalidInputError, match=f"contains {what} in row 123, column 4|{needs_labels}"
    ):
        method.fit(bad)


MISSING = {
    "None": lambda y: [None if row in {7, 40} else str(label) for row, label in enumerate(y)],
    "NaN": lambda y: np.where(np.isin(np.arange(300), (7, 40)), np.nan, y),
    "pandas": lambda y: pd.Series(MISSING["None"](y), dtype="category"),
    "Polars": lambda y: pl.Series(MISSING["None"](y)),
    "tags": lambda y: np.where(np.isin(np.arange(300), (7, 40)), np.nan, np.eye(10)[y].T).T,
}


LEARN_FROM_LABELS = sorted(METHODS.keys() - {"agh", "flyhash", "itq", "lsh"})


@pytest.mark.parametrize("labels", MISSING)
@pytest.mark.parametrize("name", LEARN_FROM_LABELS)
def test_missing_labels_are_refused(name, digits, labels):
    X, y = digits
    method = quick(name)
    message = (
        r"`y` must have a label in each row, but 2 of 300 are missing: in rows 7, 40 \(counted "
        r"from 0\)\. Drop those rows from `X` and `y`"
    )
    with pytest.raises(InvalidInputError, match=message):
        method.fit(X[:300], MISSING[labels](y[:300]))
    assert not hasattr(method, "encoder_")


@pytest.mark.filterwarnings(
    "ignore::kinhash.errors.CollapseWarning"
)  # nothing but the type differs
@pytest.mark.parametrize("name", LEARN_FROM_LABELS)
def test_a_number_and_its_text_are_different_labels(name, digits):
    X, y = digits
    X, y = X[:300], y[:300] % 2
    mixed = [label if row % 2 else str(label) for row, label in enumerate(y.tolist())]
    four = 2 * y + (np.arange(300) % 2 == 0)
    codes = quick(name).fit(X, mixed).encode(X)
    assert codes == quick(name).fit(X, four).encode(X)
    assert codes != quick(name).fit(X, y).encode(X)


@pytest.mark.parametrize("n_bits", [0, 4097, 3.5, "64", True, None])
def test_bad_lengths_are_refused(method, digits, n_bits):
    with pytest.raises(InvalidInputError, match="`n_bits` must be an integer"):
        method.set_params(n_bits=n_bits).fit(*digits)


def test_the_table_of_names_holds_every_method():
    assert all(METHODS[name].name == name for name in METHODS)
    assert METHODS["sparsehash"] is SparseHash


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
@pytest.mark.parametrize("supervision", ["labels", "neighbours", "threshold"])
def test_sparse_vectors_stay_sparse(digits, supervision, monkeypatch):
    X, y = digits
    rows = scipy.sparse.csr_array(X)
    whole = rows.shape[0]
    dense = scipy.sparse.csr_array.toarray

    def toarray(self, *arguments, **keywords):
        assert self.shape[0] < whole or self.shape[1] != rows.shape[1]
        return dense(self, *arguments, **keywords)

    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", toarray)
    threshold = 30.0 if supervision == "threshold" else None
    model = SparseHash(n_bits=20, recipe="paper", max_steps=60, threshold=threshold)
    model.fit(rows, y if supervision == "labels" else None)
    codes = model.encode(rows)
    assert codes == model.encode(X)
    assert codes.n_unique > 10
    with pytest.raises(InvalidInputError, match="30 features"):
        model.encode(rows[:, :30])
