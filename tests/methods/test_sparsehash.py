"""What `SparseHash` promises with nothing set; the paper's recipe is in recipes/test_paper.py."""

import re
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import kinhash
from kinhash import Pairs, SparseHash
from kinhash.datasets import load
from kinhash.errors import (
    CollapseWarning,
    ConstantColumnWarning,
    InvalidInputError,
    MissingExtraError,
)
from kinhash.metrics import evaluate_codes
from kinhash.training import rank_bits

N_STEPS = rank_bits.N_STEPS


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Let rank bits learn for a moment only: most tests do not ask how well they do."""
    monkeypatch.setattr(rank_bits, "N_STEPS", 40)
    monkeypatch.setattr("kinhash.methods.parts.class_probabilities.N_UNITS", 300)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(1200, n_features=20, centers=6, cluster_std=3.0, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def fitted(blobs):
    X, y = blobs
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rank_bits, "N_STEPS", 40)
        return SparseHash(48).fit(X[:600], y[:600])


def measured(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])


def useful(model, X, y):
    """Much better than chance at radius 2, with codes that differ."""
    found = measured(model, X, y)
    return (
        found["map"] > 0.8 and found["f1@r2"] > 0.6 and found["unique_codes"] >= len(np.unique(y))
    )


def test_defaults_meet_the_goals_on_digits(monkeypatch):
    monkeypatch.undo()  # as users have it
    data = load("digits")
    part = data.split(seed=0)
    X, y = data.vectors, data.labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        model = SparseHash().fit(X[part.train], y[part.train])
    found = evaluate_codes(
        model.encode(X[part.query]),
        y[part.query],
        model.encode(X[part.database]),
        y[part.database],
    )
    assert rank_bits.N_STEPS == N_STEPS
    assert found["map"] >= 0.9
    assert found["f1@r2"] >= 0.85
    assert found["f1@r0"] >= 0.85


def test_longer_codes_do_not_lose_what_one_lookup_finds(digits):
    X, y = digits
    recall = [
        measured(SparseHash(n_bits).fit(X[:900], y[:900]), X[900:], y[900:])["recall@r0"]
        for n_bits in (54, 128)
    ]
    assert recall[1] >= 0.9 * recall[0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_scale_of_the_vectors_does_not_matter(blobs, scale):
    X, y = blobs
    assert useful(SparseHash().fit(X[:600] * scale, y[:600]), X * scale, y)


@pytest.mark.parametrize("n_classes", [2, 30, 100])
def test_defaults_suit_few_and_many_classes(n_classes):
    X, y = make_blobs(
        3000, n_features=32, centers=n_classes, cluster_std=2.0, random_state=n_classes
    )
    assert useful(SparseHash().fit(X[:1500], y[:1500]), X, y)


def test_defaults_suit_unbalanced_classes():
    X, y = make_blobs([900, 60, 40], n_features=10, cluster_std=2.0, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = SparseHash().fit(X, y)
    rare = np.flatnonzero(y == 2)
    found = evaluate_codes(model.encode(X[rare]), y[rare], model.encode(X), y)
    assert found["precision@r2"] > 0.8


@pytest.mark.parametrize("n_rows", [20, 100])
def test_few_rows_suffice(blobs, n_rows):
    X, y = blobs
    model = SparseHash().fit(X[:n_rows], y[:n_rows] % 3)
    assert model.encode(X).n_bits == 64
    assert n_rows == 20 or measured(model, X, y % 3)["map"] > 0.6


def test_so_few_rows_that_nothing_can_be_calibrated_are_told(blobs):
    X, y = blobs
    rows = np.concatenate([np.flatnonzero(y == c)[:4] for c in (0, 1)])
    with pytest.warns(UserWarning, match="8 rows are too few to tell how sure class prob.* 10 or"):
        model = SparseHash(16).fit(X[rows], y[rows])
    assert len(np.unique(model.encode(X[rows]).words, axis=0)) == 2


def test_a_class_of_one_row_is_no_obstacle(blobs):
    X, y = blobs
    y = np.where(np.arange(len(y)) == 17, 99, y)
    with pytest.warns(CollapseWarning, match=r"^(99 and \d share|100% of 99 have the code of \d)"):
        model = SparseHash(32).fit(X, y)
    assert useful(model, X[200:], y[200:])


def test_tags_teach_as_well_as_labels(blobs):
    X, y = blobs
    one_hot = np.eye(6, dtype=int)[y]
    model = SparseHash().fit(X[:600], one_hot[:600])
    assert useful(model, X, y)
    assert not model.encoder_.exclusive
    sparse = SparseHash().fit(X[:600], scipy.sparse.csr_matrix(one_hot[:600]))
    assert sparse.encode(X) == model.encode(X)


def test_rows_may_have_several_tags_or_none(rng):
    """As photographs have them: many tags, most of them rare, some rows without."""
    centres = rng.normal(size=(40, 16))
    tags = (rng.random((300, 40)) < np.geomspace(0.2, 0.01, 40)).astype(int)
    tags[:5] = 0
    X = tags @ centres + 0.3 * rng.normal(size=(300, 16))
    codes = SparseHash(64).fit(X, tags).encode(X)
    shared = tags @ tags.T > 0
    D = (codes.to_dense()[:, None] != codes.to_dense()).sum(axis=2)
    assert D[shared].mean() < D[~shared].mean() - 0.5
    assert (codes.n_active > 0).all()


@pytest.mark.parametrize("kind", ["text", "mixed", "objects", "column", "pandas", "bool"])
def test_labels_of_any_type_will_do(blobs, kind):
    X, y = blobs[0][:200], blobs[1][:200] % 2
    pandas = pytest.importorskip("pandas")
    given = {
        "text": np.array(["ant", "bee"])[y],
        "mixed": ["1" if label else 1 for label in y],
        "objects": np.array(["ant", None])[y] == None,  # noqa: E711 - elementwise
        "column": y[:, None],
        "pandas": pandas.Series(np.array(["ant", "bee"])[y], dtype="category"),
        "bool": y > 0,
    }[kind]
    codes = SparseHash(16).fit(X, given).encode(X)
    assert measured_apart(codes, y) > 0.9


def measured_apart(codes, y):
    """Return the share of rows whose bucket is the commonest of their class, and of no other."""
    buckets = np.unique(codes.words, axis=0, return_inverse=True)[1].ravel()
    commonest = [np.bincount(buckets[y == c]).argmax() for c in np.unique(y)]
    assert len(set(commonest)) == len(commonest)
    return np.mean(buckets == np.array(commonest)[y])


def test_sparse_vectors_are_learned_from(blobs, rng):
    words = scipy.sparse.random_array((400, 300), density=0.05, rng=rng, format="csr")
    y = np.arange(400) % 4
    topic = scipy.sparse.csr_array((np.ones(400), (np.arange(400), y)), shape=(400, 300))
    model = SparseHash(24).fit(words + topic, y)
    assert model.encoder_.unit_rows
    codes = model.encode(words + topic)
    assert measured_apart(codes, y) > 0.9
    assert codes == model.encode((words + topic).toarray())


def test_pairs_teach_near_duplicates(blobs, tmp_path):
    X = blobs[0][:300]
    X = np.concatenate([X, X + 0.3 * np.random.default_rng(0).normal(size=X.shape)])
    pairs = Pairs(np.arange(300), np.arange(300) + 300)
    model = SparseHash(128).fit(X, pairs=pairs)
    codes = model.encode(X)
    assert (codes.n_bits, codes.n_rank_bits) == (128, 0)
    dense = codes.to_dense()
    own = (dense[:300] != dense[300:]).sum(axis=1)
    other = (dense[:300] != np.roll(dense[300:], 1, axis=0)).sum(axis=1)
    assert own.mean() < other.mean() / 2
    (record,) = model.history_
    assert record["kept"]
    assert 0 < record["radius"] < 64
    model.save(tmp_path / "m")
    assert kinhash.load(tmp_path / "m").encode(X) == codes


@pytest.mark.parametrize("n_rank_bits", [None, 0, 20])
def test_vectors_alone_teach_their_own_neighbourhoods(blobs, tmp_path, n_rank_bits):
    X, y = blobs
    model = SparseHash(n_rank_bits=n_rank_bits).fit(X)
    codes = model.encode(X)
    assert codes.n_bits == 64
    assert codes.n_rank_bits == (56 if n_rank_bits is None else n_rank_bits)
    found = evaluate_codes(codes[:200], y[:200], codes[200:], y[200:], order="total")
    assert found["map"] > 0.5  # chance is 1/6
    model.save(tmp_path / "m")
    loaded = kinhash.load(tmp_path / "m")
    assert loaded.encode(X) == codes
    assert loaded.encoder_.fingerprint == model.encoder_.fingerprint


def test_codes_have_the_parts_that_were_asked_for(blobs):
    X, y = blobs
    for n_rank_bits, expected in ((None, 52), (0, 0), (40, 40), (63, 63)):
        if n_rank_bits == 63:  # one bit for six classes
            with pytest.raises(InvalidInputError, match="at least 3 bits to tell 6 classes apart"):
                SparseHash(64, n_rank_bits=63).fit(X[:200], y[:200])
            continue
        codes = SparseHash(64, n_rank_bits=n_rank_bits).fit(X[:200], y[:200]).encode(X)
        assert (codes.n_bits, codes.n_rank_bits) == (64, expected)


def test_transform_gives_the_bucket(fitted, blobs):
    S = fitted.transform(blobs[0])
    assert S.shape == (1200, 12)
    assert np.array_equal(S.toarray(), fitted.encode(blobs[0]).to_dense())


@pytest.mark.parametrize("supervision", ["labels", "tags", "sparse"])
def test_files_give_equal_codes(blobs, tmp_path, supervision):
    X, y = blobs[0][:300], blobs[1][:300]
    rows = scipy.sparse.csr_array(np.maximum(X, 0)) if supervision == "sparse" else X
    model = SparseHash(32).fit(rows, np.eye(6, dtype=int)[y] if supervision == "tags" else y)
    model.save(tmp_path / "m")
    loaded = kinhash.load(tmp_path / "m")
    assert loaded.encode(rows) == model.encode(rows)
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_
    assert loaded.encoder_.fingerprint == model.encoder_.fingerprint


def test_a_fit_is_repeatable_whatever_the_number_of_threads(blobs):
    X, y = blobs[0][:400], blobs[1][:400]
    codes = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            codes.append(SparseHash(64).fit(X, y).encode(X, n_threads=n_threads))
    assert codes[0] == codes[1]
    assert SparseHash(64, seed=1).fit(X, y).encode(X) != codes[0]


def test_parameters_are_never_written_back(blobs):
    X, y = blobs
    for model in (SparseHash(32), SparseHash(32, recipe="paper", max_steps=20)):
        before = model.get_params()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            model.fit(X[:200], y[:200])
        assert model.get_params() == before
    assert model.margin is None


def test_the_history_says_what_was_chosen(fitted):
    (record,) = fitted.history_
    assert record.keys() == {
        "left_out_loss",
        "penalty",
        "temperature",
        "gaussian_units",
        "kept",
    }
    assert 0 < record["left_out_loss"] < np.log(6)


def test_it_works_in_a_grid_search(digits):
    X, y = digits
    pipeline = Pipeline([("hash", SparseHash()), ("knn", KNeighborsClassifier(3, metric="l1"))])
    grid = {"hash__n_bits": [54, 64], "hash__transfer": [0.0, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X[:400, 20:30], y[:400])
    assert search.best_score_ > 0.6
    assert set(search.best_params_) == set(grid)


# Rows without labels


def test_rows_without_labels_help_the_rank_bits_and_leave_the_bucket(blobs):
    X, y = blobs
    alone = SparseHash(32).fit(X[:100], y[:100]).encode(X)
    for more in (X[100:], scipy.sparse.csr_array(X[100:])):
        codes = SparseHash(32).fit(X[:100], y[:100], unlabelled=more).encode(X)
        assert codes.without_rank() == alone.without_rank()
        assert codes != alone


@pytest.mark.parametrize(
    ("unlabelled", "message"),
    [
        (np.zeros((5, 3)), "`unlabelled` has 3 features, but SparseHash is expecting 20"),
        (np.zeros(20), "Expected 2D array, got 1D"),
        ((np.zeros((5, 20)), np.zeros(5)), "vectors alone, got a tuple. Rows whose labels are"),
        (np.full((9000, 20), np.nan), "`unlabelled` contains NaN in row 0, column 0"),
        (np.array([["a"] * 20]), "`unlabelled` must hold numbers"),
    ],
)
def test_unusable_rows_without_labels_are_refused(fitted, blobs, unlabelled, message):
    X, y = blobs
    before = fitted.encode(X)
    with pytest.raises(InvalidInputError, match=message):
        fitted.fit(X, y, unlabelled=unlabelled)
    assert fitted.encode(X) == before


def test_rows_without_labels_go_with_labels_and_the_strong_recipe(blobs):
    X, y = blobs
    with pytest.raises(InvalidInputError, match=r"`unlabelled` goes with `y`, which is None. Add"):
        SparseHash().fit(X, unlabelled=X)
    with pytest.raises(InvalidInputError, match=r"`unlabelled` goes with `y`, which is None. Add"):
        SparseHash().fit(X, pairs=Pairs([0], [1]), unlabelled=X)
    with pytest.raises(InvalidInputError, match="used by recipe='strong', but `recipe` is 'paper'"):
        SparseHash(recipe="paper").fit(X, y, unlabelled=X)


# Classes never seen


def test_transfer_trades_known_classes_for_others():
    """As the rank bits alone order them."""
    X, y = make_blobs(2000, n_features=30, centers=12, cluster_std=7.0, random_state=3)
    seen = y < 6
    known, new = {}, {}
    for transfer in (0, 1):
        model = SparseHash(48, transfer=transfer).fit(X[seen][:600], y[seen][:600])
        for found, rows in ((known, np.flatnonzero(seen)[600:]), (new, np.flatnonzero(~seen))):
            rank = kinhash.Codes.from_dense(model.encode(X[rows]).rank_to_dense())
            labels = y[rows]
            scores = evaluate_codes(rank[:100], labels[:100], rank[100:], labels[100:])
            found[transfer] = scores["map"]
    assert known[0] > known[1]
    assert new[1] > new[0]


def test_transfer_alone_needs_no_torch(blobs, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "kinhash.training.rank_bits", raising=False)
    X, y = blobs
    for parameters in ({"transfer": 1}, {"n_rank_bits": 0}):
        assert SparseHash(48, **parameters).fit(X[:100], y[:100]).encode(X).n_bits == 48


# No silent merging


def test_classes_that_cannot_be_told_apart_are_named(rng):
    X, y = make_blobs(600, n_features=5, centers=3, cluster_std=1.0, random_state=2)
    names = np.array(["bird", "car", "plane"])[y]
    trucks = np.flatnonzero(y == 1)[::2]
    names[trucks] = "truck"  # the same vectors under two names
    names[trucks[:3]] = "car"
    with pytest.warns(CollapseWarning) as caught:
        SparseHash(32).fit(X, names)
    (message,) = [str(one.message) for one in caught]
    assert "bird" not in message
    found = re.match(
        r"(car and truck|truck and car) share (\d+)% of their codes: these vectors do not tell "
        r"them apart\. Add rows of them, use other vectors, or give them one label\.$",
        message,
    )
    assert found
    assert 50 < int(found[2]) <= 100
    assert caught[0].filename == __file__


def test_names_that_look_alike_are_told_with_their_type(rng):
    X, y = rng.normal(size=(200, 4)), np.arange(200) % 2
    with pytest.warns(CollapseWarning, match=r"(1 and '1'|'1' and 1) share \d+% of their codes"):
        SparseHash(16).fit(X, [1 if label else "1" for label in y])


def test_of_many_such_classes_three_are_named(rng):
    X = rng.normal(size=(300, 4))
    y = np.arange(300) % 10
    with pytest.warns(CollapseWarning, match=r"; .*; .*, and \d+ more: these vectors do not"):
        SparseHash(64).fit(X, y)


def test_too_few_bits_for_the_classes_are_told_with_how_many_have_room(digits):
    X, y = digits
    with pytest.warns(
        UserWarning, match=r"5 bucket bits have no room for 10 classes: .* n_bits=40"
    ):
        SparseHash(10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseHash(40).fit(X, y)


def test_defaults_do_not_warn(digits, blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseHash().fit(*digits)
        SparseHash().fit(*blobs)


# Bad input


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1] * 49, "`y` has 98 labels but `X` has 100 rows"),
        ([3] * 100, "single class, 3; learning codes needs at least two"),
        (range(100), "100 classes of one row each"),
        ([0.5, np.inf] * 50, "`y` contains infinity in row 1"),
        (np.full((100, 3), 2), "must hold only 0 and 1"),
        (np.eye(100), "no two rows a tag in common"),
        (np.zeros((100, 2, 2)), "must be .* labels or an .* 0/1 matrix"),
    ],
)
def test_unusable_labels_are_refused(blobs, y, message):
    with pytest.raises(InvalidInputError, match=message):
        SparseHash().fit(blobs[0][:100], y)


def test_labels_and_pairs_together_are_refused(blobs):
    X, y = blobs
    with pytest.raises(InvalidInputError, match="either `y` or `pairs`, got both"):
        SparseHash().fit(X, y, pairs=Pairs([0], [1]))
    with pytest.raises(InvalidInputError, match="row 5000, but `X` has 1200 rows"):
        SparseHash().fit(X, pairs=Pairs([0], [5000]))
    with pytest.raises(InvalidInputError, match=r"must be kinhash\.Pairs, got list"):
        SparseHash().fit(X, pairs=[(0, 1)])
    with pytest.raises(InvalidInputError, match=r"list no similar pair. Add some"):
        SparseHash().fit(X, pairs=Pairs([0], [1], similar=False))
    with pytest.raises(InvalidInputError, match=r"no rank bits, got 8 as `n_rank_bits`. Leave it"):
        SparseHash(n_rank_bits=8).fit(X, pairs=Pairs([0], [1]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bits": 0}, r"`n_bits` must be an integer in \[1, 4096\], got 0"),
        ({"n_rank_bits": 64}, r"`n_rank_bits` must be an integer in \[0, 63\], got 64"),
        ({"n_rank_bits": -1}, r"`n_rank_bits` must be an integer in \[0, 63\], got -1"),
        ({"n_rank_bits": 1.5}, "`n_rank_bits` must be an integer, got 1.5"),
        ({"transfer": 1.1}, "`transfer` must be .* at most 1, got 1.1"),
        ({"transfer": -0.1}, "`transfer` must be .* at least 0"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
        ({"seed": None}, "`seed` must be an integer"),
        ({"recipe": "strnog"}, "Unknown recipe 'strnog'. Did you mean 'strong'?"),
        ({"recipe": None}, "Unknown recipe 'None'"),
        ({"margin": 11}, "`margin` belongs to recipe='paper', but `recipe` is 'strong'. Add rec"),
        ({"recipe": "paper", "transfer": 0.5}, "`transfer` belongs to recipe='strong', but"),
        ({"n_bits": 2}, "The bucket needs at least 3 bits to tell 6 classes apart, got 2. Raise"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(blobs, parameters, message):
    model = SparseHash().set_params(**parameters)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*blobs)
    assert not hasattr(model, "encoder_")


def test_constant_columns_work_with_a_warning(blobs):
    X, y = blobs
    X = np.hstack([X, np.full((len(X), 1), 7.0), np.full((len(X), 1), 1e6)])
    with pytest.warns(
        ConstantColumnWarning, match="2 of 22 columns of `X` are constant .*: 20, 21"
    ):
        model = SparseHash().fit(X, y)
    X[:, 20:] = -3  # and they have no say
    assert useful(model, X, y)


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        SparseHash().fit(np.ones((50, 3)), [0, 1] * 25)


def test_training_without_torch_names_the_pip_line_at_once(blobs, monkeypatch):
    def learn(*_, **__):
        pytest.fail("it was learning already")

    monkeypatch.setattr("kinhash.methods.recipes.strong.fit_class_probabilities", learn)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kinhash\[train\]'"):
        SparseHash().fit(*blobs)


def test_an_interrupted_fit_leaves_the_model_as_it_was(fitted, blobs, monkeypatch):
    X, y = blobs
    before = fitted.encode(X)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kinhash.training.rank_bits.train_rank_bits", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:, :10], y)
    assert fitted.encode(X) == before


def test_a_fit_knows_how_precise_its_answers_will_be(fitted, blobs, tmp_path):
    """Rows that nobody has seen are found with the precision that was promised."""
    X, y = blobs
    calibration = fitted.calibration_
    assert calibration.n_rows == 600
    assert calibration.similar_share == pytest.approx(1 / 6, abs=0.01)
    new = fitted.encode(X[600:])
    same = y[600:, None] == y[600:]
    np.fill_diagonal(same, val=False)
    distances = (new.to_dense()[:, None] != new.to_dense()).sum(axis=2)
    ranks = (new.rank_to_dense()[:, None] != new.rank_to_dense()).sum(axis=2)
    for share in (0.9, 0.75, 0.5):
        cut = calibration.cut(share * calibration.highest())
        near = (distances < cut.distance) | (
            (distances == cut.distance) & (ranks <= cut.rank_distance)
        )
        np.fill_diagonal(near, val=False)
        assert same[near].mean() == pytest.approx(cut.precision, abs=0.05)
    # Rows that it has learned from look better than they are.
    seen = fitted.encode(X[:600])
    learned = type(calibration).from_codes(seen, y[:600])
    assert learned.highest() >= calibration.highest()
    fitted.save(tmp_path / "model.kinhash")
    again = kinhash.load(tmp_path / "model.kinhash")
    assert again.calibration_.rows() == calibration.rows()
    radius = fitted.radius_for(precision=0.5)
    assert radius == again.radius_for(precision=0.5)
    with pytest.raises(InvalidInputError, match=r"than these codes reach where 0\.01% of"):
        fitted.radius_for(precision=0.99, similar_share=1e-4)


def test_vectors_alone_and_pairs_alone_are_not_calibrated(blobs):
    X, _ = blobs
    for supervision in ({}, {"pairs": Pairs([0, 2], [1, 3])}):
        model = SparseHash(16).fit(X[:200], **supervision)
        assert model.calibration_ is None
        with pytest.raises(InvalidInputError, match=r"not calibrated.* Call calibrate\(X, y\)"):
            model.radius_for(precision=0.5)


def test_tags_are_calibrated_by_those_in_common(blobs):
    X, y = blobs
    tags = np.stack([y < 2, y % 2, y > 4], axis=1).astype(int)
    model = SparseHash(32).fit(X[:300], tags[:300])
    shared = tags[:300] @ tags[:300].T > 0
    n = np.triu(shared, 1).sum()
    assert model.calibration_.similar_share == pytest.approx(n / (300 * 299 / 2))
