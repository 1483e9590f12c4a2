import numpy as np
import pytest
import scipy.sparse

from kinhash import Codes, Pairs
from kinhash.errors import InvalidInputError
from kinhash.methods.parts.whitened_pairs import (
    RIDGE,
    _listed,
    _orthogonal,
    _Problem,
    _rates,
    _whitened,
    fit_pairs_alone,
)
from kinhash.methods.rivals.lsh import LSH
from kinhash.methods.standardisation import standardisation
from kinhash.metrics import evaluate_pairs


def fitted(X, pairs, n_bits=64, seed=0):
    mean, scale, _ = standardisation(X)
    return fit_pairs_alone(X, pairs, mean, scale, n_bits=n_bits, seed=seed)


@pytest.fixture
def copies(rng):
    """Rows and two altered copies of each; altering moves the first columns most."""
    originals = rng.normal(size=(200, 24))
    noise = np.where(np.arange(24) < 8, 2.0, 0.1)
    X = np.concatenate([originals, *(originals + noise * rng.normal(size=(2, 200, 24)))])
    return X, np.tile(np.arange(200), 3)


def similar(source, chosen):
    """Return the pairs of rows of equal source, of the chosen sources."""
    i, j = np.nonzero(np.triu((source[:, None] == source) & np.isin(source, chosen), 1))
    return Pairs(i, j)


def test_duplicates_never_seen_separate_at_the_radius_it_says(copies):
    X, source = copies
    rest = source >= 100
    known = np.flatnonzero(~rest | (np.arange(600) < 200))  # copies of the others come later
    encoder, facts = fitted(X[known], similar(source[known], range(100)), n_bits=128)
    found = evaluate_pairs(encoder.encode(X[rest]), source[rest], radii=[facts.radius])
    f1 = found[f"pair_f1@r{facts.radius}"]
    codes = LSH(n_bits=128).fit(X).encode(X[rest])
    by_lsh = evaluate_pairs(codes, source[rest], radii=range(64))
    assert f1 > 0.85
    assert f1 > 0.15 + max(by_lsh[f"pair_f1@r{r}"] for r in range(64))
    assert facts.held_out
    assert facts.f1 == pytest.approx(f1, abs=0.1)
    assert f"radius {facts.radius} tells similar pairs best" in facts.message()
    assert facts.record()["radius"] == facts.radius


def test_the_length_follows_from_the_data(copies):
    X, source = copies
    pairs = similar(source, range(100))
    encoder, facts = fitted(X, pairs, n_bits=None)
    assert encoder.n_bits == facts.n_bits
    assert set(facts.f1_of_length) == {64, 128, 256, 512}
    assert facts.f1_of_length[facts.n_bits] >= max(facts.f1_of_length.values()) - 0.01
    shorter = [f1 for n, f1 in facts.f1_of_length.items() if n < facts.n_bits]
    assert all(f1 < max(facts.f1_of_length.values()) - 0.01 for f1 in shorter)


def test_a_much_better_length_is_named_and_not_taken(copies):
    X, source = copies
    pairs = similar(source, range(100))
    with pytest.warns(UserWarning, match=r"^8 bits tell .* n_bits=(64|128|256|512) reaches 0\."):
        encoder, facts = fitted(X, pairs, n_bits=8)
    assert encoder.n_bits == facts.n_bits == 8
    assert set(facts.f1_of_length) == {8, 64, 128, 256, 512}
    assert facts.f1 == facts.f1_of_length[8]


def test_whitening_makes_the_mixed_scatter_the_unit_matrix(rng):
    """With all unit vectors projected on, W'W is the inverse of the scatter, up to row lengths."""
    values = rng.normal(size=(40, 4))
    pairs = np.array([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])
    component = np.concatenate([np.repeat(np.arange(5), 2), np.arange(5, 35)])
    problem = _Problem(values, pairs, pairs[:0], component, 40, 5)
    known = np.ones(40, bool)
    W = _whitened(problem, known, 2.0, np.eye(4))
    S = sum(np.outer(v, v) for v in (values[i] - values[j] for i, j in pairs))
    alone = values[[0, 2, 4, 6, 8, *range(10, 40)]]
    T = np.cov(alone.T) * (len(alone) - 1)
    scatter = S / np.trace(S) + 2 * T / np.trace(T) + 3 * RIDGE / 4 * np.eye(4)
    turned = W @ scatter @ W.T
    assert np.allclose(turned, np.diag(np.diag(turned)), atol=1e-9)
    assert np.allclose(np.linalg.norm(W, axis=1), 1)


def test_rates_equal_a_loop_over_pairs(rng):
    """Rows 0 to 2 are joined by two listed pairs: the third pair of them is left out."""
    codes = Codes.from_dense((rng.random((6, 5)) < 0.5).astype(np.int8))
    listed = np.array([[0, 1], [1, 2]])
    component = np.array([0, 0, 0, 1, 2, 3])
    problem = _Problem(np.zeros((6, 1)), listed, listed[:0], component, 6, 2)
    f1, precision, recall = _rates(problem, np.arange(6), codes)
    dense = codes.to_dense()
    for radius in range(6):
        hits = wrong = 0
        for i in range(6):
            for j in range(i + 1, 6):
                near = (dense[i] != dense[j]).sum() <= radius
                hits += near and [i, j] in listed.tolist()
                wrong += near and component[i] != component[j]
        assert recall[radius] == hits / 2
        assert precision[radius] == pytest.approx(hits / max(1, hits + wrong))
        assert f1[radius] == pytest.approx(2 * hits / (hits + wrong + 2))


def test_listed_dissimilar_pairs_alone_decide_the_radius(copies):
    """Far pairs listed as dissimilar allow a wide radius; near ones do not."""
    X, source = copies
    pairs = similar(source, range(60))
    distances = np.linalg.norm(X[:200, None] - X[None, :200], axis=2)
    i, j = np.triu_indices(200, 1)
    by_distance = np.argsort(distances[i, j])
    radii = []
    for chosen in (by_distance[:500], by_distance[-500:]):
        flags = np.repeat([True, False], [len(pairs), 500])
        both = Pairs(np.append(pairs.i, i[chosen]), np.append(pairs.j, j[chosen]), flags)
        radii.append(fitted(X, both)[1].radius)
    assert radii[0] < radii[1]


def test_contradictions_are_dropped_with_a_warning():
    pairs = Pairs([0, 1, 2, 4], [1, 0, 3, 5], [True, False, True, False])
    with pytest.warns(UserWarning, match=r"1 of `pairs` .* first of rows 0 and 1"):
        similar_pairs, dissimilar = _listed(pairs)
    assert similar_pairs.tolist() == [[2, 3]]
    assert dissimilar.tolist() == [[4, 5]]


@pytest.mark.filterwarnings("ignore:1 of `pairs`")
@pytest.mark.parametrize("pairs", [Pairs([0], [1], [False]), Pairs([0, 1], [1, 0], [True, False])])
def test_without_a_similar_pair_it_says_so(rng, pairs):
    with pytest.raises(InvalidInputError, match="list no similar pair"):
        fitted(rng.normal(size=(20, 4)), pairs)


def test_projections_are_orthogonal_in_runs(rng):
    P = _orthogonal(7, 3, rng)
    assert P.shape == (7, 3)
    for run in (P[:3], P[3:6]):
        assert np.allclose(run @ run.T, np.eye(3))


def test_the_seed_makes_it_repeatable(copies):
    X, source = copies
    pairs = similar(source, range(20))
    first, again = (fitted(X, pairs, seed=3)[0].encode(X) for _ in range(2))
    assert first == again
    assert first != fitted(X, pairs, seed=4)[0].encode(X)


CASES = {
    "20 rows": lambda rng: rng.normal(size=(20, 30)),
    "duplicates": lambda rng: np.repeat(rng.normal(size=(4, 30)), 5, axis=0),
    "a constant column": lambda rng: np.column_stack([rng.normal(size=(50, 9)), np.ones(50)]),
    "sparse": lambda rng: scipy.sparse.random_array((80, 40), density=0.1, rng=rng, format="csr"),
    "many sparse columns": lambda rng: scipy.sparse.random_array(
        (80, 3000), density=0.01, rng=rng, format="csr"
    ),
}


@pytest.mark.parametrize("n_pairs", [1, 2, 6])
@pytest.mark.parametrize("case", CASES)
def test_small_and_odd_data_give_codes_of_the_length_asked_for(rng, case, n_pairs):
    X = CASES[case](rng)
    encoder, facts = fitted(X, Pairs(2 * np.arange(n_pairs), 2 * np.arange(n_pairs) + 1))
    assert encoder.encode(X).n_bits == facts.n_bits == 64
    assert facts.held_out == (n_pairs > 1)
    assert 0 <= facts.radius <= 64
    assert np.isfinite(list(facts.record().values())).all()
