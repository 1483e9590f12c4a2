"""How sure distances make us."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash import Codes, Pairs
from kinhash.calibration import Calibration
from kinhash.errors import DriftWarning, FormatError, InvalidInputError

HALF = 0.5


def drawn(seed, n=300, n_bits=6, n_rank_bits=10, n_classes=4, noise=0.15):
    """Codes of classes: a random word for each, with some bits flipped; and the classes."""
    words = np.random.default_rng(0).integers(0, 2, (n_classes, n_bits + n_rank_bits))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    bits = words[labels] ^ (rng.random((n, n_bits + n_rank_bits)) < noise)
    rank = bits[:, n_bits:] if n_rank_bits else None
    return Codes.from_dense(bits[:, :n_bits], rank=rank), labels


def pairs_of(codes, labels):
    """Distance, rank distance and similarity of every pair, one after the other."""
    bucket = codes.to_dense()
    rank = codes.rank_to_dense() if codes.n_rank_bits else np.zeros((len(codes), 0))
    for i in range(len(codes)):
        for j in range(i):
            yield (
                int(np.abs(bucket[i] - bucket[j]).sum()),
                int((rank[i] != rank[j]).sum()),
                bool(labels[i] == labels[j]),
            )


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(8, 30),
    n_rank_bits=st.sampled_from([0, 3]),
    signed=st.booleans(),
)
def test_counts_are_those_of_all_pairs(seed, n, n_rank_bits, signed):
    rng = np.random.default_rng(seed)
    bucket = rng.integers(-1 if signed else 0, 2, (n, 5))
    rank = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
    codes = Codes.from_dense(bucket, signed=signed, rank=rank)
    labels = np.arange(n) % 3
    found = Calibration.from_codes(codes, labels)
    pairs = list(pairs_of(codes, labels))
    for step in range(found.n_steps):
        end = int(found.distances[step]), int(found.rank_distances[step])
        within = [similar for *place, similar in pairs if tuple(place) <= end]
        assert (found.similar[step], found.dissimilar[step]) == (
            sum(within),
            len(within) - sum(within),
        )
    assert end == (10 if signed else 5, n_rank_bits)
    assert found.similar_share == sum(similar for *_, similar in pairs) / len(pairs)


def test_precision_is_bayes_rule_over_the_shares_of_both_kinds():
    codes, labels = drawn(1)
    found = Calibration.from_codes(codes, labels)
    for share in (None, 0.01):
        pi = found.similar_share if share is None else share
        near = (found.similar + HALF) / (found.similar[-1] + HALF)
        far = (found.dissimilar + HALF) / (found.dissimilar[-1] + HALF)
        expected = pi * near / (pi * near + (1 - pi) * far)
        precision, low, high = found.within(share)
        np.testing.assert_allclose(precision, expected)
        assert np.all((low < precision) & (precision < high))
    # At the share that was seen, it is the plain share of pairs, but for half a pair.
    plain = found.similar / (found.similar + found.dissimilar)
    assert np.abs(found.within()[0] - plain).max() < 0.002


def test_shares_at_a_distance_never_rise_with_it():
    codes, labels = drawn(2)
    found = Calibration.from_codes(codes, labels)
    at, low, high = found.at()
    assert np.all(np.diff(at) <= 0)
    assert np.all((low < at) & (at < high))
    # Pooling moves shares between neighbours and loses none.
    here = np.diff(found.similar + found.dissimilar, prepend=0)
    assert np.sum(at * here) == pytest.approx(found.similar[-1], rel=0.02)


def test_tags_and_pairs_say_which_are_similar():
    codes, labels = drawn(3, n=40)
    by_label = Calibration.from_codes(codes, labels)
    tags = np.eye(4, dtype=int)[labels]
    i, j = np.triu_indices(40, 1)
    same = labels[i] == labels[j]
    for similar in (tags, Pairs(i[same], j[same]), Pairs(i, j, same)):
        found = Calibration.from_codes(codes, similar)
        assert found.similar_share == pytest.approx(by_label.similar_share)
        for name, array in found.arrays().items():
            np.testing.assert_array_equal(array, by_label.arrays()[name], err_msg=name)


def test_listed_pairs_alone_count_where_some_are_dissimilar():
    codes = Codes.from_dense([[0, 0], [0, 0], [0, 1], [1, 1]])
    found = Calibration.from_codes(codes, Pairs([0, 0, 2], [1, 2, 3], [True, True, False]))
    assert (found.similar[-1], found.dissimilar[-1]) == (2, 1)


def test_rare_pairs_keep_their_share_where_only_some_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr("kinhash.calibration.similar.MAX_ROWS", 50)
    codes, _ = drawn(4, n=200)
    found = Calibration.from_codes(codes, Pairs([0, 2, 4, 4], [1, 3, 5, 5]))
    assert found.n_rows == 50
    assert found.similar[-1] == 3
    assert found.similar_share == 3 / (200 * 199 / 2)


def test_a_cut_is_the_farthest_with_that_precision():
    codes, labels = drawn(5)
    found = Calibration.from_codes(codes, labels)
    precision, low, high = found.within()
    cut = found.cut(0.7)
    step = np.flatnonzero(precision >= 0.7)[-1]
    assert cut[:2] == (found.distances[step], found.rank_distances[step])
    assert cut[2:5] == (precision[step], low[step], high[step])
    assert cut.recall == found.similar[step] / found.similar[-1]
    assert precision[step + 1] < 0.7
    rarer = found.cut(0.7, similar_share=found.similar_share / 3)
    assert rarer[:2] < cut[:2]


def test_a_radius_holds_whole_distances():
    codes, labels = drawn(6)
    found = Calibration.from_codes(codes, labels)
    whole = {
        int(d): float(p)
        for d, r, p in zip(found.distances, found.rank_distances, found.within()[0], strict=True)
        if r == codes.n_rank_bits
    }
    radius = found.radius_for(precision=0.6)
    assert whole[radius] >= 0.6
    assert all(share < 0.6 for distance, share in whole.items() if distance > radius)


def test_what_codes_do_not_reach_is_refused_with_the_highest():
    codes, labels = drawn(7, noise=0.4)
    found = Calibration.from_codes(codes, labels)
    highest = found.highest()
    assert highest < 0.9
    with pytest.raises(
        InvalidInputError,
        match=rf"`min_precision` 0.95 .* highest is {math.floor(1000 * highest) / 1000:.3f} ",
    ):
        found.cut(0.95)
    assert found.cut(highest).precision == highest
    with pytest.raises(InvalidInputError, match="which may stop within a distance, reaches it"):
        found.radius_for(precision=highest)
    for wrong in (0, 1.5, "high", True, float("nan")):
        with pytest.raises(
            InvalidInputError, match="`min_precision` must be a number greater than"
        ):
            found.cut(wrong)
        with pytest.raises(InvalidInputError, match="`precision` must be a number greater than 0"):
            found.radius_for(precision=wrong)
    for wrong in (0, 1, -0.5, True, "some"):
        with pytest.raises(InvalidInputError, match="`similar_share` must be a number between"):
            found.cut(0.2, similar_share=wrong)


def test_a_highest_precision_has_a_hundredth_of_the_similar_pairs():
    codes, labels = drawn(8)
    found = Calibration.from_codes(codes, labels)
    assert found.similar[0] >= 0.01 * found.similar[-1]


def test_precisions_of_matches_are_those_of_their_steps():
    codes, labels = drawn(9)
    found = Calibration.from_codes(codes, labels)
    at = found.at()[0]
    distances = np.repeat(np.arange(7), 11)
    ranks = np.tile(np.arange(11), 7)
    given_both = found.precisions(distances, ranks)
    ends = list(zip(found.distances.tolist(), found.rank_distances.tolist(), strict=True))
    for d, r, share in zip(distances.tolist(), ranks.tolist(), given_both, strict=True):
        step = next(step for step, end in enumerate(ends) if (d, r) <= end)
        assert share == pytest.approx(at[step])
    by_distance = found.precisions(np.arange(7))
    assert np.all(np.diff(by_distance) <= 0)
    assert given_both[:11].min() <= by_distance[0] <= given_both[:11].max()
    with pytest.raises(InvalidInputError, match=r"`distances` must be integers in \[0, 6\]"):
        found.precisions([7])
    with pytest.raises(InvalidInputError, match=r"`rank_distances` must be integers in \[0, 10\]"):
        found.precisions([1], [11])
    with pytest.raises(InvalidInputError, match="one for each of 2 distances"):
        found.precisions([1, 2], [3])


def test_intervals_cover_the_truth():
    """Of many samples, about 95 % of the intervals hold the precision of a very large one."""
    truth = Calibration.from_codes(*drawn(10, n=3000))
    covered = []
    for seed in range(60):
        found = Calibration.from_codes(*drawn(100 + seed, n=120))
        for precision in (0.9, 0.6):
            cut = truth.cut(precision, similar_share=0.25)
            step = np.searchsorted(found.ends, truth._cells(*np.array(cut[:2])))
            if found.ends[step] != truth._cells(*np.array(cut[:2])):
                continue
            _, low, high = found.within(0.25)
            covered.append(low[step] <= cut.precision <= high[step])
    assert len(covered) > 60
    assert 0.88 < np.mean(covered) <= 1


def test_the_share_of_similar_pairs_is_found_from_distances_alone():
    found = Calibration.from_codes(*drawn(11, n=1500))
    rng = np.random.default_rng(0)
    queries, query_labels = drawn(12, n=600)
    items, item_labels = drawn(13, n=600)
    for weights in ([1, 1, 1, 1], [6, 1, 1, 1]):
        chance = np.array(weights, float)[item_labels]
        rows = rng.choice(600, 500, p=chance / chance.sum())
        share = np.mean(query_labels[:, None] == item_labels[rows])
        seen = found.observe(queries, items[rows])
        assert seen.similar_share == pytest.approx(share, abs=0.03)
    among = found.observe(queries)
    assert among.n_pairs == 600 * 599 // 2
    assert among.drift < 0.03


def test_a_drift_is_told_with_what_was_expected_and_seen():
    codes, labels = drawn(14)
    found = Calibration.from_codes(codes, labels)
    found.observe(drawn(15)[0]).warn_of_drift("The collection")  # no warning
    one_code = Codes.from_dense(np.zeros((50, 6)), rank=np.tile([0, 1], (50, 5)))
    half = Codes.from_dense(
        np.concatenate([np.zeros((200, 6)), np.ones((200, 6))]), rank=np.zeros((400, 10))
    )
    seen = found.observe(half)
    assert seen.drift == pytest.approx(abs(seen.seen - seen.expected))
    with pytest.warns(DriftWarning, match=r"The collection has other distances .*% were exp"):
        seen.warn_of_drift("The collection")
    assert found.observe(one_code).similar_share > 0.99


def test_codes_of_other_lengths_are_refused():
    found = Calibration.from_codes(*drawn(16))
    with pytest.raises(InvalidInputError, match="is of 16 bits, 10 of them rank bits, but the cod"):
        found.observe(Codes.from_dense(np.zeros((3, 4)), signed=True))
    with pytest.raises(InvalidInputError, match="too few"):
        found.observe(drawn(1, n=1)[0])


@pytest.mark.parametrize(
    ("similar", "message"),
    [
        (["a", "a", "a"], "at least one pair dissimilar"),
        (["a", "b", "c"], "at least one pair similar"),
        (["a", "b"], "one label, or one row of tags, for each of 3 codes"),
        (["a", None, "a"], "must have a label in each row"),
        ([[0, 2], [0, 1], [1, 0]], "must hold only 0 and 1"),
        (Pairs([0], [7]), "name row 7"),
    ],
)
def test_labels_that_say_nothing_are_refused(similar, message):
    with pytest.raises(InvalidInputError, match=message):
        Calibration.from_codes(Codes.from_dense(np.eye(3)), similar)


def test_a_calibration_comes_back_from_what_a_file_has():
    codes, labels = drawn(17)
    found = Calibration.from_codes(codes, labels)
    again = Calibration.restored(
        found.header(), found.arrays(), n_bits=16, n_rank_bits=10, signed=False
    )
    assert again.rows() == found.rows()
    assert repr(again) == repr(found)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("distances", lambda a: a[::-1].copy()),
        ("distances", lambda a: a.astype(np.int32)),
        ("rank_distances", lambda a: a + 100),
        ("similar", lambda a: a[::-1].copy()),
        ("dissimilar", lambda a: 0 * a),
        ("error", lambda a: a * np.nan),
        ("ratio", lambda a: a[::-1].copy()),
        ("ratio_error", lambda a: a[1:]),
    ],
)
def test_arrays_that_nobody_counted_are_refused(name, change):
    found = Calibration.from_codes(*drawn(18))
    arrays = copy.deepcopy(found.arrays())
    arrays[name] = change(arrays[name])
    with pytest.raises(FormatError, match="the calibration is not sound"):
        Calibration.restored(found.header(), arrays, n_bits=16, n_rank_bits=10, signed=False)


def test_rows_tell_every_step():
    found = Calibration.from_codes(*drawn(19))
    rows = found.rows()
    assert len(rows) == found.n_steps
    assert list(rows[0]) == [
        "distance",
        "rank_distance",
        "precision",
        "low",
        "high",
        "recall",
        "precision_here",
        "low_here",
        "high_here",
    ]
    assert rows[-1]["recall"] == 1
