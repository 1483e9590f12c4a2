import re

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import deduplicate, vector_table
from kinhash.errors import InvalidInputError, LargeGroupWarning
from kinhash.methods import LSH


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def with_copies(n, seed=0, n_features=300, n_clusters=20):
    """Return clustered vectors, a fifth of which are copies at cosines of 0.88 to 1."""
    rng = np.random.default_rng(seed)
    centres = unit(rng.normal(size=(n_clusters, n_features)))
    own = rng.normal(size=(n - n // 5, n_features)) / np.sqrt(n_features)
    own = unit(centres[rng.integers(0, n_clusters, len(own))] + own)
    source = own[rng.integers(0, len(own), n // 5)]
    noise = rng.normal(size=source.shape)
    noise = unit(noise - (noise * source).sum(axis=1, keepdims=True) * source)
    cosine = rng.uniform(0.88, 1, (len(source), 1))
    copies = cosine * source + np.sqrt(1 - cosine**2) * noise
    return rng.permutation(np.concatenate([own, copies])).astype(np.float32)


def true_pairs(X, Y, limit):
    left, right = np.nonzero(unit(X) @ unit(Y).T >= limit)
    return set(zip(left.tolist(), right.tolist(), strict=True))


def as_set(pairs):
    return set(zip(pairs.rows.tolist(), pairs.others.tolist(), strict=True))


@pytest.fixture
def by_codes(monkeypatch):
    """Small tables are compared whole unless this is asked for."""
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", 0)


def test_a_small_table_gives_all_pairs_and_says_so():
    X = with_copies(600)
    found = deduplicate(X, similarity=0.9)
    assert as_set(found.pairs) == {(i, j) for i, j in true_pairs(X, X, 0.9) if i > j}
    assert str(found.recall) == "recall 100 %: all pairs were compared"
    assert found.n_items == 600
    assert repr(found).startswith("Duplicates(600 items, ")


def test_codes_find_nearly_all_pairs_and_only_true_ones(by_codes):
    X = with_copies(4000)
    found = deduplicate(X, similarity=0.9)
    expected = {(i, j) for i, j in true_pairs(X, X, 0.9) if i > j}
    assert as_set(found.pairs) <= expected
    share = len(found.pairs) / len(expected)
    assert share >= 0.97
    assert found.recall.low <= share <= found.recall.high
    assert found.recall.n_rows == 64  # the square root of 4,000
    cosines = (unit(X)[found.pairs.rows] * unit(X)[found.pairs.others]).sum(axis=1)
    np.testing.assert_allclose(found.pairs.similarity, cosines, atol=1e-6)


def test_every_member_is_similar_to_its_representative():
    X = with_copies(600, n_clusters=3)
    groups = deduplicate(X, similarity=0.9).groups
    cosines = (unit(X)[groups.id] * unit(X)[groups.representative]).sum(axis=1)
    assert cosines.min() >= 0.9
    np.testing.assert_allclose(groups.similarity, cosines, atol=1e-6)
    assert (groups.similarity[groups.keep] == 1).all()
    assert (groups.distance[groups.keep] == 0).all()
    assert groups.distance.dtype == np.int32
    assert 0 < groups.distance[~groups.keep].mean() < 60  # of 256 bits


def test_without_what_is_not_kept_no_duplicates_are_left():
    X = with_copies(600)
    found = deduplicate(X, similarity=0.9)
    assert len(deduplicate(X[found.kept], similarity=0.9).groups) == 0
    assert (~found.kept).sum() == (~found.groups.keep).sum() > 50


def test_connected_groups_are_chains():
    angles = np.arange(8) * np.arccos(0.95)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = deduplicate(X, similarity=0.94, linkage="connected")
    assert [sorted(group.tolist()) for group in found.groups] == [list(range(8))]
    assert found.groups.similarity.min() < 0.5
    # Items 1 to 6 have two neighbours each: 1 takes 0 and 2, 3 takes 4, 5 takes 6.
    stars = deduplicate(X, similarity=0.94).groups
    assert [group.tolist() for group in stars] == [[1, 0, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("exact_pairs", [0, 2**26])
def test_identical_rows_count_as_one_and_are_all_found(exact_pairs, monkeypatch):
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", exact_pairs)
    X = with_copies(1500, n_clusters=1500)
    X = np.concatenate([X, np.repeat(X[100:101], 700, axis=0)])
    with pytest.warns(LargeGroupWarning, match=r"One group holds 70\d of 2,200 items"):
        found = deduplicate(X, similarity=0.9)
    group = found.groups[found.groups.group[found.groups.id == 100][0]]
    assert set(range(1500, 2200)) <= set(group.tolist())
    assert group[0] == 100  # 700 neighbours
    same = found.groups.id >= 1500
    assert (found.groups.similarity[same] == 1).all()
    assert max(found.pairs.rows.max(), found.pairs.others.max()) < 1500


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8])
def test_vectors_of_other_types_give_the_same(dtype):
    X = np.round(with_copies(400) * 400)
    assert abs(X).max() < 128
    expected = deduplicate(X.astype(np.float32), similarity=0.9)
    found = deduplicate(X.astype(dtype), similarity=0.9)
    assert as_set(found.pairs) == as_set(expected.pairs)
    np.testing.assert_array_equal(found.groups.id, expected.groups.id)


def test_lengths_do_not_matter():
    X = with_copies(400)
    scales = 10.0 ** np.random.default_rng(0).integers(-20, 18, (400, 1))
    expected = deduplicate(X, similarity=0.9)
    found = deduplicate(X * scales, similarity=0.9)
    np.testing.assert_array_equal(found.groups.id, expected.groups.id)
    np.testing.assert_array_equal(found.groups.distance, expected.groups.distance)


def test_a_limit_of_one_finds_multiples():
    X = np.random.default_rng(0).normal(size=(300, 20))
    X[50:100] = X[:50] * np.linspace(0.1, 9, 50)[:, None]
    assert len(deduplicate(X, similarity=1).groups) == 50


def test_zeros_are_like_nothing_but_zeros(by_codes):
    X = with_copies(700)
    X[[3, 5, 9]] = 0
    found = deduplicate(X, similarity=0.88)
    assert found.groups[found.groups.group[found.groups.id == 3][0]].tolist() == [3, 5, 9]
    assert not np.isin([3, 5, 9], found.pairs.rows).any()


@pytest.mark.filterwarnings("ignore::kinhash.errors.LargeGroupWarning")
@pytest.mark.parametrize("n_features", [2, 40])
def test_few_features_are_enough(n_features, by_codes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, n_features)).astype(np.float32)
    found = deduplicate(X, similarity=0.99)
    expected = {(i, j) for i, j in true_pairs(X, X, 0.99) if i > j}
    assert as_set(found.pairs) <= expected
    assert len(found.pairs) >= 0.95 * len(expected)


# Ids


def test_ids_are_the_users():
    X = with_copies(300)
    rows = deduplicate(X, similarity=0.9)
    ids = np.random.default_rng(0).permutation(300) * 7 - 1000
    found = deduplicate(X, similarity=0.9, ids=ids)
    np.testing.assert_array_equal(found.kept.sum(), rows.kept.sum())
    assert (np.diff([group.min() for group in found.groups]) > 0).all()
    names = [f"sku-{i}" for i in range(300)]
    named = deduplicate(X, similarity=0.9, ids=names)
    assert named.groups.id.tolist() == [names[i] for i in rows.groups.id]
    assert named.groups.representative.tolist() == [names[i] for i in rows.groups.representative]


def test_of_items_that_are_as_good_the_lowest_id_is_kept():
    X = np.eye(4)[[0, 1, 0, 1]]
    found = deduplicate(X, similarity=0.9, ids=[9, 5, 4, 6])
    assert found.groups.id.tolist() == [4, 9, 5, 6]
    assert found.kept.tolist() == [False, True, True, False]
    found = deduplicate(X, similarity=0.9, ids=["d", "c", "b", "a"])  # in the order given
    assert found.groups.id.tolist() == ["d", "b", "c", "a"]


# Against another table


@pytest.mark.parametrize("exact_pairs", [0, 2**26])
def test_rows_that_another_table_has_are_found(exact_pairs, monkeypatch):
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", exact_pairs)
    X = with_copies(3000)
    new, old = X[:1000], X[1000:]
    new[10:14] = old[7]
    found = deduplicate(new, against=old, similarity=0.9)
    expected = true_pairs(new, old, 0.9)
    assert as_set(found.pairs) <= expected
    cosines = unit(new) @ unit(old).T
    if exact_pairs:
        assert set(found.groups.id.tolist()) == {i for i, _ in expected}
    assert len(found.groups.id) >= 0.95 * len({i for i, _ in expected})
    np.testing.assert_array_equal(found.groups.representative, cosines[found.groups.id].argmax(1))
    assert not found.groups.keep.any()
    assert not found.kept[found.groups.id].any()
    assert found.kept.sum() == 1000 - len(found.groups.id)
    copies = np.isin(found.groups.id, [10, 11, 12, 13])
    assert found.groups.representative[copies].tolist() == [7] * 4
    assert len(set(found.groups.group[copies].tolist())) == 1


def test_the_nearest_of_another_table_is_the_lowest_of_equals():
    found = deduplicate(
        np.eye(3), against=np.eye(3)[[2, 0, 2, 0]], similarity=0.9, against_ids=[5, 9, 3, 1],
        ids=["a", "b", "c"],
    )  # fmt: skip
    assert found.groups.id.tolist() == ["a", "c"]
    assert found.groups.representative.tolist() == [1, 3]
    assert found.groups.group.tolist() == [0, 1]
    assert found.kept.tolist() == [False, True, False]


# Codes


def test_codes_are_compared_exactly():
    rng = np.random.default_rng(0)
    dense = rng.random((400, 70)) < 0.5
    dense[300:] = dense[:100] ^ (rng.random((100, 70)) < 0.05)
    dense[350:355] = dense[7]
    codes = Codes.from_dense(dense)
    found = deduplicate(codes, radius=6)
    apart = (dense[:, None] != dense[None]).sum(axis=2)
    groups = found.groups
    assert (apart[groups.id, groups.representative] == groups.distance).all()
    assert groups.distance.max() <= 6
    np.testing.assert_array_equal(np.sort(groups.id), np.flatnonzero((apart <= 6).sum(1) > 1))
    assert groups.similarity is None
    assert found.pairs.similarity is None
    assert found.recall.is_exact
    across = deduplicate(codes[300:], against=codes[:300], radius=6)
    best = apart[300:, :300].argmin(axis=1)
    assert across.groups.representative.tolist() == best[across.groups.id].tolist()
    assert len(across.groups.id) == (apart[300:, :300].min(axis=1) <= 6).sum()


def test_a_model_makes_the_codes():
    X = with_copies(500)
    model = LSH(64).fit(X)
    by_model, of_codes = (
        deduplicate(X, model=model, radius=5),
        deduplicate(model.encode(X), radius=5),
    )
    assert by_model.groups.id.tolist() == of_codes.groups.id.tolist()
    assert repr(by_model).endswith("radius=5)")


def test_a_model_makes_the_codes_of_candidates(by_codes):
    X = with_copies(2000)
    found = deduplicate(X, similarity=0.9, model=LSH(96, seed=3).fit(X))
    expected = {(i, j) for i, j in true_pairs(X, X, 0.9) if i > j}
    assert as_set(found.pairs) <= expected
    assert len(found.pairs) >= 0.97 * len(expected)
    assert found.groups.distance.max() <= 96


def test_tables_of_one_vector_have_one_group():
    assert len(deduplicate([[1, 2, 3]], similarity=0.9).groups) == 0
    found = deduplicate(np.ones((9, 300)), similarity=0.9)
    assert [group.tolist() for group in found.groups] == [list(range(9))]
    assert len(found.pairs) == 0


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Give either `similarity`, the least cosine of duplicates, or `radius`"),
        ({"similarity": 0.9, "radius": 2}, "Give either `similarity`"),
        ({"similarity": 0}, "`similarity` must be a number greater than 0 and at most 1, got 0."),
        ({"similarity": 1.2}, "`similarity` must be a number greater than 0 and at most 1, got 1."),
        ({"similarity": float("nan")}, "`similarity` must be a number greater than 0"),
        ({"radius": -1}, "`radius` must be an integer of at least 0, got -1."),
        ({"radius": 2}, "`radius` needs codes, or the `model` that makes them."),
        ({"similarity": 0.9, "recall": 0}, "`recall` must be a number greater than 0"),
        ({"similarity": 0.9, "seed": -1}, "`seed` must be an integer of at least 0, got -1."),
        ({"similarity": 0.9, "linkage": "ster"}, "Unknown linkage 'ster'. Did you mean 'star'?"),
        ({"similarity": 0.9, "n_threads": 0}, "`n_threads` must be an integer of at least 1"),
        ({"similarity": 0.9, "ids": [1, 2, 2]}, "`ids` hold 2 twice, in rows 1 and 2."),
        ({"similarity": 0.9, "ids": [1, 2]}, "`ids` must be one for each of 3 rows, got 2."),
        ({"similarity": 0.9, "against_ids": [1]}, "`against_ids` are the ids of `against`"),
        (
            {"similarity": 0.9, "against": np.eye(2, 4)},
            "`data` has 3 columns, but `against` has 4.",
        ),
        (
            {"similarity": 0.9, "against": Codes.from_dense([[1]])},
            "`data` and `against` must be of one kind, got ",
        ),
        ({"similarity": 0.9, "against": np.zeros((0, 3))}, "`against` must have at least one row"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        deduplicate(np.eye(3), **arguments)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((0, 3)), "`data` must have at least one row, but has none."),
        (
            np.zeros(3),
            "must be vectors of numbers, of shape (n, n_features), codes, texts or paths, got",
        ),
        ([[1, 2], [3]], "`data` must be vectors of one length, got 2 in row 0 and 1 in row 1."),
        ([["a"]], "`data` must be vectors of numbers"),
        (np.diag([1, np.nan, 3]), "contains NaN in row 1, column 1"),
        (np.diag([1, np.inf, 3]), "contains infinity in row 1, column 1"),
        (np.diag([1, 1e300, 3]), "row 1, column 1"),
    ],
)
def test_data_that_cannot_be_compared_are_refused(data, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        deduplicate(data, similarity=0.9)


def test_codes_have_no_similarity():
    codes = Codes.from_dense([[1, 0], [1, 1]])
    with pytest.raises(
        InvalidInputError, match=r"`similarity` needs vectors or texts\. Give `radius`"
    ):
        deduplicate(codes, similarity=0.9)
    with pytest.raises(InvalidInputError, match="`model` encodes vectors, but `data` are codes"):
        deduplicate(codes, radius=1, model=LSH(2))
    with pytest.raises(InvalidInputError, match="2 bits"):
        deduplicate(codes, radius=1, against=Codes.from_dense([[1, 0, 1]]))


def test_a_row_deep_in_a_table_is_named():
    X = with_copies(9000, n_features=10)
    X[8900, 3] = np.nan
    with pytest.raises(InvalidInputError, match="NaN in row 8900, column 3"):
        deduplicate(X, similarity=0.9)


def test_texts_are_compared_by_their_words_and_letters():
    texts = ["A red shirt of cotton", "", "blue hat", "a red shirt, of COTTON", "--", "red shirts"]
    found = deduplicate(texts, similarity=0.9)
    assert found.groups.id.tolist() == [0, 3]
    assert found.kept.tolist() == [True, True, True, False, True, True]
    assert found.n_items == 6
    near = deduplicate([*texts, "A red shirt of coton"], similarity=0.8)
    assert (near.pairs.rows.tolist(), near.pairs.others.tolist()) == ([6], [0])
    across = deduplicate(["new hat", "hat, blue"], against=texts, similarity=0.5, ids=["x", "y"])
    assert across.groups.id.tolist() == ["y"]
    assert across.groups.representative.tolist() == [2]


def test_pictures_are_compared_by_their_hashes(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(1)
    for name in "abc":
        small = Image.fromarray(rng.integers(0, 256, (6, 6, 3), np.uint8))
        small.resize((96, 96), Image.Resampling.BICUBIC).save(tmp_path / f"{name}.png")
    Image.open(tmp_path / "b.png").resize((60, 60)).save(tmp_path / "d.png")
    paths = sorted(tmp_path.iterdir())
    found = deduplicate(paths, ids=[path.name for path in paths], radius=20)
    assert [group.tolist() for group in found.groups] == [["b.png", "d.png"]]
    with pytest.raises(InvalidInputError, match="Give `radius` for pictures"):
        deduplicate(paths, similarity=0.9)


def test_a_table_brings_its_ids():
    pandas = pytest.importorskip("pandas")
    X = with_copies(100, n_features=8)
    frame = pandas.DataFrame(X, columns=[f"e{i}" for i in range(8)])
    frame["sku"] = [f"item {i}" for i in range(100)]
    found, expected = deduplicate(frame, ids="sku", similarity=0.9), deduplicate(X, similarity=0.9)
    assert found.groups.id.tolist() == [f"item {i}" for i in expected.groups.id]
    table = found.to_arrow()
    assert table.column_names == [
        "id",
        "group",
        "representative",
        "keep",
        "distance",
        "similarity",
    ]
    assert found.to_pandas()["id"].tolist() == found.groups.id.tolist()
    assert found.n_dropped == (~found.kept).sum()


def test_the_model_does_not_encode_texts():
    with pytest.raises(InvalidInputError, match="`model` encodes vectors, but `data` are texts"):
        deduplicate(["a"], similarity=0.9, model=LSH(8))
    with pytest.raises(InvalidInputError, match="Give `similarity` for texts"):
        deduplicate(["a"], radius=3)
