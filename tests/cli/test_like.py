import numpy as np
import pytest

from kinhash import Codes, HammingIndex, Matches
from kinhash.cli.like import without_own

DENSE = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]])


@pytest.fixture
def named(tmp_path):
    path = tmp_path / "named.kinhash"
    HammingIndex(Codes.from_dense(DENSE), ["sku-1", "b", "c", "d", "e"]).save(path)
    return path


def test_items_like_one_are_found_without_itself(run, named):
    done = run("search", named, "--like", "c", "--radius", "1", "--format", "csv")
    assert (done.code, done.out.split()) == (
        0,
        ["query,id,distance", "c,sku-1,0", "c,e,0", "c,b,1"],
    )
    assert "1 query, 0 without a match; 3 matches." in done.err
    done = run("search", named, "--like", "e", "--like", "d", "--top-k", "2", "--format", "csv")
    assert done.out.split()[1:] == ["e,sku-1,0", "e,c,0", "d,b,1", "d,sku-1,2"]
    done = run("search", named, "--like", "d", "--top-k", "9", "--format", "csv")
    assert len(done.out.split()) == 5
    done = run("search", named, "--like", "d", "--radius", "0")
    assert "1 query, 1 without a match" in done.err


def test_integers_and_files_of_codes_take_it_too(run, tmp_path):
    Codes.from_dense(DENSE).save(tmp_path / "codes", [7, -5, 3, 2, 1])
    done = run("search", tmp_path / "codes", "--like", "-5", "--top-k", "2", "--format", "csv")
    assert done.out.split()[1:] == ["-5,1,1", "-5,2,1"]


def test_rank_bits_order_what_is_like_an_item(run, tmp_path):
    rank = np.array([[0, 0], [1, 1], [1, 1], [0, 0], [0, 1]])
    index = HammingIndex(Codes.from_dense(DENSE * 0, rank=rank), ["a", "b", "c", "d", "e"])
    index.save(tmp_path / "items")
    done = run("search", tmp_path / "items", "--like", "c", "--top-k", "3", "--format", "csv")
    assert done.out.split()[1:] == ["c,b,0,0", "c,e,0,1", "c,a,0,2"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--like", "x"), 1, "error: --like names 'x', which is not in the index."),
        (("--like", "c", "--model", "m"), 2, "leave it out: --like takes the codes of items"),
        (("--like", "c", "--codes", "m"), 2, "give exactly one of"),
        (("--like", "c", "--column", "m"), 2, "it names what holds the codes"),
    ],
)
def test_what_is_no_item_is_refused(run, named, words, code, message):
    done = run("search", named, "--radius", "1", *words)
    assert (done.code, message in done.err) == (code, True), done.err


def test_ones_own_item_need_not_be_among_the_matches():
    found = Matches([0, 2, 4], ["a", "b", "c", "d"], [0, 0, 1, 2])
    left = without_own(found, ["b", "x"], 1)
    assert left.ids.tolist() == ["a", "c"]
    assert left.offsets.tolist() == [0, 1, 2]
