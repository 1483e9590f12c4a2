import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup.content import Content


def test_ids_order_rows_if_they_are_numbers():
    X = np.eye(3, dtype=np.float32)
    assert Content.of(X, None, "data").ranks.tolist() == [0, 1, 2]
    assert Content.of(X, [7, -2, 5], "data").ranks.tolist() == [7, -2, 5]
    assert Content.of(X, ["b", "a", "c"], "data").ranks.tolist() == [0, 1, 2]
    rows = np.array([2, 0])
    assert Content.of(X, None, "data").named(rows).tolist() == [2, 0]
    assert Content.of(X, ["b", "a", "c"], "data").named(rows).tolist() == ["c", "b"]


def test_vectors_that_the_core_can_read_are_not_copied(tmp_path):
    for dtype in (np.float32, np.float16, np.int8):
        X = np.eye(3, dtype=dtype)
        assert Content.of(X, None, "data").vectors is X
        assert Content.of(X[::2], None, "data").vectors.base is X
    np.save(tmp_path / "x.npy", np.eye(3, dtype=np.float16))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(Content.of(mapped, None, "data").vectors, mapped)
    for X in (np.eye(3), np.eye(3, dtype=int), np.eye(3, dtype=bool), np.eye(3).tolist()):
        assert Content.of(X, None, "data").vectors.dtype == np.float32
    turned = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert Content.of(turned, None, "data").vectors.flags.c_contiguous


def test_codes_are_no_vectors():
    with pytest.raises(TypeError, match="codes are no vectors"):
        _ = Content.of(Codes.from_dense([[1]]), None, "data").vectors
