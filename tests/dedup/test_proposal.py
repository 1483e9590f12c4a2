import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import deduplicate, propose
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH


def with_copies(seed=0):
    """300 random rows, and copies of the first 100 at cosines of 0.9 to 0.99."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 60))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    noise = rng.normal(size=(100, 60))
    noise -= (noise * X[:100]).sum(axis=1, keepdims=True) * X[:100]
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    cosine = rng.uniform(0.9, 0.99, (100, 1))
    return np.concatenate([X, cosine * X[:100] + np.sqrt(1 - cosine**2) * noise])


def test_each_limit_does_what_it_would_do():
    X = with_copies()
    proposal = propose(X)
    assert (proposal.kind, proposal.n_items) == ("similarity", 400)
    for outcome in proposal.outcomes[::4]:
        found = deduplicate(X, similarity=outcome.limit)
        assert outcome.n_groups == len(found.groups)
        assert outcome.n_dropped == found.n_dropped
        counts = np.bincount(found.groups.group)
        assert outcome.largest == counts.max(initial=0)
        assert sum(outcome.sizes) == len(found.groups)
        assert outcome.sizes[0] == (counts == 2).sum()


def test_the_limit_parts_copies_from_the_rest():
    X = with_copies()
    proposal = propose(X)
    assert 0.6 < proposal.proposed < 0.9
    assert "copies seem to end there" in proposal.reason
    found = deduplicate(X, similarity=proposal.proposed)
    pairs = set(zip(found.pairs.others.tolist(), found.pairs.rows.tolist(), strict=True))
    assert pairs == {(i, i + 300) for i in range(100)}


def test_samples_are_pairs_on_both_sides_of_limits():
    X = with_copies()
    ids = [f"item {i}" for i in range(400)]
    proposal = propose(X, ids=ids, seed=1)
    limits = [outcome.limit for outcome in proposal.outcomes]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for sample in proposal.samples:
        assert sample.limit in limits
        assert sample.nearness == pytest.approx(unit[sample.row] @ unit[sample.other], abs=1e-5)
        assert sample.linked == (sample.nearness >= sample.limit - 1e-6)
        assert (sample.id, sample.other_id) == (ids[sample.row], ids[sample.other])
    assert len({sample.limit for sample in proposal.samples}) == 3
    assert {sample.linked for sample in proposal.samples} == {True, False}
    assert len({(s.row, s.other) for s in proposal.samples}) == len(proposal.samples)
    nearest = np.sort(unit[:100] @ unit.T, axis=1)[:, -2].min()  # copies end here
    assert min(s.nearness for s in proposal.samples if s.linked) >= nearest - 0.05
    again = propose(X, ids=ids, seed=1)
    assert [s.row for s in again.samples] == [s.row for s in proposal.samples]


def test_where_nothing_is_proposed_pairs_show_what_the_first_limit_finds():
    X = np.random.default_rng(0).normal(size=(400, 12))
    proposal = propose(X)
    assert proposal.proposed is None
    assert "there seem to be no copies" in proposal.reason
    first = next(one.limit for one in proposal.outcomes if one.n_dropped)
    assert any(one.linked and one.limit == first for one in proposal.samples)


def test_codes_have_radii():
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 2, (200, 128))
    copies = dense[:50].copy()
    copies[np.arange(50), rng.integers(0, 128, 50)] ^= 1
    proposal = propose(Codes.from_dense(np.concatenate([dense, copies])))
    assert proposal.kind == "radius"
    assert proposal.recall.is_exact
    assert 1 <= proposal.proposed < 38
    outcome = next(one for one in proposal.outcomes if one.limit == proposal.proposed)
    assert (outcome.n_groups, outcome.n_dropped) == (50, 50)
    by_model = propose(with_copies(), model=LSH(64).fit(with_copies()), by_radius=True)
    assert by_model.kind == "radius"


def test_what_another_table_has():
    X = with_copies()
    new = np.concatenate([X[300:], X[300:310], -X[:20]])
    proposal = propose(new, against=X[:300], ids=np.arange(130) + 1000)
    for outcome in proposal.outcomes[::6]:
        found = deduplicate(new, against=X[:300], similarity=outcome.limit)
        assert outcome.n_dropped == found.n_dropped
        assert outcome.n_groups == len(found.groups)
    assert all(sample.id >= 1000 and sample.other < 300 for sample in proposal.samples)


def test_texts_without_words_keep_their_places():
    texts = ["", "a red shirt of cotton", "blue hat with a ribbon", "--", "a red shirt of coton"]
    proposal = propose(texts * 1)
    assert proposal.n_items == 5
    pairs = {(sample.row, sample.other) for sample in proposal.samples}
    assert pairs <= {(4, 1), (2, 1), (4, 2)}


def test_arguments_are_those_of_deduplicate():
    with pytest.raises(InvalidInputError, match="linkage"):
        propose(np.eye(3), linkage="chain")
    with pytest.raises(InvalidInputError, match="of one kind, got vectors and texts"):
        propose(np.eye(3), against=["a"])
