import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, make_blobs

import kinhash
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.methods import KSH, LSH
from kinhash.methods.rivals.ksh import Similarity, ascend, learn_bits
from kinhash.methods.supervision.rows import label_source
from kinhash.metrics import evaluate_codes


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, n_features=6, centers=4, cluster_std=2.0, random_state=0)


def naive_similarity(y):
    """S by a double loop: 1 where classes are equal or tags are shared, else -1."""
    S = np.empty((len(y), len(y)))
    for i in range(len(y)):
        for j in range(len(y)):
            alike = np.any(y[i] & y[j]) if y.ndim == 2 else y[i] == y[j]
            S[i, j] = 1 if alike else -1
    return S


@pytest.mark.parametrize("kind", ["classes", "tags", "sparse tags"])
def test_products_with_the_similarity_equal_those_of_its_full_matrix(rng, kind):
    y = rng.integers(0, 4, 40) if kind == "classes" else rng.integers(0, 2, (40, 5))
    given = scipy.sparse.csr_matrix(y) if kind == "sparse tags" else y
    similarity = Similarity.of(label_source("KSH", given, 40))
    S = naive_similarity(y)
    v, K = rng.normal(size=40), rng.normal(size=(40, 7))
    assert np.allclose(similarity.times(v), S @ v)
    assert np.allclose(similarity.between(K), K.T @ S @ K)


def test_the_loss_after_each_bit_equals_a_naive_loop(blobs):
    X, y = blobs
    model = KSH(n_bits=6, n_anchors=30).fit(X, y)
    H = 2.0 * model.encode(X).to_dense() - 1
    S = naive_similarity(y)
    for k, look in enumerate(model.history_, start=1):
        total = 0.0
        for i in range(len(X)):
            for j in range(len(X)):
                total += (H[i, :k] @ H[j, :k] / 6 - S[i, j]) ** 2
        assert look["loss"] == pytest.approx(total / len(X) ** 2, rel=1e-6)
    assert [look["step"] for look in model.history_] == [1, 2, 3, 4, 5, 6]


def test_one_bit_tells_two_far_classes_apart():
    """By hand: b = y gives b' S b = n^2, and no other b reaches it, so the loss is 0."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    y = ["left"] * 3 + ["right"] * 3
    model = KSH(n_bits=1).fit(X, y)
    dense = model.encode(X).to_dense()[:, 0].tolist()
    assert dense in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert model.history_[0]["loss"] == pytest.approx(0, abs=1e-9)


def test_climbing_raises_the_smoothed_objective_and_its_start_is_never_lost(blobs, rng):
    _, y = blobs
    K = rng.normal(size=(200, 10)).astype(np.float32)
    S = naive_similarity(y)

    def smooth(a):
        t = np.tanh(K @ a / 2)
        return t @ S @ t

    start = rng.normal(size=10).astype(np.float32)
    reached = [smooth(ascend(K, lambda v: S @ v, start, n)) for n in (0, 1, 5, 50)]
    assert reached[0] == pytest.approx(smooth(start))
    assert reached[0] < reached[1] <= reached[2] <= reached[3]


def test_climbing_stops_where_the_gradient_vanishes():
    """At a = 0 the objective is flat."""
    K = np.ones((4, 2), np.float32)
    a = np.zeros(2, np.float32)
    assert np.array_equal(ascend(K, lambda v: v, a, 10), a)


def test_a_bit_is_never_worse_by_the_true_objective_than_its_spectral_start(blobs):
    X, y = blobs
    spectral = KSH(n_bits=1, n_anchors=40, max_steps=0).fit(X, y)
    smoothed = KSH(n_bits=1, n_anchors=40).fit(X, y)
    assert smoothed.history_[0]["loss"] <= spectral.history_[0]["loss"]


def test_the_spectral_start_maximises_the_relaxed_objective(rng):
    """(a' K' S K a) / (a' (K' K + ridge) a) is at its largest: no random direction beats it."""
    K = rng.normal(size=(60, 5)).astype(np.float32)
    y = rng.integers(0, 3, 60)
    W, _ = learn_bits(K, Similarity.of(label_source("KSH", y, 60)), 1, ridge=0.1, max_steps=0)
    S, G = naive_similarity(y), K.T @ K
    G = G + 0.1 * np.trace(G) / 5 * np.eye(5)

    def quotient(a):
        return (a @ K.T @ S @ K @ a) / (a @ G @ a)

    assert quotient(W[0]) >= max(quotient(a) for a in rng.normal(size=(500, 5))) - 1e-4


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
def test_it_beats_random_projections_on_digits():
    X, y = load_digits(return_X_y=True)
    found = {}
    for model in (KSH(n_bits=32), LSH(n_bits=32)):
        codes = model.fit(X[:800], y[:800]).encode(X[800:])
        found[model.name] = evaluate_codes(codes[:300], y[800:1100], codes[300:], y[1100:])["map"]
    assert found["ksh"] > 0.85
    assert found["ksh"] > found["lsh"] + 0.3


def test_tags_are_learned(rng):
    tags = np.zeros((300, 8), int)
    for _ in range(2):
        tags[np.arange(300), rng.integers(0, 8, 300)] = 1
    X = tags @ rng.normal(size=(8, 12)) + 0.3 * rng.normal(size=(300, 12))
    found = [
        evaluate_codes(codes[:100], tags[:100], codes[100:], tags[100:])["map"]
        for codes in (m.fit(X, tags).encode(X) for m in (KSH(n_bits=16), LSH(n_bits=16)))
    ]
    assert found[0] > found[1] + 0.1


def test_with_fewer_rows_than_anchors_all_rows_are_anchors(blobs):
    X, y = blobs
    assert len(KSH(n_bits=4).fit(X[:50], y[:50]).encoder_.anchors) == 50
    assert len(KSH(n_bits=4, n_anchors=20).fit(X, y).encoder_.anchors) == 20


def test_the_scale_of_the_vectors_does_not_matter(blobs):
    X, y = blobs
    first = KSH(n_bits=8).fit(X, y).encode(X).to_dense()
    scaled = KSH(n_bits=8).fit(64 * X, y).encode(64 * X).to_dense()
    assert np.array_equal(first, scaled)


def test_duplicates_do_no_harm(blobs):
    X, y = np.repeat(blobs[0][:20], 10, axis=0), np.repeat(blobs[1][:20], 10)
    codes = KSH(n_bits=8).fit(X, y).encode(X)
    assert codes.n_unique > 1


def test_files_give_equal_codes(blobs, tmp_path):
    X, y = blobs
    model = KSH(n_bits=8, n_anchors=20).fit(X, y)
    model.save(tmp_path / "ksh.kinhash")
    loaded = kinhash.load(tmp_path / "ksh.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_anchors": 0}, "`n_anchors` must be an integer of at least 1, got 0"),
        ({"ridge": 0}, "`ridge` must be a number greater than 0, got 0"),
        ({"max_steps": -1}, "`max_steps` must be an integer of at least 0, got -1"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
    ],
)
def test_bad_parameters_are_refused(blobs, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        KSH(**parameters).fit(*blobs)


def test_unusable_data_is_refused_and_changes_nothing(blobs):
    X, y = blobs
    model = KSH(n_bits=4).fit(X, y)
    before = model.encode(X)
    bad = X[:, :4].copy()
    bad[7, 2] = np.inf
    for given, labels, message in [
        (X, None, "KSH requires y to be passed"),
        (X, np.zeros(200), r"single class, 0\.0; .* Add rows of other classes\.$"),
        (X, np.arange(200), r"200 classes of one row each, .* Add rows per class\.$"),
        (X, y[:50], "`y` has 50 labels but `X` has 200 rows"),
        (bad, y, "contains infinity in row 7"),
        (np.ones((200, 3)), y, "All columns of `X` are constant"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            model.fit(given, labels)
    assert model.encode(X) == before
    assert model.n_features_in_ == 6


def test_constant_columns_are_ignored_with_a_warning(blobs):
    X, y = blobs
    wide = np.column_stack([X, np.full(200, 3.0)])
    with pytest.warns(
        ConstantColumnWarning, match=r"1 of 7 columns of `X` are constant .* 6\."
    ) as caught:
        model = KSH(n_bits=8).fit(wide, y)
    assert caught[0].filename == __file__
    assert model.encode(wide) == KSH(n_bits=8).fit(X, y).encode(X)
