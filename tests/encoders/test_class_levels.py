import numpy as np
import pytest

from kinhash.encoders import ClassLevelsEncoder, KernelClassLevelsEncoder
from kinhash.encoders.class_levels import probabilities, written
from kinhash.errors import FormatError, InvalidInputError

# Two levels of three classes: bit 3 l + c.
THERMOMETER = np.eye(6, dtype=np.uint8).reshape(2, 3, 6)


def naive(likely, class_codes):
    codes = np.zeros((len(likely), class_codes.shape[2]), int)
    for row, p in enumerate(likely):
        for level, words in enumerate(class_codes):
            for c, word in enumerate(words):
                if p[c] >= (level + 0.5) / len(class_codes):
                    codes[row] |= word
        if all(p < 0.5 / len(class_codes)):
            codes[row] |= class_codes[0, p.argmax()]
    return codes


@pytest.mark.parametrize("n_levels", [1, 2, 3, 6])
def test_codes_are_those_of_a_naive_loop(rng, n_levels):
    class_codes = rng.integers(0, 2, (n_levels, 5, 17)).astype(np.uint8)
    likely = rng.dirichlet(np.full(5, 0.3), 400).astype(np.float32)
    likely[:50] = 0.01 * rng.random((50, 5))  # none reaches the first level
    assert np.array_equal(written(likely, class_codes), naive(likely, class_codes))


def test_a_level_is_reached_at_its_middle():
    """Of two levels the first begins at 1/4 and the second at 3/4, both included."""
    likely = np.array([[0.75, 0.25, 0.0], [0.74, 0.24, 0.02], [0.2, 0.1, 0.1]], np.float32)
    expected = [[1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    assert written(likely, THERMOMETER).tolist() == expected


def test_probabilities_are_softmax_or_logistic(rng):
    logits = rng.normal(scale=5, size=(20, 4))
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities(logits, exclusive=True), softmax)
    np.testing.assert_allclose(probabilities(logits, exclusive=False), 1 / (1 + np.exp(-logits)))
    extreme = np.array([[1e30, -1e30]])
    assert probabilities(extreme, exclusive=True).tolist() == [[1, 0]]
    assert probabilities(extreme, exclusive=False).tolist() == [[1, 0]]


def arguments(**changed):
    return {
        "mean": np.full(2, 1, np.float32),
        "scale": np.full(2, 2, np.float32),
        "W": np.array([[1, 0], [0, 1], [-1, -1]], np.float32),
        "bias": np.array([0, 0, 0.5], np.float32),
        "class_codes": THERMOMETER,
        "exclusive": True,
    } | changed


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_code_follows_from_standardised_vectors(rng, exclusive):
    encoder = ClassLevelsEncoder(**arguments(exclusive=exclusive))
    X = rng.normal(size=(300, 2)).astype(np.float32)
    logits = (X - 1) * 2 @ encoder.W.T + encoder.bias
    likely = probabilities(logits, exclusive=exclusive)
    np.testing.assert_allclose(encoder.predict(X), likely, rtol=1e-4)
    assert np.array_equal(encoder.encode(X).to_dense(), naive(encoder.predict(X), THERMOMETER))
    assert np.array_equal(encoder.forward(X) > 0, encoder.encode(X).to_dense())


def test_with_anchors_it_follows_from_the_kernel(rng):
    anchors = rng.normal(size=(4, 2)).astype(np.float32)
    W = rng.normal(size=(3, 4)).astype(np.float32)
    encoder = KernelClassLevelsEncoder(**arguments(W=W), anchors=anchors, gamma=0.5)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    squared = (((X - 1) * 2)[:, None] - anchors) ** 2
    logits = np.exp(-0.5 * squared.sum(axis=2)) @ W.T + encoder.bias
    np.testing.assert_allclose(
        encoder.predict(X), probabilities(logits, exclusive=True), rtol=1e-3, atol=1e-6
    )
    assert encoder.n_features == 2
    assert encoder.n_bits == 6


def test_logits_that_are_no_numbers_are_an_error_and_not_a_code():
    W = np.full((3, 2), 3e38, np.float32)
    encoder = ClassLevelsEncoder(**arguments(W=W))
    with np.errstate(over="ignore"):
        assert np.isnan(encoder.forward(np.full((1, 2), 9, np.float32))).all()
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 1"):
        encoder.encode(np.array([[1, 1], [9, 9]], np.float32))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"class_codes": 2 * THERMOMETER}, "`class_codes` of the encoder must hold only 0 and 1"),
        ({"class_codes": THERMOMETER[0]}, r"`class_codes` .* of shape \(0, 3, 0\)"),
        ({"bias": np.zeros(2, np.float32)}, r"`bias` .* of shape \(3,\)"),
        ({"exclusive": 1}, "`exclusive` .* true or false"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    given = arguments(**changed)
    settings = {"exclusive": given.pop("exclusive")}
    with pytest.raises(FormatError, match=message):
        ClassLevelsEncoder.restore(given, settings)
