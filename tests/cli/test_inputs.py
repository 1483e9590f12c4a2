import io
import sys
from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.cli.data import load_data
from kinhash.cli.inputs import (
    build_index,
    check_modality,
    encoded,
    encoder_of,
    holds_index,
    load_codes,
    load_items,
    load_model,
)
from kinhash.codes import StoredCodes
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, MultimodalMethod

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"  # a model, codes, and a multimodal model


def load_plain(data, **options):
    names = dict.fromkeys(("features", "labels", "ids", "root"))
    return load_data(str(data), **names | options)


@pytest.fixture
def files(rng, tmp_path):
    """A model, its codes and an index of them."""
    X = rng.normal(size=(30, 4))
    model = LSH(16).fit(X)
    codes, made_by = model.encode(X), model.encoder_.fingerprint
    model.save(tmp_path / "model")
    codes.save(tmp_path / "codes", range(100, 130), made_by=made_by)
    HammingIndex(codes, range(100, 130), made_by=made_by).save(tmp_path / "index")
    return tmp_path


def test_data_is_named_or_a_file(tmp_path):
    np.savez(tmp_path / "items.npz", vectors=np.eye(3), labels=[1, 2, 1])
    assert len(load_plain("digits")) == 1797
    found = load_plain(tmp_path / "items.npz")
    assert found.labels.tolist() == [1, 2, 1]


def test_a_dash_reads_csv_from_stdin(monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(b"a,b,label\n1,2,x\n3,4,y\n"))
    monkeypatch.setattr(sys, "stdin", text)
    found = load_plain("-")
    assert found.vectors.tolist() == [[1, 2], [3, 4]]
    assert found.names == ("x", "y")
    assert found.name == "standard input"


def test_each_kind_of_file_is_opened_as_what_it_is(files):
    assert type(load_model(files / "model")) is LSH
    stored = load_codes(files / "codes")
    assert stored.ids.tolist() == list(range(100, 130))
    model = load_model(files / "model")
    for name in ("codes", "index"):
        items = load_items(files / name, model)
        assert len(items) == 30
        assert items.search_top_k(stored.codes[:1], 1)[0][1].tolist() == [0]
    assert [holds_index(files / name) for name in ("model", "codes", "index", "none")] == [
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("opened", "name", "message"),
    [
        (load_model, "codes", "must hold a model, .* but it holds codes"),
        (load_model, "index", "must hold a model, .* but it holds an index"),
        (load_codes, "model", "must hold codes, .* but it holds a model"),
        (load_codes, "index", "must hold codes, .* but it holds an index"),
    ],
)
def test_another_kind_of_file_is_refused_with_both_kinds(files, opened, name, message):
    with pytest.raises(InvalidInputError, match=f"{name} {message}"):
        opened(files / name)


def test_items_of_another_encoder_are_refused_with_both(files, rng):
    other = LSH(16, seed=1).fit(rng.normal(size=(30, 4)))
    made, own = load_model(files / "model").encoder_.fingerprint, other.encoder_.fingerprint
    for name in ("codes", "index"):
        with pytest.raises(InvalidInputError, match=f"encoder {made}, but the model's is {own}"):
            load_items(files / name, other)


def test_items_of_another_length_are_refused_with_both(files, rng):
    Codes.from_dense(rng.integers(2, size=(3, 24))).save(files / "unknown")
    with pytest.raises(
        InvalidInputError, match=r"holds codes of 24 bits, but the model makes codes of 16 bits\."
    ):
        load_items(files / "unknown", load_model(files / "model"))


def test_an_id_that_comes_twice_is_named_with_the_file(rng):
    codes = Codes.from_dense(rng.integers(2, size=(2, 8)))
    stored = StoredCodes(codes, np.array([7, 7]), None)
    with pytest.raises(InvalidInputError, match=r"^items\.kinhash: .*7"):
        build_index(Path("items.kinhash"), stored, memory="lean")


def test_a_modality_is_asked_for_where_there_are_several(files):
    one, several = load_model(files / "model"), load_model(GOLDEN / "multimodal.kinhash")
    assert isinstance(several, MultimodalMethod)
    check_modality(files, one, None)
    check_modality(files, several, "text")
    for model, modality, message in (
        (one, "text", "holds a lsh, which takes one kind of vectors"),
        (several, None, "has the modalities image, text"),
        (several, "sound", "'sound'.* Known: image, text"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            check_modality(files, model, modality)


def test_rows_are_encoded_by_the_encoder_of_their_modality(files, tmp_path):
    model = load_model(GOLDEN / "multimodal.kinhash")
    assert encoder_of(model, "text") is model.encoders_["text"]
    assert encoder_of(model, None) is model.encoders_["image"]
    np.savez(tmp_path / "texts.npz", text=np.array(["north wind", "unheard"]))
    data = load_plain(tmp_path / "texts.npz", modalities=("text",))
    codes, known = encoded(model, data, "text")
    assert codes == model.encode(["north wind", "unheard"], modality="text")
    assert known.tolist() == [True, False]


def test_every_row_of_one_kind_of_vectors_is_known(files, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4), np.float32))
    codes, known = encoded(load_model(files / "model"), load_plain(tmp_path / "x.npy"), None)
    assert len(codes) == 3
    assert known.tolist() == [True] * 3
