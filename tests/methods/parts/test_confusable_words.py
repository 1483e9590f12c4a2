import itertools

import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods.parts.confusable_words import (
    LEAST_GAIN,
    _amiss,
    class_words,
    confusable,
    confusion,
    expected_f1,
)


def counted_f1(labels, predicted, found):
    """Return the F1 of mean precision and recall when every item searches all, itself too."""
    precisions, recalls = [], []
    for label, own in zip(labels, predicted, strict=True):
        answers = found[own][predicted]
        hits = (labels[answers] == label).sum()
        precisions.append(hits / max(1, answers.sum()))
        recalls.append(hits / (labels == label).sum())
    p, r = np.mean(precisions), np.mean(recalls)
    return 2 * p * r / (p + r)


@pytest.fixture
def confused(rng):
    """Six classes: 0 and 1 are mixed up half of the time, 2 and 3 a little."""
    labels = np.arange(300) % 6
    predicted = labels.copy()
    swapped = rng.random(300)
    for a, b, often in ((0, 1, 0.5), (1, 0, 0.5), (2, 3, 0.05), (4, 0, 0.1)):
        predicted[(labels == a) & (swapped < often)] = b
    return labels, predicted


def test_confusion_counts_rows_by_true_and_predicted_class(confused):
    labels, predicted = confused
    counts = confusion(labels, predicted, 7)
    for true, said in itertools.product(range(7), repeat=2):
        assert counts[true, said] == ((labels == true) & (predicted == said)).sum()


def test_expected_f1_is_that_of_counting(confused, rng):
    labels, predicted = confused
    counts = confusion(labels, predicted, 6)
    for _ in range(20):
        found = rng.random((6, 6)) < 0.3
        found = found | found.T | np.eye(6, dtype=bool)
        expected = counted_f1(labels, predicted, found)
        assert expected_f1(counts, found) == pytest.approx(expected, abs=1e-12)
    assert expected_f1(np.zeros((3, 3), int), np.eye(3, dtype=bool)) == 0


def test_classes_that_are_often_confused_are_to_be_found_together(confused):
    counts = confusion(*confused, 6)
    found = confusable(counts)
    pairs = {(a, b) for a, b in zip(*np.nonzero(np.triu(found, 1)), strict=True)}
    assert pairs == {(0, 1)}
    assert np.array_equal(found, found.T)
    assert found.diagonal().all()
    # No further pair would gain.
    for a, b in itertools.combinations(range(6), 2):
        more = found.copy()
        more[a, b] = more[b, a] = True
        assert expected_f1(counts, more) < expected_f1(counts, found) + LEAST_GAIN


def distances(words):
    wide = words.astype(int)
    return (wide[:, None] != wide).sum(axis=2)


@pytest.mark.parametrize(("n_classes", "n_bits"), [(2, 4), (10, 20), (23, 46), (60, 32)])
def test_words_of_neighbours_are_two_bits_apart_and_all_others_more(rng, n_classes, n_bits):
    found = np.eye(n_classes, dtype=bool)
    for a in range(0, n_classes // 2, 4):
        found[a, a + 1] = found[a + 1, a] = True
    words, n_amiss = class_words(found, n_bits, rng)
    assert (words.shape, words.dtype, n_amiss) == ((n_classes, n_bits), np.uint8, 0)
    assert len(set(words.sum(axis=1).tolist())) == 1
    apart = distances(words)
    for a, b in itertools.combinations(range(n_classes), 2):
        assert apart[a, b] == 2 if found[a, b] else apart[a, b] > 2


def test_three_classes_may_be_neighbours_of_one_another(rng):
    found = np.eye(5, dtype=bool)
    found[:3, :3] = True
    words, n_amiss = class_words(found, 12, rng)
    apart = distances(words)
    assert n_amiss == 0
    assert apart[0, 1] == apart[0, 2] == apart[1, 2] == 2
    assert apart[3:, :3].min() > 2


@pytest.mark.parametrize(("n_classes", "n_bits"), [(10, 5), (8, 3), (2, 1), (40, 7)])
def test_with_few_bits_words_differ_and_those_amiss_are_counted(rng, n_classes, n_bits):
    found = np.eye(n_classes, dtype=bool)
    words, n_amiss = class_words(found, n_bits, rng)
    assert len(np.unique(words, axis=0)) == n_classes
    near = (distances(words) <= 2) & ~found
    assert n_amiss == np.triu(near).sum() > 0


def test_pairs_amiss_are_counted_by_a_loop(rng):
    words = rng.integers(2, size=(12, 6)).astype(np.uint8)
    found = rng.random((12, 12)) < 0.3
    found = found | found.T | np.eye(12, dtype=bool)
    expected = 0
    for a, b in itertools.combinations(range(12), 2):
        near = (words[a] != words[b]).sum() <= 2
        expected += near != found[a, b]
    assert _amiss(words, found) == expected


def test_more_classes_than_words_are_refused(rng):
    with pytest.raises(
        InvalidInputError,
        match=r"at least 4 bits to tell 9 classes apart, got 3\. Raise `n_bits` or lower `n_rank_",
    ):
        class_words(np.eye(9, dtype=bool), 3, rng)
