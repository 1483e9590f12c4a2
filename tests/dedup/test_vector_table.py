import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import vector_table
from kinhash.dedup.content import Content
from kinhash.dedup.table import Wanted
from kinhash.dedup.vector_table import VectorTable

WANTED = Wanted(limit=0.9, recall=0.99, seed=0, n_threads=2)


class Coarse:
    """Codes of the signs of the first columns, so that many rows share one."""

    def __init__(self, n_bits):
        self.n_bits = n_bits

    def encode(self, X, *, n_threads=None):  # noqa: ARG002 - as models have it
        return Codes.from_dense(np.asarray(X)[:, : self.n_bits] > 0)


def table(X, coder, ids=None):
    return VectorTable.of(Content.of(X, ids, "data"), coder, 2)


def test_identical_rows_are_told_from_rows_with_the_same_code():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4)).astype(np.float32)[rng.integers(0, 6, 200)]
    expected = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in X]
    assert table(X, Coarse(4)).first.tolist() == expected
    backwards = table(X, Coarse(4), ids=-np.arange(200))
    last = [int(np.flatnonzero((row == X).all(axis=1))[-1]) for row in X]
    assert backwards.first.tolist() == last


def test_more_rows_of_one_code_than_rounds_stand_for_themselves(monkeypatch):
    monkeypatch.setattr(vector_table, "IDENTITY_ROUNDS", 2)
    X = np.array([[1, 1], [1, 2], [1, 3], [1, 3], [1, 1], [1, 2]], np.float32)
    # In the first round they are compared with row 0, in the second with row 1.
    assert table(X, Coarse(1)).first.tolist() == [0, 1, 2, 3, 0, 1]


def test_pairs_are_found_whatever_the_codes(monkeypatch):
    """Codes of two bits tell nothing: everything is a candidate, and nothing may be missed."""
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", 0)
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    own = table(X, Coarse(2))
    found = own.pairs(own, WANTED)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = np.argwhere(np.tril(unit @ unit.T >= 0.9, -1))
    missed = {*map(tuple, expected)} - {*zip(found.rows, found.others, strict=True)}
    assert len(missed) <= 0.02 * len(expected)
    assert found.recall.share >= 0.98


def test_limits_grow_until_a_sample_has_the_recall(monkeypatch):
    """Made pairs that are too easy give limits that are too narrow; the sample mends them."""
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", 0)
    easy = np.zeros((10, 2), np.int64)
    monkeypatch.setattr(VectorTable, "_made_pairs", lambda *_: easy)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 64)).astype(np.float32)
    X[500:] = X[:500] + 0.4 * rng.normal(size=(500, 64))
    own = table(X, Coarse(64))
    found = own.pairs(own, WANTED)
    pairs = {*zip(found.rows.tolist(), found.others.tolist(), strict=True)}
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = {*map(tuple, np.argwhere(np.tril(unit @ unit.T >= 0.9, -1)).tolist())}
    assert len(expected) > 200
    assert len(pairs) > 0.9 * len(expected)
    assert pairs <= expected


@pytest.mark.parametrize("exact_pairs", [0, 2**26])
def test_progress_ends_with_all_rows(exact_pairs, monkeypatch):
    monkeypatch.setattr(vector_table, "EXACT_PAIRS", exact_pairs)
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    own, told = table(X, Coarse(30)), []
    own.pairs(own, WANTED, lambda done, total: told.append((done, total)))
    assert told[-1] == (200, 200)
