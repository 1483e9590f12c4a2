import numpy as np
import pytest
import scipy.sparse

from kinhash.encoders import ClassRankEncoder, KernelClassRankEncoder, restored_encoder
from kinhash.errors import FormatError, InvalidInputError

WORDS = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]], np.uint8)


def arguments(**changed):
    """Three classes, two of whose words overlap, five bucket and two rank bits."""
    return {
        "mean": np.full(2, 1, np.float32),
        "scale": np.full(2, 2, np.float32),
        "W": np.array([[1, 0], [0, 1], [-1, -1], [1, -1], [0.5, 1]], np.float32),
        "bias": np.array([0, 0, 0.5, 0.1, -0.2], np.float32),
        "class_codes": WORDS[None],
        "exclusive": True,
        "G": np.array([[1, -1, 0], [0.5, 0, -2]], np.float32),
        "temperature": 0.3,
        "unit_rows": False,
    } | changed


def kernel(rng, **changed):
    return (
        arguments(
            W=rng.normal(size=(5, 4)).astype(np.float32),
            bias=np.array([0.3, -0.2, 0.5, 0.1, -0.2], np.float32),  # also far from all anchors
            anchors=rng.normal(size=(4, 2)).astype(np.float32),
            gamma=0.5,
        )
        | changed
    )


def plain_formula(given, X):
    """Return bits of buckets, outputs behind rank bits, and which rows are near ties, in float64.

    One row after the other.
    """
    buckets, outputs, ties = [], [], []
    for x in X.astype(np.float64):
        z = (x - given["mean"]) * given["scale"]
        if given["unit_rows"] and z.any():
            z = z / np.sqrt(z @ z)
        if "anchors" in given:
            z = np.exp(-given["gamma"] * ((z - given["anchors"]) ** 2).sum(axis=1))
        V = given["W"].astype(np.float64) @ z + given["bias"]

        def likely(logits):
            if given["exclusive"]:
                return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
            return 1 / (1 + np.exp(-logits))

        sharp = likely(V[:3] / given["temperature"])
        bucket = given["class_codes"][0][sharp.argmax()].copy()
        for c in range(3):
            if sharp[c] >= 0.5:
                bucket |= given["class_codes"][0][c]
        buckets.append(bucket)
        outputs.append(V[3:] + given["G"] @ np.sqrt(likely(V[:3])))
        first, second = np.sort(sharp)[:0:-1]
        ties.append(np.abs(sharp - 0.5).min() < 0.02 or first - second < 0.02)
    return np.array(buckets, int), np.array(outputs), np.array(ties)


def dense(codes):
    return np.hstack([codes.to_dense(), codes.rank_to_dense()])


@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("kind", [ClassRankEncoder, KernelClassRankEncoder])
def test_codes_follow_from_the_plain_formula(rng, kind, exclusive, unit_rows):
    changed = {"exclusive": exclusive, "unit_rows": unit_rows}
    given = arguments(**changed) if kind is ClassRankEncoder else kernel(rng, **changed)
    encoder = kind(**given)
    X = rng.normal(size=(700, 2)).astype(np.float32)
    codes = encoder.encode(X)
    assert (codes.n_bits, codes.n_rank_bits, encoder.n_rank_bits) == (7, 2, 2)
    buckets, outputs, ties = plain_formula(given, X)
    assert np.array_equal(codes.to_dense()[~ties], buckets[~ties])
    assert ties.mean() < 0.2
    np.testing.assert_allclose(encoder.forward(X)[:, 5:], outputs, atol=5e-3)
    assert np.array_equal(dense(codes), encoder.forward(X) > 0)
    assert len(np.unique(codes.words)) >= 2


def test_more_than_64_bits_of_each_part_are_packed(rng):
    words = rng.integers(2, size=(1, 3, 70)).astype(np.uint8)
    W = rng.normal(size=(3 + 130, 2)).astype(np.float32)
    G, bias = np.zeros((130, 3), np.float32), np.zeros(133, np.float32)
    encoder = ClassRankEncoder(**arguments(class_codes=words, W=W, G=G, bias=bias))
    X = rng.normal(size=(300, 2)).astype(np.float32)
    codes = encoder.encode(X)
    assert (codes.n_bits, codes.n_rank_bits, codes.rank_words.shape) == (200, 130, (300, 3))
    assert np.array_equal(codes.rank_to_dense(), encoder.standardise(X) @ W[3:].T > 0)
    assert np.array_equal(dense(codes), encoder.forward(X) > 0)


def test_sparse_rows_have_the_codes_of_dense_ones(rng):
    given = arguments(mean=np.zeros(2, np.float32), unit_rows=True)
    X = rng.normal(size=(50, 2)).astype(np.float32)
    X[rng.random((50, 2)) < 0.3] = 0
    encoder = ClassRankEncoder(**given)
    assert encoder.encode(scipy.sparse.csr_array(X)) == encoder.encode(X)


def described(kind, given):
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    settings = {name: value for name, value in given.items() if name not in arrays}
    return {"encoder": kind.kind, "settings": settings}, arrays


def restored(kind, given):
    return restored_encoder(*described(kind, given))


def test_arrays_and_settings_bring_it_back(rng):
    X = rng.normal(size=(100, 2)).astype(np.float32)
    for kind, given in ((ClassRankEncoder, arguments()), (KernelClassRankEncoder, kernel(rng))):
        encoder = kind(**given)
        again = restored_encoder(
            {"encoder": encoder.kind, "settings": encoder.settings()}, encoder.arrays()
        )
        assert type(again) is kind
        assert again.fingerprint == encoder.fingerprint
        assert again.encode(X) == encoder.encode(X)


def test_a_code_may_be_a_bucket_alone(rng):
    given = arguments()
    given |= {"W": given["W"][:3], "bias": given["bias"][:3], "G": np.zeros((0, 3), np.float32)}
    encoder = restored(ClassRankEncoder, given)
    codes = encoder.encode(rng.normal(size=(10, 2)).astype(np.float32))
    assert (codes.n_bits, codes.n_rank_bits) == (5, 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"temperature": 0}, "`temperature` .* positive float32 number, the file has 0"),
        ({"temperature": -1.0}, "`temperature` .* positive float32 number, the file has -1"),
        ({"temperature": "x"}, "`temperature` .* positive float32 number, the file has 'x'"),
        ({"unit_rows": 1}, "`unit_rows` .* true or false, the file has 1"),
        ({"exclusive": "yes"}, "`exclusive` .* true or false"),
        ({"G": np.zeros((2, 4), np.float32)}, r"`G` .* float32 of shape \(2, 3\), .* \(2, 4\)"),
        (
            {"G": np.zeros((3, 3), np.float32)},
            r"`W` .* of shape \(6, 2\), the file has .* \(5, 2\)",
        ),
        ({"G": np.zeros(6, np.float32)}, "of the encoder must be float32 of shape"),
        ({"G": np.zeros((), np.float32)}, "of the encoder must be float32 of shape"),
        ({"G": np.full((2, 3), np.nan, np.float32)}, "`G` of the encoder has a NaN"),
        ({"G": np.zeros((2, 3))}, "`G` of the encoder must be float32 .* has float64"),
        ({"W": np.zeros((4, 2), np.float32)}, r"`W` .* of shape \(5, 2\)"),
        ({"W": np.zeros(5, np.float32)}, "of the encoder must be float32 of shape"),
        ({"bias": np.zeros(3, np.float32)}, r"`bias` .* of shape \(5,\)"),
        ({"class_codes": 2 * WORDS[None]}, "`class_codes` of the encoder must hold only 0 and 1"),
        ({"class_codes": WORDS}, "of the encoder must be"),
        (
            {
                "class_codes": np.zeros((1, 0, 5), np.uint8),
                "W": np.zeros((2, 2), np.float32),
                "bias": np.zeros(2, np.float32),
                "G": np.zeros((2, 0), np.float32),
            },
            r"must have a level, a class and a bit at least, the file has shape \(1, 0, 5\)",
        ),
        (
            {"class_codes": np.zeros((1, 3, 0), np.uint8)},
            r"must have a level, a class and a bit at least, the file has shape \(1, 3, 0\)",
        ),
        ({"class_codes": np.zeros((1, 3, 4095), np.uint8)}, "4097 bits, a code has 1 to 4096"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(FormatError, match=message):
        restored(ClassRankEncoder, arguments(**changed))


@pytest.mark.parametrize("name", ["G", "W", "class_codes", "temperature", "unit_rows"])
def test_what_is_missing_is_named(name):
    given = arguments()
    del given[name]
    with pytest.raises(FormatError, match=f"a 'class-rank' encoder has .*{name}.*; the file has"):
        restored(ClassRankEncoder, given)


def test_a_kernel_must_have_its_anchors(rng):
    given = kernel(rng)
    with pytest.raises(FormatError, match=r"`W` .* of shape \(5, 3\), the file has .* \(5, 4\)"):
        restored(KernelClassRankEncoder, given | {"anchors": given["anchors"][:3]})
    with pytest.raises(FormatError, match="`gamma` of the encoder must be a positive"):
        restored(KernelClassRankEncoder, given | {"gamma": 0.0})
    del given["anchors"]
    with pytest.raises(FormatError, match=r"has .*anchors.*; the file has"):
        restored(KernelClassRankEncoder, given)


@pytest.mark.parametrize(
    ("name", "value", "x"), [("W", 3e38, 900), ("G", 3e38, 1), ("temperature", 1e-37, 900)]
)
def test_outputs_that_are_no_numbers_are_an_error_and_not_a_code(name, value, x):
    given = arguments()
    given[name] = value if name == "temperature" else np.full_like(given[name], value)
    encoder = ClassRankEncoder(**given)
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 0"):
        encoder.encode(np.full((1, 2), x, np.float32))
