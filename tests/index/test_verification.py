import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.errors import FormatError
from kinhash.index import file


def clustered(rng, n, n_bits=64, n_active=5):
    """Codes around a few centres: every structure of an index has work with them."""
    centres = rng.random((max(1, n // 40), n_bits)) < n_active / n_bits
    dense = centres[rng.integers(0, len(centres), n)].astype(np.int8)
    flips = rng.integers(0, n_bits, n)
    dense[np.arange(n), flips] ^= (rng.random(n) < 0.7).astype(np.int8)
    return Codes.from_dense(dense)


def dense_codes(rng, n, n_bits=64):
    return Codes.from_dense(rng.random((n, n_bits)) < 0.5)


@pytest.fixture
def saved(rng, tmp_path):
    path = tmp_path / "index.kinhash"
    HammingIndex(clustered(rng, 1500), memory="fast").save(path)
    return path


def rewrite(path, change):
    """Write the same index with other arrays or numbers, checksums and all."""
    stored = file.read(path, mmap=False, verify=False)
    arrays = {name: array.copy() for name, array in stored.arrays.items()}
    settings = {name: stored.header[name] for name in ("n_bits", "signed", "memory")}
    numbers = dict(stored.numbers)
    change(arrays, numbers, settings)
    file.write(path, arrays, numbers, **settings)


def put(name, at, value):
    def change(arrays, numbers, settings):
        arrays[name][at] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("offsets", 3, 0), "`offsets` do not ascend"),
        (put("codes", 3, 2**63), "not found by its hash"),
        (put("slots", slice(None), 1), "not found by its hash"),
        (put("narrow_ids", 0, 2**31), "the ids of a code do not ascend"),
        (put("used", 0, 1), "`used` are not the bits of the codes"),
        (put("leaders", 0, 2**64 - 1), "bits from its leader"),
        (put("group_starts", 1, 2**31), "`group_starts` do not ascend"),
        (put("key1_rows", 5, 2**31), "`key1_rows` lead to row 2147483648 of"),
        (put("key2_starts", 5, 2**31), "`key2_starts` do not ascend"),
        (put("near_rows", 5, 2**32 - 1), "`near_rows` lead to row 4294967295 of"),
        (put("near_starts", 5, 2**31), "`near_starts` do not ascend"),
    ],
)
def test_verification_sees_unsound_structures_behind_right_checksums(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(saved)


def test_verification_sees_unsound_chunks(tmp_path, rng):
    path = tmp_path / "index.kinhash"
    HammingIndex(dense_codes(rng, 1000), memory="balanced").save(path)
    assert file.read_header(path)["numbers"]["n_chunks"] == 4
    rewrite(path, put("chunk_rows", 5, 5000))
    with pytest.raises(FormatError, match="`chunk_rows` lead to row 5000 of 1000"):
        HammingIndex.load(path)
    rewrite(path, put("chunk_rows", 5, 5))
    rewrite(path, put("chunk_starts", 5, 5000))
    with pytest.raises(FormatError, match="`chunk_starts` do not ascend"):
        HammingIndex.load(path)
