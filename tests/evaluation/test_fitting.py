import numpy as np
import pytest

from kinhash.datasets import Dataset
from kinhash.evaluation.fitting import codes_of_some, fit_rows, learns_from_labels, own_rows
from kinhash.methods import CCAITQ, ITQ, KSH, LSH, SSH


@pytest.fixture
def data(rng):
    """Forty items with two modalities; every fourth lacks the second."""
    labels = np.arange(40) % 2
    image = (rng.normal(size=(40, 6)) + labels[:, None]).astype(np.float32)
    sound = image[:, ::2].copy()
    return Dataset("both", image, labels=labels, modalities={"image": image, "sound": sound})


def test_own_rows_are_those_of_the_split_that_the_data_come_with(data):
    assert own_rows(data, "train") is None
    split = np.repeat(["train", "test"], [25, 15])
    split_data = Dataset("split", data.vectors, attributes={"split": split})
    assert own_rows(split_data, "train").tolist() == list(range(25))
    assert own_rows(split_data, "test").tolist() == list(range(25, 40))


@pytest.mark.parametrize("rows", [slice(None), np.array([1, 5, 8, 9, 20, 33])])
def test_a_method_is_fitted_on_the_rows(data, rows):
    method, other = LSH(n_bits=16), LSH(n_bits=16).fit(data.vectors[rows])
    fit_rows(method, data, rows)
    assert np.array_equal(
        method.encode(data.vectors).words,
        other.encode(data.vectors).words,
    )


def test_a_method_of_several_modalities_is_fitted_on_the_rows_of_each(data):
    rows = np.arange(0, 40, 2)
    method, other = CCAITQ(n_bits=2), CCAITQ(n_bits=2)
    fit_rows(method, data, rows)
    other.fit({name: x[rows] for name, x in data.modalities.items()}, data.labels[rows])
    for name, values in data.modalities.items():
        ours, theirs = (one.encode(values, modality=name) for one in (method, other))
        assert np.array_equal(ours.words, theirs.words)


def test_codes_of_some_are_spread_over_the_rows(data):
    method = LSH(n_bits=16).fit(data.vectors)
    rows = np.arange(3, 40)
    found = codes_of_some(method, data, rows, most=10)
    assert list(found) == [""]
    assert np.array_equal(found[""].words, method.encode(data.vectors[rows[::4]]).words)
    assert len(codes_of_some(method, data, slice(None), most=40)[""]) == 40


def test_items_that_lack_a_modality_are_left_out_of_its_codes(data):
    method = CCAITQ(n_bits=2).fit(data.modalities, data.labels)
    data.modalities["sound"][::4] = np.nan
    found = codes_of_some(method, data, slice(None), most=100)
    assert {name: len(codes) for name, codes in found.items()} == {"image": 40, "sound": 30}


class WithLabels:
    def fit(self, X, y): ...


class WithAnyArrays:
    def fit(self, *arrays): ...


class WithoutLabels:
    def fit(self, X, *, verbose=False): ...


def test_whether_a_method_learns_from_labels_is_seen_from_its_face():
    assert [learns_from_labels(kind()) for kind in (KSH, SSH, ITQ)] == [True, True, False]
    own = WithLabels(), WithAnyArrays(), WithoutLabels()
    assert [learns_from_labels(one) for one in own] == [True, True, False]
