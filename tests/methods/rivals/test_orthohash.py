import math

import numpy as np
import pytest
import scipy.optimize

import kinhash
from kinhash.encoders import KernelTopKEncoder, TopKEncoder
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, OrthoHash
from kinhash.methods.rivals.orthohash import cosine_loss
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def measures(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])


@pytest.fixture
def problem(rng):
    """Outputs of six rows, the codes of four classes, and who is of which class."""
    words = rng.normal(size=(4, 9))
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    shares = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    shares[5] = [0.5, 0.5, 0, 0]
    return rng.normal(size=(6, 9)), words, shares


def test_the_loss_equals_loops_over_rows_classes_and_bits(problem):
    outputs, words, shares = problem
    losses, _ = cosine_loss(outputs, words, shares, 8.0, 0.2)
    for row, z in enumerate(outputs):
        logits = []
        for c in range(4):
            inner = sum(z[bit] * words[c, bit] for bit in range(9))
            cosine = inner / math.sqrt(sum(value**2 for value in z))
            logits.append(8.0 * (cosine - (0.2 if shares[row, c] > 0 else 0)))
        total = sum(math.exp(logit) for logit in logits)
        expected = -sum(s * (x - math.log(total)) for s, x in zip(shares[row], logits, strict=True))
        assert losses[row] == pytest.approx(expected)


def test_the_gradient_is_that_of_the_loss(problem):
    outputs, words, shares = problem
    _, slopes = cosine_loss(outputs, words, shares, 8.0, 0.2)
    numeric = scipy.optimize.approx_fprime(
        outputs.ravel(),
        lambda flat: cosine_loss(flat.reshape(6, 9), words, shares, 8.0, 0.2)[0].sum(),
        1e-7,
    )
    assert np.allclose(slopes.ravel(), numeric, atol=1e-4)


def test_outputs_of_length_zero_have_a_finite_loss():
    losses, slopes = cosine_loss(np.zeros((2, 3)), np.eye(3), np.eye(3)[:2], 8.0, 0.2)
    assert np.isfinite(losses).all()
    assert np.isfinite(slopes).all()


def test_what_is_learned_has_the_loss_that_is_told(digits):
    """The encoder's outputs, with the codes of the classes as most items have them."""
    X, y = digits
    X, y = X[:400], y[:400]
    model = OrthoHash(32, n_active=5).fit(X, y)
    codes = model.encode(X).to_dense()
    commonest = [np.unique(codes[y == c], axis=0, return_counts=True) for c in range(10)]
    words = np.array([rows[counts.argmax()] for rows, counts in commonest]) - 5 / 32
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    losses, _ = cosine_loss(
        model.encoder_.forward(X).astype(np.float64), words, np.eye(10)[y], 8.0, 0.2
    )
    assert losses.mean() == pytest.approx(model.history_[0]["loss"], rel=0.02)


def test_the_descent_lowers_the_loss(digits):
    X, y = digits
    losses = [
        OrthoHash(32, n_anchors=0, max_steps=steps).fit(X[:400], y[:400]).history_[0]["loss"]
        for steps in (1, 5, 200)
    ]
    assert losses[0] > losses[1] > losses[2]


def test_most_items_of_a_class_have_the_code_of_the_class(digits):
    X, y = digits
    codes = OrthoHash(64).fit(X[:1000], y[:1000]).encode(X[1000:])
    commonest = []
    for c in range(10):
        rows, counts = np.unique(codes.words[y[1000:] == c], axis=0, return_counts=True)
        assert counts.max() > 0.6 * counts.sum()
        commonest.append(int(rows[counts.argmax(), 0]))
    assert len(set(commonest)) == 10


@pytest.mark.parametrize(("parameters", "n_active"), [({}, 3), ({"n_active": 8}, 8)])
def test_all_codes_have_the_same_number_of_active_bits(digits, parameters, n_active):
    X, y = digits
    model = OrthoHash(32, **parameters).fit(X[:300], y[:300])
    assert set(model.encode(X).n_active.tolist()) == {n_active}


def test_with_many_classes_there_are_more_active_bits_where_they_must_be(digits):
    X, y = digits
    assert set(OrthoHash(9).fit(X[:300], y[:300]).encode(X).n_active.tolist()) == {2}
    with pytest.raises(InvalidInputError, match="`n_bits` 4 with `n_active` 2 give 6 different"):
        OrthoHash(4).fit(X[:300], y[:300])
    with pytest.raises(
        InvalidInputError, match="`n_active` 1 give 9 different codes, too few for 1"
    ):
        OrthoHash(9, n_active=1).fit(X[:300], y[:300])


def test_more_active_bits_give_finer_codes(digits):
    X, y = digits
    coarse, fine = (OrthoHash(64, n_active=n).fit(X[:400], y[:400]).encode(X) for n in (6, 16))
    assert fine.n_unique > 1.5 * coarse.n_unique


def test_it_ranks_far_better_than_random_projections(digits):
    X, y = digits
    learned = OrthoHash(32).fit(X[600:1000], y[600:1000])
    assert isinstance(learned.encoder_, KernelTopKEncoder)
    found = measures(learned, X, y)
    assert found["map"] > measures(LSH(32).fit(X), X, y)["map"] + 0.3
    assert found["f1@r0"] > 0.7


def test_plain_vectors_will_do(digits):
    X, y = digits
    model = OrthoHash(32, n_anchors=0).fit(X[600:1000], y[600:1000])
    assert isinstance(model.encoder_, TopKEncoder)
    assert not isinstance(model.encoder_, KernelTopKEncoder)
    assert measures(model, X, y)["map"] > 0.5


def test_tags_teach_too_and_rows_without_any_do_no_harm(digits):
    X, y = digits
    X, y = X[:600], y[:600]
    tags = np.eye(10, dtype=int)[y]
    model = OrthoHash(32).fit(X, tags)
    assert measures(model, X, y)["map"] > 0.8
    tags[:100] = 0
    tags[100:, 3] |= y[100:] == 5
    codes = OrthoHash(32).fit(X, tags).encode(X)
    found = evaluate_codes(codes[100:200], tags[100:200], codes[200:], tags[200:])
    assert found["map"] > 0.8


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = OrthoHash(70).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.history_ == model.history_


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, None, "OrthoHash requires y to be passed"),
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({"n_bits": 1}, [0, 1] * 50, r"`n_bits` must be an integer in \[2, 4096\], got 1"),
        ({"n_active": 64}, [0, 1] * 50, r"`n_active` must be an integer in \[1, 63\], got 64"),
        ({"scale": 0}, [0, 1] * 50, "`scale` must be a number greater than 0, got 0"),
        ({"margin": -1}, [0, 1] * 50, "`margin` must be a number of at least 0, got -1"),
        ({"n_anchors": -1}, [0, 1] * 50, "`n_anchors` must be an integer of at least 0, got -1"),
        ({"gamma": 0}, [0, 1] * 50, "`gamma` must be a number greater than 0, got 0"),
        ({"max_steps": 0}, [0, 1] * 50, "`max_steps` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        OrthoHash(**parameters).fit(digits[0][:100], y)
