import json

import numpy as np
import pytest

import kinhash
from kinhash import Codes, HammingIndex
from kinhash.errors import FormatError, InvalidInputError
from kinhash.loading import describe, load
from kinhash.methods import LSH


@pytest.fixture
def codes(rng):
    return Codes.from_dense(rng.integers(0, 2, (20, 8)))


def test_a_model_codes_and_an_index_are_opened_by_what_the_file_says(tmp_path, rng, codes):
    vectors = rng.normal(size=(20, 5)).astype(np.float32)
    model = LSH(n_bits=8).fit(vectors)
    model.save(tmp_path / "model")
    codes.save(tmp_path / "codes", np.arange(20) + 7)
    HammingIndex(codes).save(tmp_path / "index")
    assert np.array_equal(
        load(tmp_path / "model").encode(vectors).words, model.encode(vectors).words
    )
    assert load(tmp_path / "codes").ids.tolist() == list(range(7, 27))
    assert len(load(tmp_path / "index")) == 20


def test_facts_of_codes_are_counted(tmp_path, codes):
    codes.save(tmp_path / "codes")
    dense = codes.to_dense()
    assert describe(tmp_path / "codes") == {
        "kind": "codes",
        "format": 1,
        "kinhash": kinhash.__version__,
        "n": 20,
        "n_bits": 8,
        "signed": False,
        "mean_active": pytest.approx(dense.sum(axis=1).mean()),
        "sd_active": pytest.approx(dense.sum(axis=1).std()),
        "unique_codes": len(np.unique(dense, axis=0)),
    }
    codes[:0].save(tmp_path / "none")
    assert describe(tmp_path / "none")["mean_active"] is None


def test_facts_of_a_model_say_what_differs_from_the_defaults(tmp_path, rng):
    LSH(n_bits=8).fit(rng.normal(size=(20, 5))).save(tmp_path / "model")
    facts = describe(tmp_path / "model")
    assert (facts["method"], facts["n_bits"], facts["n_features"]) == ("lsh", 8, 5)
    assert facts["changed"] == {"n_bits": 8}
    assert facts["history"] is None
    json.dumps(facts)


def test_facts_of_an_index_are_those_of_its_file(tmp_path, codes):
    HammingIndex(codes, memory="lean").save(tmp_path / "index")
    facts = describe(tmp_path / "index", verify=True)
    assert (facts["kind"], facts["n"], facts["memory"]) == ("index", 20, "lean")
    assert facts["structures"].keys() == {"lookup"}
    assert facts["bytes_per_item"] == HammingIndex(codes, memory="lean").n_bytes / 20


def test_what_is_not_ours_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot read .*nowhere: no such file"):
        describe(tmp_path / "nowhere")
    (tmp_path / "text").write_text("some words that are long enough")
    with pytest.raises(FormatError, match="is not a kinhash file"):
        describe(tmp_path / "text")
