import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import code_table
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.content import Content
from kinhash.dedup.table import Wanted

DENSE = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]])


def table(dense, ids=None):
    codes = Codes.from_dense(dense)
    return CodeTable.of(Content.of(codes, ids, "data"), codes)


def test_rows_of_one_code_are_stood_for_by_the_lowest_id():
    assert table(DENSE).first.tolist() == [0, 1, 0, 3, 1, 5]
    assert table(DENSE, ids=[9, 8, 7, 6, 5, 4]).first.tolist() == [2, 4, 2, 3, 4, 5]
    assert table(DENSE, ids=list("fedcba")).different.tolist() == [0, 1, 3, 5]


@pytest.mark.parametrize("strip", [1, 4096])
def test_pairs_are_those_of_a_naive_loop(strip, monkeypatch):
    monkeypatch.setattr(code_table, "STRIP", strip)
    own = table(DENSE)
    wanted = Wanted(limit=1, recall=0.99, seed=0, n_threads=1)
    found = own.pairs(own, wanted)
    # 110, 000, 100 and 011 in rows 0, 1, 3 and 5
    assert [*zip(found.rows, found.others, found.nearness, strict=True)] == [(3, 0, -1), (3, 1, -1)]
    other = table([[1, 1, 1], [1, 1, 1], [0, 0, 0]])
    found = own.pairs(other, wanted)
    pairs = [*zip(found.rows, found.others, found.nearness, strict=True)]
    assert pairs == [(0, 0, -1), (1, 2, 0), (3, 2, -1), (5, 0, -1)]


def test_rank_bits_take_no_part():
    codes = Codes.from_dense([[1, 0], [1, 0]], rank=[[1], [0]])
    own = CodeTable.of(Content.of(codes, None, "data"), codes)
    assert own.first.tolist() == [0, 0]
    assert own.similarities(np.array([0]), own, np.array([1]), 1) is None


def test_distances_are_those_of_pairs():
    own, other = table(DENSE), table(DENSE[::-1])
    found = own.distances(np.array([0, 1, 3]), other, np.array([0, 1, 2]))
    assert found.tolist() == [2, 0, 0]
    assert found.dtype == np.int32
