import itertools

import numpy as np
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.methods.parts.boosting import balanced, draw_pairs, reweighted
from kinhash.methods.rivals.cmssh import (
    WeightedPairs,
    best_thresholds,
    boost,
    leading,
    moments,
    quantiles,
)
from kinhash.pairs import LabelSource, Pairs, PairSource, TagSource, Views


def across(source, n_left, n_right):
    return Views(source, np.array([0, n_left, n_left + n_right]), across_only=True)


def draw_cross_pairs(labels_x, labels_y, n_pairs, rng):
    """Rows of both sides of pairs across two modalities, and whether they are similar."""
    n_left = labels_x.shape[0]
    if labels_x.ndim == 1:
        source = LabelSource.from_labels(np.concatenate([labels_x, labels_y]))
    else:
        stacked = [scipy.sparse.csr_array(labels) for labels in (labels_x, labels_y)]
        source = TagSource.from_tags(scipy.sparse.vstack(stacked))
    left, right, similar = draw_pairs(across(source, n_left, labels_y.shape[0]), n_pairs, rng)
    return left, right - n_left, similar


def planted(rng, n=300, n_classes=4, noise=0.5):
    """Two modalities of different widths that show the same classes, and those."""
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n_classes, 6))[y] + noise * rng.normal(size=(n, 6)) + 3
    Y = rng.normal(size=(n_classes, 9))[y] + noise * rng.normal(size=(n, 9)) - 1
    return X.astype(np.float32), Y.astype(np.float32), y


def learned(X, Y, y, n_bits=12, n_thresholds=8, **settings):
    left, right, similar = draw_cross_pairs(y, y, 500, np.random.default_rng(1))
    return boost(
        X,
        Y,
        left,
        right,
        similar,
        n_bits=n_bits,
        n_thresholds=n_thresholds,
        rng=np.random.default_rng(2),
        **settings,
    )


def naive_boost(X, Y, left, right, s, n_bits, n_thresholds, learning_rate):
    """The same by the letter: pair by pair, and every combination of thresholds."""
    w = np.where(s > 0, 0.5 / np.sum(s > 0), 0.5 / np.sum(s < 0))
    bits = []
    for _ in range(n_bits):
        x, y = X[left] - w @ X[left], Y[right] - w @ Y[right]
        C = sum(w[k] * s[k] * np.outer(x[k], y[k]) for k in range(len(s)))
        U, _, Vt = np.linalg.svd(C)
        sign = np.sign(U[np.abs(U[:, 0]).argmax(), 0])
        p, q = sign * U[:, 0], sign * Vt[0]
        best = (-1, 0, 0)
        for a in quantiles(X[np.unique(left)] @ p, n_thresholds):
            for b in quantiles(Y[np.unique(right)] @ q, n_thresholds):
                r = 0.0
                for k in range(len(s)):
                    h = 1 if X[left[k]] @ p > a else -1
                    g = 1 if Y[right[k]] @ q > b else -1
                    r += w[k] * s[k] * h * g
                best = max(best, (r, a, b))
        r, a, b = best
        alpha = learning_rate * np.log((1 + r) / (1 - r)) / 2
        for k in range(len(s)):
            h = 1 if X[left[k]] @ p > a else -1
            g = 1 if Y[right[k]] @ q > b else -1
            w[k] *= np.exp(-alpha * s[k] * h * g)
        w /= w.sum()
        bits.append((p, -a, q, -b, r, alpha))
    return bits


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_boosting_equals_a_loop(rng, learning_rate):
    X, Y, y = planted(rng, 40, noise=1.0)
    left, right, similar = draw_cross_pairs(y, y, 60, rng)
    found = boost(
        X,
        Y,
        left,
        right,
        similar,
        n_bits=6,
        n_thresholds=4,
        learning_rate=learning_rate,
        rng=rng,
    )
    s = np.where(similar, 1, -1)
    expected = naive_boost(X, Y, left, right, s, 6, 4, learning_rate)
    for bit, (p, a, q, b, r, alpha) in enumerate(expected):
        assert found.P[bit] == pytest.approx(p, abs=1e-3)
        assert found.Q[bit] == pytest.approx(q, abs=1e-3)
        assert (found.a[bit], found.b[bit]) == (
            pytest.approx(a, abs=1e-2),
            pytest.approx(b, abs=1e-2),
        )
        assert found.history[bit]["correlation"] == pytest.approx(r, abs=1e-4)
        assert found.history[bit]["alpha"] == pytest.approx(alpha, abs=1e-4)
        assert found.history[bit]["error"] == pytest.approx((1 - r) / 2, abs=1e-4)


def test_both_kinds_of_pairs_start_with_half_of_the_weight(rng):
    """So it does not matter if all pairs of one kind are listed three times."""
    X, Y, y = planted(rng)
    pairs = draw_cross_pairs(y, y, 100, rng)
    more = [np.concatenate([part, np.tile(part[~pairs[2]], 2)]) for part in pairs]
    one, other = (
        boost(X, Y, *listed, n_bits=4, n_thresholds=8, rng=np.random.default_rng(0))
        for listed in (pairs, more)
    )
    assert np.allclose(one.P, other.P, atol=1e-3)
    assert one.history[-1] == pytest.approx(other.history[-1])


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_the_bound_falls_and_is_the_mean_exponential_loss(rng, learning_rate):
    X, Y, y = planted(rng)
    left, right, similar = draw_cross_pairs(y, y, 500, np.random.default_rng(1))
    found = learned(X, Y, y, learning_rate=learning_rate)
    bounds = [1.0] + [record["bound"] for record in found.history]
    assert all(later < earlier for earlier, later in itertools.pairwise(bounds))
    H = np.sign(X @ found.P.T + found.a)[left] * np.sign(Y @ found.Q.T + found.b)[right]
    margins = np.where(similar, 1, -1) * (H @ [record["alpha"] for record in found.history])
    initial = np.abs(balanced(similar))
    assert bounds[-1] == pytest.approx(initial @ np.exp(-margins), rel=1e-3)
    assert initial @ (margins <= 0) <= bounds[-1]


def test_planted_classes_are_found_in_both_modalities(rng):
    """The nearest item of the other modality is of the same class."""
    X, Y, y = planted(rng)
    found = learned(X, Y, y, 32)
    codes_x, codes_y = X @ found.P.T + found.a > 0, Y @ found.Q.T + found.b > 0
    distances = (codes_x[:, None] != codes_y).sum(axis=2)
    assert np.mean(y[distances.argmin(axis=0)] == y) > 0.9
    assert np.mean(y[distances.argmin(axis=1)] == y) > 0.9


@pytest.mark.parametrize("sparse", [(True, False), (False, True), (True, True)])
def test_sparse_rows_give_the_same_bits(rng, sparse):
    X, Y, y = planted(rng)
    X, Y = np.where(X > 3, X, 0), np.where(Y > -1, Y, 0)
    expected = learned(X, Y, y)
    given = [
        scipy.sparse.csr_array(rows) if is_sparse else rows
        for rows, is_sparse in zip((X, Y), sparse, strict=True)
    ]
    found = learned(*given, y)
    for one, other in zip(found[:4], expected[:4], strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_it_is_deterministic_and_leaves_its_input_alone(rng):
    X, Y, y = planted(rng)
    before = X.copy(), Y.copy()
    one, other = learned(X, Y, y), learned(X, Y, y)
    assert all(np.array_equal(a, b) for a, b in zip(one[:4], other[:4], strict=True))
    assert one.history == other.history
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


def test_adding_a_vector_to_all_rows_changes_only_the_thresholds(rng):
    X, Y, y = planted(rng)
    expected, found = learned(X, Y, y), learned(X + 1, Y, y)
    assert np.allclose(found.P, expected.P, atol=1e-3)
    assert found.a == pytest.approx(expected.a - expected.P.sum(axis=1), abs=1e-2)


def test_rows_in_no_pair_have_no_say(rng):
    X, Y, y = planted(rng)
    left, right, similar = draw_cross_pairs(y[:200], y[:200], 300, rng)
    settings = {"n_bits": 4, "n_thresholds": 5}
    expected = boost(
        X[:200], Y[:200], left, right, similar, rng=np.random.default_rng(0), **settings
    )
    X[200:] = 1e6
    found = boost(X, Y, left, right, similar, rng=np.random.default_rng(0), **settings)
    assert np.array_equal(found.P, expected.P)
    assert np.array_equal(found.b, expected.b)


def test_two_far_classes_make_a_perfect_bit_and_the_rest_stay_finite(rng):
    y = np.repeat([0, 1], 20)
    X = np.where(y, 9.0, -9.0)[:, None] + rng.normal(size=(40, 2))
    found = learned(X.astype(np.float32), -X[:, :1].astype(np.float32), y, 5, n_thresholds=9)
    assert found.history[0]["correlation"] == pytest.approx(1)
    assert all(np.isfinite(part).all() for part in found[:4])
    codes_x = X @ found.P.T + found.a > 0
    codes_y = -X[:, :1] @ found.Q.T + found.b > 0
    assert np.array_equal(codes_x[:, 0], codes_y[:, 0])
    assert len(set(codes_x[y == 0, 0])) == len(set(codes_x[y == 1, 0])) == 1


@pytest.mark.parametrize("value", [0, 5])
def test_rows_that_are_all_the_same_give_finite_bits(value):
    """There is nothing to find: directions are random, and no step is taken."""
    y = np.repeat([0, 1], 10)
    X, Y = np.full((20, 3), value, np.float32), np.full((20, 4), value, np.float32)
    found = learned(X, Y, y, 3)
    assert all(np.isfinite(part).all() for part in found[:4])
    assert np.linalg.norm(found.P, axis=1) == pytest.approx(1)
    assert [record["bound"] for record in found.history] == pytest.approx([1, 1, 1])


def test_more_bits_than_columns_are_learned(rng):
    X, Y, y = planted(rng)
    found = learned(X[:, :2], Y[:, :1], y, 40)
    assert found.P.shape == (40, 2)
    assert found.Q.shape == (40, 1)
    assert all(np.isfinite(part).all() for part in found[:4])


def test_progress_is_reported_bit_by_bit(rng):
    told = []
    found = learned(*planted(rng), 2, report=lambda *given: told.append(given))
    r = [record["correlation"] for record in found.history]
    assert told == [(1, 2, f"correlation {r[0]:.3f}"), (2, 2, f"correlation {r[1]:.3f}")]


def test_moments_equal_a_loop_over_pairs(rng):
    X, Y, w = rng.normal(size=(8, 3)), rng.normal(size=(6, 4)), rng.normal(size=40)
    i, j = rng.integers(8, size=40), rng.integers(6, size=40)
    share = np.abs(w) / np.abs(w).sum()
    x, y = X[i] - share @ X[i], Y[j] - share @ Y[j]
    expected = sum(w[k] * np.outer(x[k], y[k]) for k in range(40))
    assert np.allclose(moments(X, Y, WeightedPairs(i, j, w)), expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 8), (90, 120), (120, 90)])
def test_leading_vectors_are_those_of_a_full_decomposition(rng, shape):
    C = rng.normal(size=shape)
    p, size, q = leading(C, rng)
    U, sizes, Vt = np.linalg.svd(C)
    assert size == pytest.approx(sizes[0])
    assert np.outer(p, q) == pytest.approx(np.outer(U[:, 0], Vt[0]), abs=1e-6)


def test_a_search_that_does_not_converge_is_done_in_full(rng, monkeypatch):
    def fails(*_, **__):
        raise scipy.sparse.linalg.ArpackNoConvergence("no", [], [])

    C = rng.normal(size=(70, 80))
    monkeypatch.setattr("scipy.sparse.linalg.svds", fails)
    assert leading(C, rng)[1] == pytest.approx(np.linalg.norm(C, 2))


@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_thresholds_are_the_best_of_the_grid(rng, decimals):
    for _ in range(10):
        z, t, w = rng.normal(size=20).round(decimals), rng.normal(size=25), rng.normal(size=90)
        i, j = rng.integers(20, size=90), rng.integers(25, size=90)
        a, b, r = best_thresholds(z, t, WeightedPairs(i, j, w), 5)

        def correlation(a, b, z=z, t=t, i=i, j=j, w=w):
            return float(w @ np.where((z[i] > a) == (t[j] > b), 1, -1))

        assert r == pytest.approx(correlation(a, b))
        grid = itertools.product(quantiles(z, 5), quantiles(t, 5))
        assert abs(r) == pytest.approx(max(abs(correlation(*pair)) for pair in grid))


def test_quantiles_lie_between_values():
    assert quantiles(np.array([4.0, 1, 2, 3]), 1).tolist() == [2.5]
    assert quantiles(np.array([4.0, 1, 2, 3]), 3).tolist() == [1.5, 2.5, 3.5]
    assert quantiles(np.array([4.0, 1, 2, 3]), 99).tolist() == [1.5, 2.5, 3.5]


def test_quantiles_of_equal_values():
    assert quantiles(np.array([0.0, 0, 0, 0, 1]), 3).tolist() == [0.5]
    assert quantiles(np.array([0.0, 1, 1, 1, 1]), 1).tolist() == [0.5]
    assert quantiles(np.array([2.0, 2]), 3).tolist() == [2]
    assert quantiles(np.array([2.0]), 3).tolist() == [2]


def test_the_last_bit_is_no_better_than_a_coin_on_the_new_weights(rng):
    """AdaBoost's property: after a full step, the bit's correlation is 0."""
    w = rng.normal(size=50)
    w /= np.abs(w).sum()
    same = (w > 0) ^ (np.arange(50) < 10)
    agreement = np.where(same, 1, -1)
    r = float(w @ agreement)
    after, alpha, total = reweighted(w, same, r)
    assert np.abs(after).sum() == pytest.approx(1)
    assert after @ agreement == pytest.approx(0)
    assert alpha == pytest.approx(np.arctanh(r))
    assert total == pytest.approx(np.sqrt(1 - r**2))


@pytest.mark.parametrize("r", [1.0, -1.0, 0.0])
def test_weights_stay_finite_at_the_ends(r):
    same = np.array([True, False]) if r >= 0 else np.array([False, True])
    after, alpha, _ = reweighted(np.array([0.5, -0.5]), same, r)
    assert after == pytest.approx([0.5, -0.5])
    assert np.isfinite(alpha)


def test_drawn_pairs_are_of_both_kinds_and_true(rng):
    labels_x, labels_y = rng.integers(3, size=4000), rng.integers(3, size=700)
    i, j, similar = draw_cross_pairs(labels_x, labels_y, 400, rng)
    assert np.array_equal(labels_x[i] == labels_y[j], similar)
    assert similar.sum() == (~similar).sum() == 400
    assert (i.max() >= 700, j.max() < 700) == (True, True)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_tags_relate_by_what_they_share(rng, kind):
    tags_x, tags_y = (rng.random((n, 5)) < 0.2 for n in (300, 200))
    i, j, similar = draw_cross_pairs(kind(tags_x), kind(tags_y), 200, rng)
    assert np.array_equal((tags_x[i] & tags_y[j]).any(axis=1), similar)
    assert similar.sum() == (~similar).sum() == 200


def test_few_pairs_are_all_drawn(rng):
    i, j, similar = draw_cross_pairs(np.array([0, 1]), np.array([1, 1]), 100, rng)
    drawn = sorted(zip(i.tolist(), j.tolist(), similar.tolist(), strict=True))
    assert drawn == [(0, 0, False), (0, 1, False), (1, 0, True), (1, 1, True)]


def test_listed_pairs_are_drawn_too(rng):
    """Row j of the second modality is number n + j in the list."""
    listed = PairSource.from_pairs(Pairs([0, 2, 1], [3, 4, 2], [True, False, True]), 5)
    i, j, similar = draw_pairs(across(listed, 3, 2), 100, rng)
    drawn = sorted(zip(i.tolist(), j.tolist(), similar.tolist(), strict=True))
    assert drawn == [(0, 3, True), (2, 4, False)]  # 1 and 2 are of the same modality


def test_a_split_keeps_what_is_of_which_modality(rng):
    views = across(LabelSource.from_labels(np.arange(10) % 2), 5, 5)
    kept, held = views.split(rng, 0.3)
    assert (kept.n_units, held.n_units) == (7, 3)
    assert kept.across_only
    assert held.starts.tolist() == [0, 5, 10]


def test_pairs_of_one_kind_are_refused(rng):
    with pytest.raises(InvalidInputError, match=r"All 6 pairs .* similar; .* needs dissimilar"):
        draw_cross_pairs(np.zeros(3), np.zeros(2), 100, rng)
