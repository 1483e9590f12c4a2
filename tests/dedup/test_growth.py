import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import deduplicate
from kinhash.dedup.growth import add_new, held_by
from kinhash.dedup.table import Wanted
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.methods import LSH


def random_codes(n, seed=0, n_bits=20):
    return Codes.from_dense(np.random.default_rng(seed).integers(0, 2, (n, n_bits)))


def distances(codes, others):
    one, other = codes.to_dense().astype(int), others.to_dense().astype(int)
    return (one[:, None] != other[None]).sum(axis=2)


def wanted(radius):
    return Wanted(radius, 1.0, 0, 1)


@pytest.mark.parametrize("strip", [7, 4096])
def test_each_row_is_in_the_group_of_the_nearest_item(strip, monkeypatch):
    monkeypatch.setattr("kinhash.dedup.growth.STRIP", strip)
    stored, new = random_codes(60), random_codes(50, seed=1)
    ids = np.random.default_rng(2).permutation(1000)[:60]
    found = held_by(HammingIndex(stored, ids), new, None, wanted(4))
    apart = distances(new, stored)
    for row in range(50):
        near = apart[row].min()
        assert found.kept[row] == (near > 4)
        if near <= 4:
            [place] = np.flatnonzero(found.groups.id == row)
            nearest = ids[apart[row] == near].min()
            assert found.groups.representative[place] == nearest
            assert found.groups.distance[place] == near
    assert 0 < found.n_dropped < 50
    assert not found.groups.keep.any()
    assert (np.diff(found.groups.group) >= 0).all()
    _, first = np.unique(found.groups.group, return_index=True)
    assert len(set(found.groups.representative[first].tolist())) == len(found.groups)


def test_the_same_is_found_against_the_codes():
    stored, new = random_codes(60), random_codes(50, seed=1)
    index = HammingIndex(stored, [f"old {i}" for i in range(60)])
    found = deduplicate(new, against=index, radius=4)
    other = deduplicate(new, against=stored, radius=4)
    np.testing.assert_array_equal(found.kept, other.kept)
    assert found.groups.representative.tolist() != []
    expected = dict(zip(other.groups.id, other.groups.representative, strict=True))
    for item, nearest in zip(found.groups.id, found.groups.representative, strict=True):
        assert nearest == f"old {expected[item]}"


def test_vectors_are_encoded_by_the_model():
    X = np.random.default_rng(0).normal(size=(80, 6))
    model = LSH(32, seed=1).fit(X)
    index = HammingIndex(model.encode(X[:40]))
    found = deduplicate(X, against=index, model=model, radius=0)
    assert not found.kept[:40].any()
    assert found.kept[40:].sum() > 30
    with pytest.raises(InvalidInputError, match="`radius` must be an integer in"):
        deduplicate(X, against=index, model=model, radius=33)
    with pytest.raises(InvalidInputError, match="`similarity` needs vectors, but the index"):
        deduplicate(X, against=index, similarity=0.9)
    with pytest.raises(InvalidInputError, match="is an index, which has its own"):
        deduplicate(X, against=index, against_ids=[1], radius=0)
    with pytest.raises(InvalidInputError, match="`radius` needs codes, or the `model`"):
        deduplicate(X, against=index, radius=0)


def test_an_index_grows_by_what_it_does_not_have():
    stored, new = random_codes(30), random_codes(200, seed=1)
    index = HammingIndex(stored, [f"old {i}" for i in range(30)])
    ids = np.array([f"new {i}" for i in range(200)], object)
    found = add_new(index, new, ids, wanted(4))
    assert len(index) == 30 + found.kept.sum()
    assert set(ids[found.kept]) == set(index.ids) - {f"old {i}" for i in range(30)}
    codes = index.codes(index.ids)
    apart = distances(codes, codes)[30:]
    assert (apart <= 4).sum() == len(apart)  # each new one is near itself only
    # Whoever is not added is near its representative, which is there.
    dropped = ~found.groups.keep
    assert set(found.groups.id[dropped]) == set(ids[~found.kept])
    known = dict(zip(index.ids, range(len(index)), strict=True))
    for item, nearest in zip(
        found.groups.id[dropped], found.groups.representative[dropped], strict=True
    ):
        row = int(item.split()[1])
        assert distances(new[[row]], codes[[known[nearest]]]) <= 4
    again = add_new(index, new, ids, wanted(4))
    assert not again.kept.any()


def test_an_id_that_the_index_has_changes_nothing():
    index = HammingIndex(Codes.from_dense(np.eye(4)), [1, 2, 3, 4])
    new = Codes.from_dense([[1, 1, 1, 1], [0, 0, 1, 1]])
    with pytest.raises(InvalidInputError, match="`ids` hold 3, which another item of the index"):
        add_new(index, new, np.array([3, 9]), wanted(0))
    with pytest.raises(InvalidInputError, match="must be integers"):
        add_new(index, new, np.array(["a", "b"], object), wanted(0))
    assert len(index) == 4
