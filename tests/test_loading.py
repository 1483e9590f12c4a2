from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, HammingIndex, storage
from kinhash.codes import StoredCodes
from kinhash.errors import FormatError, InvalidInputError
from kinhash.loading import load
from kinhash.methods import LSH, METHODS, MULTIMODAL_METHODS

GOLDEN = Path(__file__).parent / "golden" / "v1"


@pytest.fixture
def codes(rng):
    return Codes.from_dense(rng.integers(2, size=(9, 20)))


def test_the_file_says_what_it_holds(rng, codes, tmp_path):
    X = rng.normal(size=(20, 3))
    paths = [tmp_path / name for name in ("model", "codes", "index")]
    LSH(8).fit(X).save(paths[0])
    codes.save(paths[1], ids=range(9))
    HammingIndex(codes).save(paths[2])
    model, stored, index = (load(path) for path in paths)
    assert type(model) is LSH
    assert model.encode(X) == LSH(8).fit(X).encode(X)
    assert isinstance(stored, StoredCodes)
    assert stored.codes == codes
    assert stored.ids.tolist() == list(range(9))
    assert isinstance(index, HammingIndex)
    assert len(index) == 9


def test_a_path_may_be_text(codes, tmp_path):
    codes.save(tmp_path / "codes")
    assert load(str(tmp_path / "codes")).codes == codes


def test_a_model_of_several_modalities_is_a_model_too():
    model = load(GOLDEN / "multimodal.kinhash")
    assert type(model) is MULTIMODAL_METHODS["multimodal-sparsehash"]


def test_a_method_of_the_future_is_named_with_those_known(tmp_path):
    storage.write(tmp_path / "m", {"kind": "model", "method": "later"}, {"W": np.zeros(3)})
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path / 'm'} holds a 'later'; this release reads")
    assert all(name in str(caught.value) for name in [*METHODS, *MULTIMODAL_METHODS])


def test_what_is_missing_in_a_file_is_named_with_the_file(tmp_path):
    storage.write(tmp_path / "m", {"kind": "model", "method": "lsh"}, {"W": np.zeros(3)})
    with pytest.raises(FormatError, match=r"m is not complete: 'parameters'\."):
        load(tmp_path / "m")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="nowhere"):
        load(tmp_path / "nowhere")
