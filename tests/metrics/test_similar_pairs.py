import doctest
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash import Codes, Pairs
from kinhash.errors import InvalidInputError
from kinhash.metrics import evaluate_pairs, pair_counts, similar_pairs

RADII = (0, 1, 3)


def distance(a, b):
    return sum(abs(int(x) - int(y)) for x, y in zip(a, b, strict=True))


def naive_measures(pairs, radius):
    """Measure pairs, each (distance, is similar), with plain counts."""
    near = [is_similar for d, is_similar in pairs if d <= radius]
    precision = sum(near) / len(near) if near else 0.0
    recall = sum(near) / sum(is_similar for _, is_similar in pairs)
    return {
        f"pair_precision@r{radius}": precision,
        f"pair_recall@r{radius}": recall,
        f"pair_f1@r{radius}": 2 * precision * recall / (precision + recall) if any(near) else 0.0,
        f"pairs@r{radius}": len(near),
    }


def expected_of(pairs):
    found = {}
    for radius in RADII:
        found |= naive_measures(pairs, radius)
    return pytest.approx(found)


def random_problem(seed, n, *, tagged, signed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-1 if signed else 0, 2, (n, 5))
    labels = rng.random((n, 4)) < 0.3 if tagged else rng.integers(0, 6, n)
    labels[:2] = True if tagged else 1  # some two are similar
    return dense, labels, Codes.from_dense(dense, signed=signed)


def alike(a, b):
    return bool(np.any(a & b) if np.ndim(a) else a == b)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_pairs_within_a_set_are_those_of_a_plain_loop(seed, tagged, signed):
    dense, labels, codes = random_problem(seed, 15, tagged=tagged, signed=signed)
    pairs = [
        (distance(dense[i], dense[j]), alike(labels[i], labels[j]))
        for i, j in itertools.combinations(range(15), 2)
    ]
    assert evaluate_pairs(codes, labels, radii=RADII) == expected_of(pairs)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_pairs_between_two_sets_are_those_of_a_plain_loop(seed, tagged, signed):
    dense, labels, codes = random_problem(seed, 9, tagged=tagged, signed=signed)
    others, other_labels, other_codes = random_problem(seed + 1, 14, tagged=tagged, signed=signed)
    pairs = [
        (distance(dense[i], others[j]), alike(labels[i], other_labels[j]))
        for i, j in itertools.product(range(9), range(14))
    ]
    found = evaluate_pairs(codes, labels, other_codes, other_labels, radii=RADII)
    assert found == expected_of(pairs)


def test_without_a_dissimilar_pair_all_that_are_not_listed_are_dissimilar():
    dense, _, codes = random_problem(4, 12, tagged=False, signed=False)
    listed = {(0, 5), (2, 3), (4, 7)}
    pairs = [
        (distance(dense[i], dense[j]), (i, j) in listed)
        for i, j in itertools.combinations(range(12), 2)
    ]
    # The same pair in both orders, and twice, is one pair.
    given_pairs = Pairs([0, 3, 2, 7, 4], [5, 2, 3, 4, 7])
    assert evaluate_pairs(codes, given_pairs, radii=RADII) == expected_of(pairs)


def test_with_a_dissimilar_pair_only_listed_pairs_count():
    dense, _, codes = random_problem(5, 12, tagged=False, signed=False)
    i, j, similar = [0, 3, 6, 7], [5, 2, 3, 4], [True, False, True, False]
    pairs = [(distance(dense[a], dense[b]), one) for a, b, one in zip(i, j, similar, strict=True)]
    assert evaluate_pairs(codes, Pairs(i, j, similar), radii=RADII) == expected_of(pairs)


def test_listed_pairs_may_be_of_two_sets():
    dense, _, codes = random_problem(6, 8, tagged=False, signed=False)
    others, _, other_codes = random_problem(7, 11, tagged=False, signed=False)
    listed = {(3, 3), (0, 10), (7, 3)}
    pairs = [
        (distance(dense[i], others[j]), (i, j) in listed)
        for i, j in itertools.product(range(8), range(11))
    ]
    similar = Pairs.across(*zip(*listed, strict=True))
    assert evaluate_pairs(codes, similar, other_codes, radii=RADII) == expected_of(pairs)


def test_counts_are_taken_a_few_codes_at_a_time(monkeypatch):
    rng = np.random.default_rng(8)
    codes, labels = Codes.from_dense(rng.integers(0, 2, (90, 130))), rng.integers(0, 30, 90)
    whole = pair_counts(codes, labels)
    assert (int(whole[0].sum()), len(whole[0])) == (90 * 89 // 2, 131)
    monkeypatch.setattr(similar_pairs, "CHUNK_BYTES", 1)
    for part, again in zip(whole, pair_counts(codes, labels), strict=True):
        np.testing.assert_array_equal(part, again)
    pairs = Pairs([1, 2, 3], [4, 5, 6])
    found = pair_counts(codes, pairs)
    monkeypatch.undo()
    for part, again in zip(found, pair_counts(codes, pairs), strict=True):
        np.testing.assert_array_equal(part, again)


def test_rank_bits_decide_nothing():
    rng = np.random.default_rng(9)
    bucket, labels = rng.integers(0, 2, (20, 6)), np.arange(20) % 4
    ranked = Codes.from_dense(bucket, rank=rng.integers(0, 2, (20, 9)))
    assert evaluate_pairs(ranked, labels) == evaluate_pairs(Codes.from_dense(bucket), labels)


def test_an_item_without_tags_is_similar_to_none():
    codes = Codes.from_dense([[0, 1]] * 4)
    found = evaluate_pairs(codes, [[1, 0], [1, 1], [0, 0], [0, 0]], radii=[0])
    assert (found["pairs@r0"], found["pair_precision@r0"]) == (6, pytest.approx(1 / 6))


def test_a_radius_that_holds_no_pair_scores_nothing():
    codes = Codes.from_dense([[0, 0, 0], [1, 1, 1], [0, 0, 1]])
    found = evaluate_pairs(codes, ["a", "a", "b"], radii=[0])
    assert found == {
        "pair_precision@r0": 0,
        "pair_recall@r0": 0,
        "pair_f1@r0": 0,
        "pairs@r0": 0,
    }


FOUR = Codes.from_dense([[0, 1], [1, 1], [1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((FOUR, [1, 2, 3, 4]), "`similar` must make at least one pair similar"),
        ((FOUR, [1, 2, 3]), "`similar` have 3 rows but `codes` have 4 codes"),
        ((FOUR, [1, 1, None, 2]), "`similar` must have a label in each row.* and from `codes`"),
        ((FOUR, [1, 1, 2, 2], FOUR), "`others` and `other_labels` must be given together"),
        ((FOUR, [1, 1, 2, 2], FOUR, ["a"] * 4), "`similar` are numbers but `other_labels` are str"),
        ((FOUR, [1, 1, 2, 2], FOUR[:0], []), "must hold at least one code, got none"),
        ((FOUR, [1] * 4, Codes.from_dense([[0, 1, 1]]), [1]), "3-bit"),
        ((FOUR, Pairs([0], [4])), "`j` of the pairs must be rows of 4 codes, 0 to 3, got 4"),
        (
            (FOUR, Pairs([0], [1]), FOUR, [1] * 4),
            "`other_labels` are labels, but `similar`",
        ),
        ((FOUR, Pairs.across([0, 2], [1, 2])), "Pair 1 joins row 2 with itself"),
        (
            (FOUR, Pairs([0, 1], [1, 0], [True, False])),
            "pair of rows 0 and 1 is listed as similar and as dissimilar",
        ),
    ],
)
def test_what_has_no_pairs_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate_pairs(*arguments)


def test_docstring_examples_run():
    assert doctest.testmod(similar_pairs).failed == 0
