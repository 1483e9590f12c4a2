import numpy as np
import pytest

from kinhash.methods.parts.arranged_words import affinity, arranged
from kinhash.methods.parts.confusable_words import class_words, confusable


def test_affinity_is_the_mean_probability_that_two_rows_share_a_class(rng):
    likely = rng.dirichlet(np.ones(4) / 2, 60)
    likely[likely.argmax(axis=1) == 3] = [1, 0, 0, 0]  # a class that is never the likeliest
    alike = affinity(likely)
    cells = likely.argmax(axis=1)
    for a in range(3):
        for b in range(3):
            products = [p @ q for p in likely[cells == a] for q in likely[cells == b]]
            assert alike[a, b] == pytest.approx(np.mean(products))
    assert alike[3, 3] == 1


@pytest.fixture
def crowded(rng):
    """Twenty-four classes in six groups, words for them, and how alike they are."""
    groups = np.arange(24) % 6
    alike = 0.3 * (groups[:, None] == groups) + 0.01 * rng.random((24, 24))
    alike = (alike + alike.T) / 2
    found = np.eye(24, dtype=bool)
    found[0, 6] = found[6, 0] = True
    words, _ = class_words(found, 12, rng)
    return words, found, alike, groups


def distances(words):
    return (words[:, None] != words).sum(axis=2)


def amiss(words, found):
    wrong = np.where(found, distances(words) > 2, distances(words) <= 2)
    return int(np.triu(wrong, 1).sum())


def test_words_of_like_classes_come_nearer(crowded, rng):
    words, found, alike, groups = crowded
    better = arranged(words, found, alike, rng)
    same = (groups[:, None] == groups) & ~np.eye(24, dtype=bool)
    assert distances(better)[same].mean() < distances(words)[same].mean() - 0.5
    assert amiss(better, found) <= amiss(words, found)
    assert len(np.unique(better, axis=0)) == 24
    assert (better.sum(axis=1) == words[0].sum()).all()


def test_words_with_different_numbers_of_active_bits_stay(rng):
    words, found = class_words(np.eye(4, dtype=bool), 2, rng)[0], np.eye(4, dtype=bool)
    assert np.array_equal(arranged(words, found, np.eye(4), rng), words)


def test_the_words_of_confusable_classes_stay_near(crowded, rng):
    counts = np.diag([20] * 24)
    counts[0, 6] = counts[6, 0] = 18
    found = confusable(counts)
    words, _ = class_words(found, 16, rng)
    assert distances(words)[0, 6] == 2
    assert distances(arranged(words, found, crowded[2], rng))[0, 6] == 2
