import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, make_blobs

import kinhash
from kinhash.encoders.anchor_graph import nearest_anchors, weights
from kinhash.errors import InvalidInputError
from kinhash.methods import AGH, LSH
from kinhash.methods.rivals.agh import eigenvectors, k_means, thresholds
from kinhash.metrics import evaluate_codes


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, n_features=6, centers=8, cluster_std=2.0, random_state=0)


@pytest.fixture
def graph(rng):
    """A connected graph of 60 rows and 9 anchors, three anchors to a row."""
    X = rng.normal(size=(60, 2)).astype(np.float32)
    nearest, squared = nearest_anchors(X, X[:9], 3)
    starts = np.arange(0, 181, 3)
    Z = (weights(squared, 1.0).astype(np.float64).ravel(), nearest.ravel(), starts)
    return scipy.sparse.csr_array(Z, shape=(60, 9))


def affinity(Z):
    """A = Z inv(Lambda) Z', in full."""
    dense = Z.toarray()
    return dense @ np.diag(1 / dense.sum(axis=0)) @ dense.T


def test_outputs_are_the_eigenvectors_of_the_graph(graph):
    A = affinity(graph)
    Y = graph @ eigenvectors(graph, 4).T
    expected = np.sort(np.linalg.eigvalsh(A))[::-1]
    assert expected[0] == pytest.approx(1)  # the trivial one, left out
    for k in range(4):
        assert np.allclose(A @ Y[:, k], expected[k + 1] * Y[:, k], atol=1e-5)
    assert np.allclose(Y.T @ Y, 60 * np.eye(4), atol=1e-3)
    assert np.allclose(Y.sum(axis=0), 0, atol=1e-4)  # so that signs are balanced


def test_an_anchor_of_no_row_takes_no_part(graph):
    lone = scipy.sparse.csr_array(scipy.sparse.hstack([graph, np.zeros((60, 1))]))
    assert np.allclose(np.abs(eigenvectors(lone, 3)[:, :9]), np.abs(eigenvectors(graph, 3)))
    assert np.all(eigenvectors(lone, 3)[:, 9] == 0)


def test_a_graph_that_falls_apart_is_told_apart_first():
    """Two components: besides the trivial one, eigenvalue 1 has the vector that separates them."""
    Z = scipy.sparse.csr_array(np.repeat([[0.5, 0.5, 0, 0], [0, 0, 0.3, 0.7]], 5, axis=0))
    y = Z @ eigenvectors(Z, 1)[0]
    assert len(set((y[:5] > 0).tolist())) == len(set((y[5:] > 0).tolist())) == 1
    assert (y[0] > 0) != (y[5] > 0)


def test_thresholds_make_the_second_layer_smooth_and_balanced(graph):
    """Against a grid: no other balanced pair of thresholds has less f' (I - A) f."""
    y = graph @ eigenvectors(graph, 1).T
    c = thresholds(graph, y)[:, 0].astype(np.float64)
    A, y = affinity(graph), y[:, 0]

    def smoothness(c_positive, c_negative):
        f = np.abs(y) - np.where(y > 0, c_positive, c_negative)
        return f @ f - f @ A @ f, f.sum()

    least, total = smoothness(*c)
    assert total == pytest.approx(0, abs=1e-4)
    share = np.mean(y <= 0)
    for difference in np.linspace(-2, 2, 41):  # of c_+ and c_-, balanced
        c_positive = np.abs(y).mean() + difference * share
        assert least <= smoothness(c_positive, c_positive - difference)[0] + 1e-6


def test_two_layers_give_each_eigenvector_a_second_bit(blobs):
    X, _ = blobs
    one = AGH(n_bits=5, n_layers=1, n_anchors=40).fit(X)
    two = AGH(n_bits=9, n_layers=2, n_anchors=40).fit(X)
    assert np.array_equal(one.encode(X).to_dense(), two.encode(X).to_dense()[:, :5])
    assert one.encoder_.thresholds.shape == (2, 0)
    assert two.encoder_.thresholds.shape == (2, 4)  # 9 bits: the fifth has no second
    y = two.encoder_.forward(X)[:, :4]
    expected = np.where(y > 0, y > two.encoder_.thresholds[0], -y > two.encoder_.thresholds[1])
    assert np.array_equal(two.encode(X).to_dense()[:, 5:], expected)


def test_k_means_finds_far_clusters(rng):
    """Four clusters of width 0.01 at the corners of a square; every corner has a centre nearby."""
    corners = np.array([[0, 0], [0, 9], [9, 0], [9, 9]], np.float32)
    X = (np.repeat(corners, 50, axis=0) + 0.01 * rng.normal(size=(200, 2))).astype(np.float32)
    centres = k_means(X, 12, rng)
    assert all(np.linalg.norm(centres - corner, axis=1).min() < 0.1 for corner in corners)
    assert np.array_equal(k_means(np.repeat(corners, 3, axis=0), 6, rng), corners)


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
@pytest.mark.parametrize("n_layers", [1, 2])
def test_it_beats_random_projections_on_digits(n_layers):
    X, y = load_digits(return_X_y=True)
    found = {}
    for model in (AGH(n_bits=24, n_layers=n_layers), LSH(n_bits=24)):
        codes = model.fit(X[300:]).encode(X)
        found[model.name] = evaluate_codes(codes[:300], y[:300], codes[300:], y[300:])["map"]
    assert found["agh"] > found["lsh"] + 0.1


def test_labels_are_ignored(blobs):
    X, y = blobs
    assert AGH(n_bits=8).fit(X).encode(X) == AGH(n_bits=8).fit(X, y).encode(X)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_files_give_equal_codes(blobs, tmp_path, n_layers):
    X, _ = blobs
    model = AGH(n_bits=7, n_layers=n_layers, n_anchors=30).fit(X)
    model.save(tmp_path / "agh.kinhash")
    loaded = kinhash.load(tmp_path / "agh.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_layers": 3}, r"`n_layers` must be an integer in \[1, 2\], got 3"),
        ({"n_nearest": 0}, "`n_nearest` must be an integer of at least 1, got 0"),
        (
            {"n_bits": 48, "n_layers": 1, "n_anchors": 48},
            "`n_anchors` must be at least 49 for 48 bits in 1 layer, got 48",
        ),
        ({"n_bits": 1024}, "`n_anchors` must be at least 513 for 1024 bits in 2 layers, got 300"),
    ],
)
def test_bad_parameters_are_refused(blobs, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        AGH(**parameters).fit(blobs[0])


def test_unusable_data_is_refused_and_changes_nothing(blobs):
    X, _ = blobs
    model = AGH(n_bits=4).fit(X)
    before = model.encode(X)
    bad = X[:, :4].copy()
    bad[7, 2] = np.nan
    for given, message in [
        (bad, "contains NaN in row 7"),
        (np.ones((20, 3)), "All columns of `X` are constant"),
        (np.repeat(X[:2], 9, axis=0), r"gives 2 different anchors and 1 .* 4 bits in 2 layers"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            model.fit(given)
    assert model.encode(X) == before
    assert model.n_features_in_ == 6
