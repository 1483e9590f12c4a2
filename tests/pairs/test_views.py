import dataclasses

import numpy as np

from kinhash import Pairs
from kinhash.pairs import LabelSource, PairSource, Views


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


def test_listed_pairs_of_views_are_dealt_in_ascending_batches(rng):
    """Two modalities of three rows: views 0 to 2 and 3 to 5."""
    pairs = Pairs([5, 4, 3], [0, 1, 2])
    views = Views(PairSource.from_pairs(pairs, 6), np.array([0, 3, 6]))
    dealt = list(views.batches(rng, 4))
    assert views.n_units == 3
    assert len(dealt) == views.n_batches(4) == 2
    assert all(np.array_equal(batch, np.sort(batch)) for batch in dealt)
    assert sorted(np.concatenate(dealt).tolist()) == [0, 1, 2, 3, 4, 5]
