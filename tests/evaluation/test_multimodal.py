import dataclasses
import doctest

import numpy as np
import pytest
import scipy.sparse

from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.evaluation import multimodal
from kinhash.evaluation.multimodal import (
    Parts,
    Search,
    directions,
    evaluate_directions,
    evaluate_multimodal,
    evaluate_multimodal_l2,
    measure_key,
    parts_hash,
    search_all,
    split_search,
    taken,
)
from kinhash.metrics import evaluate_vectors


class Bits:
    """Learns nothing: the vectors are the codes."""

    modalities = ("image", "text")

    def __init__(self, warning=None):
        self.warning = warning

    def fit(self, X, y):
        self.seen = X, y
        if self.warning:
            import warnings

            warnings.warn(self.warning, CollapseWarning, stacklevel=1)
        return self

    def encode(self, X, *, modality):  # noqa: ARG002 - both alike
        return Codes.from_dense(np.asarray(X, int))


@pytest.fixture
def items():
    """Two training items, then four test items: the codes of three bits and the labels."""
    image = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]], np.float32)
    text = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]], np.float32)
    labels = np.array([0, 1, 0, 0, 1, 1])
    return Dataset("six", image, labels=labels, modalities={"image": image, "text": text})


TRAIN, TEST = np.array([0, 1]), np.arange(2, 6)
BOTH = Parts(TRAIN, {"test": Search(TEST, TEST, np.arange(4)), "train": Search(TEST, TRAIN)})


def test_measures_by_hand(items):
    method = Bits()
    found = evaluate_multimodal(method, items, items.labels, BOTH, at=[1])
    metrics = found.metrics
    # Among themselves, image to text: codes 000 001 111 111 against texts 000 000 111 001, own
    # item left out. Distances of query 0 to items 1, 2, 3: 0 3 1; query 1: to 0, 2, 3: 1 2 0;
    # query 2: to 0, 1, 3: 3 3 2; query 3: to 0, 1, 2: 3 3 0.
    # Relevant is one each: item 1, 0, 3, 2, at ranks 1, 2, 1, 1.
    assert metrics["test/image-text/map"] == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    assert metrics["test/image-text/mp@1"] == pytest.approx(3 / 4)
    # At radius 0: query 0 finds item 1 (right), query 1 item 3 (wrong), query 2 none, query 3
    # item 2 (right).
    assert metrics["test/image-text/precision@r0"] == pytest.approx(2 / 4)
    assert metrics["test/image-text/recall@r0"] == pytest.approx(2 / 4)
    assert metrics["test/image-text/f1@r0"] == pytest.approx(0.5)
    assert metrics["test/image-text/empty@r0"] == pytest.approx(1 / 4)
    assert metrics["test/image-text/unique_codes"] == 3
    assert metrics["test/text-image/unique_codes"] == 3
    assert metrics["test/image-text/mean_active"] == pytest.approx(4 / 4)
    # Among the training items, text to image: 000 000 111 001 against 000 111: the last one goes
    # to the wrong one first.
    assert metrics["train/text-image/map"] == pytest.approx((1 + 1 + 1 + 0.5) / 4)
    assert metrics["train/text-image/unique_codes"] == 2


def test_only_training_rows_are_learned_from(items):
    method = Bits()
    evaluate_multimodal(method, items, items.labels, BOTH, at=[1])
    X, y = method.seen
    assert list(X) == ["image", "text"]
    np.testing.assert_array_equal(X["text"], items.modalities["text"][:2])
    np.testing.assert_array_equal(y, items.labels[:2])


def test_every_search_is_measured_in_every_direction(items):
    found = evaluate_multimodal(Bits(), items, items.labels, BOTH, at=[1])
    kinds = {key.rsplit("/", 1)[0] for key in found.metrics}
    assert kinds == {
        f"{search}/{a}-{b}"
        for search in ("test", "train")
        for a in ("image", "text")
        for b in ("image", "text")
    }
    assert set(found.codes) == {"image", "text"}
    assert len(found.codes["text"]) == 6


def test_three_modalities_have_nine_directions():
    assert len(set(directions(["a", "b", "c"]))) == 9


def test_a_warning_is_given_and_kept(items):
    with pytest.warns(CollapseWarning, match="all codes are equal"):
        found = evaluate_multimodal(Bits("all codes are equal"), items, items.labels, BOTH, at=[1])
    assert found.warnings == ["all codes are equal"]
    assert evaluate_multimodal(Bits(), items, items.labels, BOTH, at=[1]).warnings == []


def test_l2_is_within_modalities_and_standardised_by_the_training_rows():
    rng = np.random.default_rng(1)
    image = rng.normal(size=(20, 3)).astype(np.float32) * np.float32([1, 100, 1])
    labels = rng.integers(0, 2, 20)
    data = Dataset("l2", image, labels=labels, modalities={"image": image, "text": image[:, :2]})
    train, rest = np.arange(8), np.arange(8, 20)
    parts = Parts(train, {"rest": Search(rest, rest, np.arange(12))})
    metrics = evaluate_multimodal_l2(data, labels, parts, at=[3])
    scaled = (image - image[:8].mean(axis=0)) / image[:8].std(axis=0)
    expected = evaluate_vectors(
        scaled[rest], labels[rest], scaled[rest], labels[rest], at=[3], own=np.arange(12)
    )
    for measure, value in expected.items():
        assert metrics[f"rest/image-image/{measure}"] == pytest.approx(value)
    assert {key.split("/")[1] for key in metrics} == {"image-image", "text-text"}


def test_l2_of_texts_is_that_of_their_words_at_unit_length():
    texts = ("red shoe", "blue hat", "red red shoe", "hat", "unheard words", "blue shoe")
    labels = np.array([0, 1, 0, 1, 0, 1])
    bags = np.array(  # of the words of the training texts: blue, hat, red, shoe
        [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    )
    unit = bags / np.maximum(1, np.sqrt(bags.sum(axis=1, keepdims=True)))
    vectors = np.eye(6, dtype=np.float32)
    parts = Parts(np.array([0, 1]), {"rest": Search(np.array([2, 3]), np.array([0, 1, 4, 5]))})
    expected = evaluate_vectors(unit[[2, 3]], labels[[2, 3]], unit[[0, 1, 4, 5]], [0, 1, 0, 1])
    for text in (texts, scipy.sparse.csr_array(bags)):
        data = Dataset("t", vectors, modalities={"image": vectors, "text": text})
        metrics = evaluate_multimodal_l2(data, labels, parts, at=[10, 5000])
        for measure, value in expected.items():
            assert metrics[f"rest/text-text/{measure}"] == pytest.approx(value)


def test_rows_are_taken_of_arrays_and_texts():
    assert taken(("a", "b", "c"), np.array([2, 0])) == ["c", "a"]
    assert taken(np.array([5, 6]), np.array([1])).tolist() == [6]


def test_the_hash_tells_parts_apart():
    others = [
        Parts(TEST, {"a": Search(TRAIN, TRAIN)}),
        Parts(TRAIN, {"a": Search(TEST, TRAIN)}),
        Parts(TRAIN, {"a": Search(TRAIN, TEST)}),
        Parts(TRAIN, {"a": Search(TEST, TRAIN), "b": Search(TEST, TEST)}),
    ]
    assert len({parts_hash(parts) for parts in others}) == 4
    assert parts_hash(BOTH) == parts_hash(BOTH)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (Parts(TEST, {"a": Search(TEST, TRAIN)}), "4 of 4 queries are also trained on.* row 2"),
        (Parts(TRAIN, {"a": Search(TEST, TEST)}), r"4 of 4 .* in the database \('a'\)"),
        (
            Parts(TRAIN, {"a": Search(TEST, TEST, np.arange(4)[::-1])}),
            "`own` of 'a' must lead from each query to itself",
        ),
    ],
)
def test_queries_that_have_been_seen_are_refused(items, parts, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate_multimodal(Bits(), items, items.labels, parts, at=[1])
    with pytest.raises(InvalidInputError, match=message):
        evaluate_multimodal_l2(items, items.labels, parts, at=[1])


def test_what_is_no_multimodal_data_is_refused(items):
    one = Dataset("one", items.vectors, labels=items.labels)
    with pytest.raises(InvalidInputError, match="'one' has one modality only"):
        evaluate_multimodal(Bits(), one, one.labels, BOTH, at=[1])
    with pytest.raises(InvalidInputError, match="`labels` have 2 rows, but data set 'six' has 6"):
        evaluate_multimodal(Bits(), items, items.labels[:2], BOTH, at=[1])


def test_docstring_examples_run():
    assert doctest.testmod(multimodal).failed == 0


@pytest.mark.parametrize("title", ["test", "train"])
def test_directions_of_a_fitted_method_have_the_same_measures(items, title):
    expected = evaluate_multimodal(Bits(), items, items.labels, BOTH, at=[1]).metrics
    search = BOTH.searches[title]
    found = evaluate_directions(Bits(), items, items, search, at=[1])
    assert list(found) == directions(["image", "text"])
    for direction, measures in found.items():
        assert measures == {m: expected[measure_key(title, *direction, m)] for m in measures}


def test_directions_take_the_order_of_rankings(items, monkeypatch):
    asked = []
    monkeypatch.setattr(
        multimodal, "evaluate_codes", lambda *_, order, **__: asked.append(order) or {}
    )
    for order in ("nested", "total"):
        evaluate_directions(Bits(), items, items, BOTH.searches["test"], order=order)
    evaluate_directions(Bits(), items, items, BOTH.searches["test"])
    assert asked == ["nested"] * 4 + ["total"] * 4 + ["nested"] * 4


def test_queries_of_another_data_set_are_compared_by_class_name(items):
    def some(rows, names):
        views = {name: values[rows] for name, values in items.modalities.items()}
        labels = np.zeros(len(rows), np.int64)
        return Dataset("some", views["image"], labels=labels, names=names, modalities=views)

    asked, searched = some([2, 3], ("a",)), some([0, 4, 5], ("a",))
    search = search_all(asked, searched)
    assert (search.query.tolist(), search.database.tolist(), search.own) == (
        [0, 1],
        [0, 1, 2],
        None,
    )
    found = evaluate_directions(Bits(), asked, searched, search, radii=[0], at=[1])
    assert found["image", "image"]["map"] == 1
    assert found["image", "image"]["mean_matches@r0"] == 0.5  # 000 finds 000, 001 nothing
    with pytest.warns(UserWarning, match="2 of 2 queries have no relevant item"):
        found = evaluate_directions(Bits(), some([2, 3], ("b",)), searched, search)
    assert np.isnan(found["image", "image"]["map"])


def test_the_test_part_of_an_own_split_is_searched_with_itself(items):
    split = np.repeat(["train", "test"], [2, 4])
    own = dataclasses.replace(items, attributes={"split": split})
    search = split_search(own, seed=5)
    assert search.query.tolist() == search.database.tolist() == TEST.tolist()
    assert search.own.tolist() == [0, 1, 2, 3]


def test_without_an_own_split_the_seed_chooses(rng):
    data = Dataset("many", rng.normal(size=(40, 2)).astype(np.float32), labels=np.arange(40) % 2)
    search, part = split_search(data, 5), data.split(5)
    assert np.array_equal(search.query, part.query)
    assert np.array_equal(search.database, part.database)
    assert search.own is None
