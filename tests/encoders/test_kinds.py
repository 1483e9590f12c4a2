import numpy as np
import pytest

from kinhash.encoders import (
    ENCODERS,
    ClassRankEncoder,
    Encoder,
    LandmarkEncoder,
    LinearEncoder,
    NestedEncoder,
    restored_encoder,
    unit_length,
)
from kinhash.errors import FormatError

_PER_FEATURE = ("W", "mean", "scale")


@pytest.fixture
def nested(rng):
    """Return a landmark bucket with linear rank bits, as vectors alone give them."""
    mean, scale = rng.normal(size=5).astype(np.float32), np.ones(5, np.float32)
    landmarks = unit_length(rng.normal(size=(8, 5)).astype(np.float32))
    W = rng.normal(size=(6, 5)).astype(np.float32)
    return NestedEncoder.of(
        LandmarkEncoder(mean, scale, landmarks, n_nearest=2),
        LinearEncoder(mean, scale, W, bias=np.zeros(6, np.float32)),
    )


def described(encoder):
    return {"encoder": encoder.kind, "settings": encoder.settings()}


def test_every_kind_is_in_the_table_by_its_name():
    def below(kind):
        return {kind, *(one for inner in kind.__subclasses__() for one in below(inner))}

    named = {kind.kind: kind for kind in below(Encoder) if "kind" in vars(kind)}
    own = {name: kind for name, kind in named.items() if kind.__module__.startswith("kinhash.")}
    del own[NestedEncoder.kind]
    assert own == ENCODERS


def test_both_parts_come_back(nested, rng):
    again = restored_encoder(described(nested), nested.arrays())
    X = rng.normal(size=(40, 5)).astype(np.float32)
    assert again.encode(X) == nested.encode(X)
    assert again.fingerprint == nested.fingerprint
    assert (again.n_bits, again.n_rank_bits) == (14, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("rank"), "`rank` is missing"),
        (lambda s: s.update(more=1), "the setting 'more' is unknown"),
        (lambda s: s.update(rank=3), "`rank` must be an object, the file has 3"),
        (lambda s: s["rank"].update(more=1), "the entry 'more' is unknown"),
        (lambda s: s["rank"].pop("settings"), "`settings` is missing"),
        (lambda s: s["rank"].update(encoder="x"), "the rank: Unknown encoder 'x'"),
        (lambda s: s["bucket"].update(encoder=None), "the bucket: `encoder` must be a string"),
        (lambda s: s["bucket"].update(encoder="nested"), "the bucket: Unknown encoder 'nested'"),
        (lambda s: s["bucket"]["settings"].update(n_nearest=9), "the bucket: `n_nearest` .* 9"),
    ],
)
def test_settings_that_do_not_fit_are_refused(nested, change, message):
    whole = described(nested)
    change(whole["settings"])
    with pytest.raises(FormatError, match=message):
        restored_encoder(whole, nested.arrays())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("rank/bias"), "the rank: a 'linear' encoder has W, bias, mean"),
        (lambda a: a.update({"rank/more": a["rank/bias"]}), "the rank: a 'linear' encoder has"),
        (lambda a: a.update(W=a["rank/W"]), "the array 'W' is unknown"),
        (
            lambda a: a.update(
                {f"rank/{name}": a[f"rank/{name}"][..., :4].copy() for name in _PER_FEATURE}
            ),
            "with 5 numbers, as the bucket has them, the file has unsigned ones of 4 numbers",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(nested, change, message):
    arrays = nested.arrays()
    change(arrays)
    with pytest.raises(FormatError, match=message):
        restored_encoder(described(nested), arrays)


def test_a_part_of_a_nested_encoder_has_no_rank_bits_of_its_own(nested, rng):
    two = ClassRankEncoder(
        nested.mean,
        nested.scale,
        W=rng.normal(size=(5, 5)).astype(np.float32),
        bias=np.zeros(5, np.float32),
        class_codes=np.eye(3, dtype=np.uint8)[None],
        exclusive=True,
        G=np.zeros((2, 3), np.float32),
        temperature=1.0,
        unit_rows=False,
    )
    for bucket, rank in ((two, nested.rank), (nested.bucket, two)):
        made = NestedEncoder.of(bucket, rank)
        with pytest.raises(FormatError, match="a part of nested codes must have one part"):
            restored_encoder(described(made), made.arrays())


def test_more_bits_than_a_code_has_are_refused(nested, rng):
    W = rng.normal(size=(4090, 5)).astype(np.float32)
    wide = LinearEncoder(nested.mean, nested.scale, W, bias=np.zeros(4090, np.float32))
    made = NestedEncoder.of(nested.bucket, wide)
    with pytest.raises(FormatError, match="the model has 4098 bits, a code has 1 to 4096"):
        restored_encoder(described(made), made.arrays())
