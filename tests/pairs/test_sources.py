import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from kinhash import Pairs
from kinhash.pairs import LabelSource, MetricSource, PairSource, TagSource


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
