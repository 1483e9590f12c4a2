"""What both databases share beside their answers, which tests/contracts/test_stores.py compares."""

import numpy as np
import pytest

from kinhash import Codes
from kinhash.engines import sqlite, stores
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError

CODES = Codes.from_dense(np.eye(8))


@pytest.fixture
def store():
    with sqlite.open_store(":memory:", Layout(8)) as opened:
        yield opened


def test_items_are_added_in_pieces_each_whole_or_not_at_all(store, monkeypatch):
    monkeypatch.setattr(stores, "ADDED", 3)
    store.add(CODES[:1], [7])
    with pytest.raises(InvalidInputError, match="1 that are stored already, the lowest is 7"):
        store.add(CODES)  # 0 to 2, 3 to 5, then 6 and 7
    assert len(store) == 1 + 6


def test_queries_without_answers_have_empty_rows(store):
    assert store.search_radius(CODES[:2], 1).counts.tolist() == [0, 0]
    assert len(store.search_radius(CODES[:0], 1)) == 0


def test_ids_are_numbered_by_default(store):
    store.add(CODES[3:5])
    assert [ids.tolist() for ids, _ in store.search_radius(CODES[3:5], 0)] == [[0], [1]]
