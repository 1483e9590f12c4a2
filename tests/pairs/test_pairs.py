import dataclasses

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from kinhash import Pairs
from kinhash.errors import InvalidInputError
from kinhash.pairs import LabelSource, MetricSource, PairSource, TagSource, Views


def test_pairs_are_immutable_and_keep_their_own_copy():
    i = np.array([0, 1])
    pairs = Pairs(i, [2, 3], [True, False])
    i[0] = 9
    assert pairs.i.tolist() == [0, 1]
    with pytest.raises(AttributeError, match="immutable"):
        pairs.i = i
    with pytest.raises(ValueError, match="read-only"):
        pairs.similar[0] = False


def test_one_flag_serves_all_pairs():
    assert Pairs([0, 1], [1, 2]).similar.tolist() == [True, True]
    assert Pairs([0, 1], [1, 2], similar=False).similar.tolist() == [False, False]


@pytest.mark.parametrize(
    ("i", "j", "similar", "message"),
    [
        ([0, 1], [1], True, "got 2, 1 and 2"),
        ([0], [0], True, "joins row 0 with itself"),
        ([-1], [0], True, "row numbers from 0, got -1"),
        ([0.5], [1], True, "row numbers, got float64"),
        ([], [], True, "at least one pair"),
        ([0], [1], [2], "only True and False"),
    ],
)
def test_unusable_pairs_are_refused_with_both_sides(i, j, similar, message):
    with pytest.raises(InvalidInputError, match=message):
        Pairs(i, j, similar)


def test_pairs_beyond_the_rows_are_refused():
    with pytest.raises(InvalidInputError, match="row 7, but `X` has 5 rows"):
        Pairs([0], [7]).check_rows(5)


@given(
    n=st.integers(2, 300),
    n_classes=st.integers(1, 60),
    batch_size=st.integers(4, 50),
    seed=st.integers(0, 99),
)
def test_an_epoch_deals_each_row_at_most_once_and_nearly_all(n, n_classes, batch_size, seed):
    rng = np.random.default_rng(seed)
    source = LabelSource.from_labels(rng.integers(n_classes, size=n))
    batches = list(source.batches(rng, batch_size))
    rows = np.concatenate(batches)
    assert all(2 <= len(batch) <= batch_size for batch in batches) or n == 2
    assert len(np.unique(rows)) == len(rows)
    assert len(rows) >= n - 1  # a last batch of one row makes no pair


def test_many_classes_still_give_similar_pairs_in_every_batch(rng):
    """100 classes at batch size 100 would leave about one similar partner per row."""
    source = LabelSource.from_labels(rng.integers(100, size=5000))
    for rows in source.batches(rng, 100):
        similar, known = source.relate(rows)
        assert (similar & known).sum() / len(rows) > 5


def test_labels_relate_as_a_double_loop_says(rng):
    labels = rng.choice(["cat", "dog", "owl"], 20)
    source = LabelSource.from_labels(labels)
    rows = rng.permutation(20)[:9]
    similar, known = source.relate(rows)
    for a, i in enumerate(rows):
        for b, j in enumerate(rows):
            assert similar[a, b] == (labels[i] == labels[j])
            assert known[a, b] == (i != j)


@pytest.mark.parametrize("sparse", [False, True])
def test_tags_relate_rows_that_share_one(rng, sparse):
    tags = (rng.random((40, 6)) < 0.2).astype(int)
    source = TagSource.from_tags(scipy.sparse.csr_matrix(tags) if sparse else tags)
    rows = np.sort(rng.permutation(40)[:15])
    similar, _ = source.relate(rows)
    expected = (tags[rows] @ tags[rows].T) > 0
    assert np.array_equal(similar, expected)


def test_rare_tags_bring_partners_but_never_held_out_rows(rng):
    tags = np.eye(100, dtype=int).repeat(5, axis=0)
    learned, held_out = TagSource.from_tags(tags).split(rng, 0.2)
    outside = set(held_out.units.tolist())
    n_similar = 0
    for rows in learned.batches(rng, 50):
        assert not outside & set(rows.tolist())
        similar, known = learned.relate(rows)
        n_similar += (similar & known).sum()
    assert n_similar > 200


def test_split_parts_are_disjoint_and_complete(rng):
    source = LabelSource.from_labels(rng.integers(3, size=50))
    learned, held_out = source.split(rng, 0.2)
    assert held_out.n_units == 10
    assert np.array_equal(np.sort(np.r_[learned.units, held_out.units]), np.arange(50))


def test_listed_pairs_alone_are_known(rng):
    source = PairSource.from_pairs(Pairs([0, 3, 5], [1, 0, 4], [True, False, True]), 6)
    similar, known = source.relate(np.array([0, 1, 3, 4, 5]))
    listed = {(0, 1): True, (0, 3): False, (4, 5): True}
    for a, i in enumerate([0, 1, 3, 4, 5]):
        for b, j in enumerate([0, 1, 3, 4, 5]):
            pair = (min(i, j), max(i, j))
            assert known[a, b] == (pair in listed)
            assert similar[a, b] == listed.get(pair, False)
    dealt = np.concatenate(list(source.batches(rng, 4)))
    assert set(dealt) == {0, 1, 3, 4, 5}


def test_similar_pairs_alone_make_every_other_pair_dissimilar():
    source = PairSource.from_pairs(Pairs([0], [1]), 4)
    similar, known = source.relate(np.arange(4))
    assert similar.sum() == 2
    assert known.sum() == 12


def test_a_threshold_relates_rows_by_distance(rng):
    X = rng.normal(size=(30, 3))
    near = PairSource.from_pairs(Pairs([0], [1]), 30)
    rows = np.arange(30)
    similar, _ = MetricSource(X, 1.5, near).relate(rows)
    expected = np.linalg.norm(X[:, None] - X[None], axis=2) <= 1.5
    assert np.array_equal(similar, expected)


def test_paired_items_are_dealt_with_all_their_views(rng):
    present = np.ones(20, bool)
    present[[3, 15]] = False  # item 3 lacks the first modality, item 5 the second
    items = LabelSource.from_labels(np.arange(10) % 3)
    views = Views(
        LabelSource.from_labels(np.tile(np.arange(10) % 3, 2)),
        np.array([0, 10, 20]),
        items=items,
        present=present,
    )
    dealt = list(views.batches(rng, 8))
    assert len(dealt) == views.n_batches(8) == 3
    assert views.n_units == 10
    for batch in dealt:
        assert np.array_equal(batch, np.sort(batch))
        assert present[batch].all()
        for view in batch:
            other = (view + 10) % 20
            assert other in batch or not present[other]
    assert sorted(np.concatenate(dealt).tolist()) == np.flatnonzero(present).tolist()
    kept, held = views.split(rng, 0.3)
    assert (kept.n_units, held.n_units) == (7, 3)
    similar, known = views.relate(np.array([0, 3, 10, 11]))
    assert similar[0].tolist() == [True, True, True, False]
    assert known[0].tolist() == [False, True, True, True]
    across = dataclasses.replace(views, across_only=True)
    assert across.relate(np.array([0, 3, 10, 11])).known[0].tolist() == [False, False, True, True]
