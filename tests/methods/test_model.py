import numpy as np
import pytest
import scipy.sparse
import sklearn.exceptions

import kinhash
import kinhash.methods
from kinhash import Pairs
from kinhash.encoders import LinearEncoder
from kinhash.errors import FormatError, InvalidInputError, NotFittedError
from kinhash.methods.model import HashMethod, restored_encoder


class FirstColumn(HashMethod):
    """Bit 0 is set where the first column is positive."""

    name = "first-column"
    _takes_sparse = True

    def __init__(self, shift=0.0, *, n_bits=1, fails=None):
        self.n_bits = n_bits
        self.shift = shift
        self.fails = fails

    def fit(self, X, y=None):
        del y
        with self._unchanged_on_failure():
            vectors = self._checked(X, reset=True)
            d = vectors.shape[1]
            zeros, ones = np.zeros(d, np.float32), np.ones(d, np.float32)
            bias = np.array([self.shift], np.float32)
            self.encoder_ = LinearEncoder(zeros, ones, np.eye(1, d, dtype=np.float32), bias=bias)
            self.history_ = [{"loss": 0.5, "margin": float("nan")}]
            if self.fails is not None:
                raise self.fails
        return self


X = np.array([[1.0, 2.0], [-1.0, 2.0], [3.0, 0.0]])


def test_encode_and_transform_give_the_codes_of_the_encoder():
    model = FirstColumn().fit(X)
    assert model.encode(X).to_dense().tolist() == [[1], [0], [1]]
    assert model.encode(X.tolist()) == model.encode(X)
    found = model.transform(X)
    assert (found.format, found.dtype) == ("csr", np.int8)
    assert found.toarray().tolist() == [[1], [0], [1]]


def test_a_sparse_matrix_goes_in_where_the_method_takes_it(monkeypatch):
    model = FirstColumn().fit(scipy.sparse.coo_matrix(X))
    assert model.encode(scipy.sparse.csc_array(X)) == model.encode(X)
    monkeypatch.setattr(FirstColumn, "_takes_sparse", False)
    with pytest.raises(InvalidInputError, match="sparse, but FirstColumn takes dense vectors only"):
        model.encode(scipy.sparse.csr_array(X))


def test_before_fit_both_libraries_recognise_the_error(tmp_path):
    for call in (
        lambda: FirstColumn().encode(X),
        lambda: FirstColumn().save(tmp_path / "m.kinhash"),
    ):
        with pytest.raises(NotFittedError, match=r"This FirstColumn is not fitted yet. Call fit"):
            call()
        with pytest.raises(sklearn.exceptions.NotFittedError):
            call()


@pytest.mark.parametrize("failure", [ValueError("late"), KeyboardInterrupt()])
def test_a_failed_fit_leaves_everything_as_it_was(failure):
    model = FirstColumn().fit(X)
    before = dict(vars(model))
    model.set_params(fails=failure)
    with pytest.raises(type(failure)):
        model.fit(np.zeros((5, 7)))
    assert vars(model) == before | {"fails": failure}
    new = FirstColumn(fails=failure)
    with pytest.raises(type(failure)):
        new.fit(X)
    assert not hasattr(new, "encoder_")
    assert not hasattr(new, "n_features_in_")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 2.0, 3.0]], "3 features, but FirstColumn is expecting 2"),
        ([1.0, 2.0], "Expected 2D array, got 1D"),
        ([["red", "blue"]], "`X` must hold numbers, got text"),
        (np.array([["red", 1.0]], object), "`X` must hold numbers: could not convert string to fl"),
        ([[1.0, np.nan]], "contains NaN in row 0"),
    ],
)
def test_unusable_rows_are_refused(rows, message):
    model = FirstColumn().fit(X)
    with pytest.raises(InvalidInputError, match=message):
        model.encode(rows)


def test_one_row_is_too_few_to_fit_and_none_can_be_encoded():
    with pytest.raises(InvalidInputError, match=r"1 sample.* minimum of 2 is required"):
        FirstColumn().fit(X[:1])
    assert len(FirstColumn().fit(X).encode(X[:0])) == 0


def test_a_header_says_what_made_the_model_and_holds_no_nan():
    header = FirstColumn(0.25).fit(X)._header()
    assert header["method"] == "first-column"
    assert header["parameters"] == {"shift": 0.25, "n_bits": 1, "fails": None}
    assert header["history"] == [{"loss": 0.5, "margin": None}]


def test_a_saved_model_is_restored_with_names_of_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["width", "height"])
    FirstColumn(0.25).fit(frame).save(tmp_path / "m.kinhash")
    header, arrays = kinhash.storage.read(tmp_path / "m.kinhash")
    model = FirstColumn._restore(header, arrays)
    assert model.get_params() == {"shift": 0.25, "n_bits": 1, "fails": None}
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.n_features_in_ == 2
    assert model.encode(frame).to_dense().tolist() == [[1], [0], [1]]


def test_an_unknown_encoder_is_named_with_those_known():
    with pytest.raises(FormatError, match=r"Unknown encoder 'quantum'; .* cod, .*, linear"):
        restored_encoder({"encoder": "quantum", "settings": {}}, {})


def test_an_unknown_parameter_of_a_file_is_named_with_those_known():
    header = FirstColumn().fit(X)._header() | {"parameters": {"bits": 3}}
    with pytest.raises(
        FormatError, match=r"FirstColumn has no parameter 'bits'; .* fails, n_bits, shift"
    ):
        FirstColumn._from_header(header)


ROWS = np.random.default_rng(0).normal(size=(60, 2))
KINDS = np.where(ROWS[:, 0] > 0, "right", "left")


def test_any_method_is_calibrated_with_rows_of_the_user():
    model = FirstColumn(n_bits=1).fit(X)
    with pytest.raises(
        InvalidInputError, match=r"FirstColumn is not calibrated.*calibrate\(X, y\)"
    ):
        model.radius_for(precision=0.5)
    assert model.calibrate(ROWS, KINDS) is model
    assert model.calibration_.n_rows == 60
    assert model.radius_for(precision=0.9) == 0
    pairs = Pairs([0, 1], [2, 3])
    assert model.calibrate(ROWS, pairs=pairs).calibration_.similar[-1] == 2
    for both in ({}, {"y": KINDS, "pairs": pairs}):
        with pytest.raises(InvalidInputError, match="Give either `y` or `pairs`"):
            model.calibrate(ROWS, **both)
    with pytest.raises(NotFittedError):
        FirstColumn().calibrate(ROWS, KINDS)


def test_another_fit_forgets_the_calibration():
    model = FirstColumn().fit(X).calibrate(ROWS, KINDS)
    kept = model.calibration_
    model.fails = RuntimeError("stop")
    with pytest.raises(RuntimeError):
        model.fit(X)
    assert model.calibration_ is kept
    model.fails = None
    assert model.fit(X).calibration_ is None


def test_files_without_a_calibration_are_as_they_were(tmp_path):
    model = kinhash.methods.LSH(n_bits=8).fit(ROWS)
    model.save(tmp_path / "plain")
    header, arrays = kinhash.storage.read(tmp_path / "plain")
    assert "calibration" not in header
    assert not any("calibration" in name for name in arrays)
    assert kinhash.load(tmp_path / "plain").calibration_ is None
    model.calibrate(ROWS, KINDS).save(tmp_path / "calibrated")
    again = kinhash.load(tmp_path / "calibrated")
    assert again.calibration_.rows() == model.calibration_.rows()
    header, arrays = kinhash.storage.read(tmp_path / "calibrated")
    del header["calibration"]
    kinhash.storage.write(tmp_path / "odd", header, arrays)
    with pytest.raises(FormatError, match="the array 'dissimilar' is unknown"):
        kinhash.load(tmp_path / "odd")
