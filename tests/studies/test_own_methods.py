import sys

import numpy as np
import pytest

from kinhash import Codes
from kinhash.errors import InvalidInputError
from kinhash.studies import own_methods
from kinhash.studies.own_methods import Checked, arguments_of, load_class, made, source_digest

MODULE = """
import numpy as np

class Good:
    def __init__(self, n_bits=8, depth=1):
        self.n_bits, self.depth = n_bits, depth
    def fit(self, X, y=None): ...
    def encode(self, X): ...

class Needs(Good):
    def __init__(self, path): ...

class NoEncode:
    def fit(self, X): ...

Empty = type("Empty", (), {})
an_instance = Good()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_of_tests.py").write_text(MODULE, encoding="utf-8")
    yield tmp_path
    for name in ("own_of_tests", "own_broken"):
        sys.modules.pop(name, None)


def test_a_class_is_found_by_its_import_path(folder):
    assert own_methods.is_path("a.b:C")
    assert not own_methods.is_path("lsh")
    assert load_class("own_of_tests:Good").__name__ == "Good"
    assert load_class("kinhash.methods:LSH").__name__ == "LSH"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "own_of_tests:Other",
            r"Unknown class of module own_of_tests 'Other'\. Known: Empty, Good",
        ),
        ("own_missing:Good", "'own_missing' of method .* No module named 'own_missing'.* in "),
        ("own_broken:Good", "cannot be imported: ZeroDivisionError: division by zero"),
        ("own_of_tests:NoEncode", "the methods fit.* and encode.*, but has no encode"),
        ("own_of_tests:Empty", "but has no fit and no encode"),
        ("own_of_tests:an_instance", "must be a class, got Good. Name the class itself"),
        ("own_of_tests:", "named module:Class, such as .*, got 'own_of_tests:'"),
        (":Good", "named module:Class, such as .*, got ':Good'"),
    ],
)
def test_what_cannot_be_a_method_is_said(folder, path, message):
    (folder / "own_broken.py").write_text("1 / 0", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        load_class(path)


def test_parameters_that_a_class_does_not_take_are_left_out(folder):
    kind = load_class("own_of_tests:Good")
    assert arguments_of(kind) == ("n_bits", "depth")
    method = made(kind, "own:Good", {"n_bits": 12, "seed": 3, "depth": 2})
    assert (method.n_bits, method.depth) == (12, 2)
    with pytest.raises(InvalidInputError, match="Unknown parameter of own:Good 'dept'"):
        made(kind, "own:Good", {"dept": 1})
    with pytest.raises(InvalidInputError, match=r"'own:Needs' cannot be made: .*'path'"):
        made(load_class("own_of_tests:Needs"), "own:Needs", {"n_bits": 8, "seed": 0})


def test_what_encode_returns_is_checked():
    class Fixed:
        def __init__(self, codes):
            self.codes = codes

        def fit(self, X): ...

        def encode(self, _):
            return self.codes

    codes = Codes.from_dense([[0, 1], [1, 1]])
    assert Checked(Fixed(codes), "own").encode(np.zeros((2, 3))) is codes
    with pytest.raises(InvalidInputError, match="return a code per row, got 2 codes of 3"):
        Checked(Fixed(codes), "own").encode(np.zeros((3, 3)))
    with pytest.raises(InvalidInputError, match=r"must return kinhash.Codes, got list.*from_dense"):
        Checked(Fixed([[0, 1]]), "own").encode(np.zeros((1, 3)))


def test_the_digest_changes_with_the_file(folder):
    kind = load_class("own_of_tests:Good")
    first = source_digest(kind)
    assert len(first) == 8
    assert source_digest(kind) == first
    (folder / "own_of_tests.py").write_text(MODULE + "# changed", encoding="utf-8")
    assert source_digest(kind) != first
    assert source_digest(int) == ""
