import numpy as np
import pytest

from kinhash import Codes
from kinhash.cli.compared import Compared
from kinhash.cli.deduplicating import Job, single_model
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex


def job(**more):
    return Job(
        **{
            "similarity": None,
            "radius": 1,
            "linkage": "star",
            "recall": 1.0,
            "seed": 0,
            "n_threads": 1,
            "model": None,
            **more,
        }
    )


def test_an_index_and_the_groups_are_written_both_or_neither(tmp_path, monkeypatch):
    path, out = tmp_path / "i.kinhash", tmp_path / "groups.csv"
    HammingIndex(Codes.from_dense(np.eye(4)), [1, 2, 3, 4]).save(path)
    rows = Compared("new", Codes.from_dense([[1, 1, 1, 1], [1, 0, 0, 0]]), np.array([8, 9]))
    before = path.read_bytes()
    monkeypatch.setattr("kinhash.cli.groups.write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        job().against_index(rows, path, out, update=True)
    assert path.read_bytes() == before
    monkeypatch.undo()
    found = job().against_index(rows, path, out, update=True)
    assert found.kept.tolist() == [True, False]
    assert HammingIndex.load(path).ids.tolist() == [1, 2, 3, 4, 8]
    assert out.read_text().splitlines()[1:] == ["9,0,1,false,0"]


def test_updates_need_ids(tmp_path):
    path = tmp_path / "i.kinhash"
    HammingIndex(Codes.from_dense(np.eye(4)), [1, 2, 3, 4]).save(path)
    rows = Compared("new", Codes.from_dense(np.eye(4)))
    with pytest.raises(InvalidInputError, match="new has no ids, and items are added under ids"):
        job().against_index(rows, path, None, update=True)


def test_codes_of_two_encoders_are_not_compared():
    one, other = (Compared(x, Codes.from_dense(np.eye(2)), made_by=x) for x in "ab")
    with pytest.raises(InvalidInputError, match="a was made by encoder a, but b by b"):
        job().run(one, other)


def test_a_model_of_several_modalities_is_refused(run, tmp_path):
    path = tmp_path / "m.kinhash"
    words = ("--modalities", "image,text", "--out", path, "--method", "cca-itq", "--bits", "8")
    assert run("train", "digits-words", *words).code == 0
    with pytest.raises(
        InvalidInputError, match=r"has the modalities image, text\. Encode the rows"
    ):
        single_model(path)
