import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinhash import Codes
from kinhash.codes import StoredCodes
from kinhash.datasets.user_files.packed import Form, as_codes, read_codes
from kinhash.errors import InvalidInputError
from kinhash.export import export


@pytest.fixture
def bits(rng):
    return (rng.random((40, 64)) < 0.3).astype(np.uint8)


def hamming(codes):
    dense = codes.to_dense()
    return (dense[:, None] != dense[None]).sum(axis=2)


def distances(bits):
    """The differing bits of every two rows, counted one by one."""
    return np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in bits] for x in bits])


def ways_to_write(bits):
    """The same codes as different tools write them, by name."""
    numbers = [sum(int(bit) << j for j, bit in enumerate(row)) for row in bits]
    packed = np.packbits(bits, axis=1)
    return {
        "bytes, first bit lowest": np.packbits(bits, axis=1, bitorder="little"),
        "bytes, first bit highest": packed,
        "int8 of sentence-transformers": (packed.astype(np.int16) - 128).astype(np.int8),
        "uint64": np.array(numbers, np.uint64),
        "int64": np.array(numbers, np.uint64).astype(np.int64),
        "big-endian": np.array(numbers, np.uint64).astype(">u8"),
        "two words": np.packbits(bits, axis=1, bitorder="little").view("<u4"),
        "hexadecimal": np.array([f"{number:016x}" for number in numbers]),
        "hexadecimal with 0x": np.array([f"0x{number:016X}" for number in numbers]),
        "fixed bytes": np.array([row.tobytes() for row in packed], dtype="V8"),
        "texts of bytes": np.array([row.tobytes() for row in packed], dtype="S8"),
        "booleans": bits.astype(bool),
    }


WAYS = tuple(ways_to_write(np.zeros((1, 64), np.uint8)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_bits", [None, 64])
def test_distances_are_those_of_the_bits_however_they_are_written(bits, way, n_bits, tmp_path):
    np.save(tmp_path / "codes.npy", ways_to_write(bits)[way])
    found = read_codes(tmp_path / "codes.npy", form=Form(n_bits))
    assert (found.codes.n_bits, found.ids, found.made_by) == (64, None, None)
    assert np.array_equal(hamming(found.codes), distances(bits))


def test_a_column_of_0_and_1_for_each_bit_needs_the_length(bits, tmp_path):
    for dtype in (np.uint8, np.int64, np.float32):
        codes = as_codes(bits.astype(dtype), "them", Form(64))
        assert np.array_equal(codes.to_dense(), bits)
    with pytest.raises(InvalidInputError, match=r"them holds only 0 and 1\. .* is then 64\."):
        as_codes(bits, "them", Form())
    assert as_codes(bits[:, :1], "them", Form()).n_bits == 8  # a byte each, which may be 0 or 1
    with pytest.raises(InvalidInputError, match=r"them must hold only 0, 1, got 7\."):
        as_codes(bits * 7, "them", Form(64))


def test_a_number_may_have_room_for_more_bits_than_the_code_has():
    numbers = np.array([3, 2**20, 2**31 - 1])
    assert as_codes(numbers, "them", Form(31)).to_dense().sum(axis=1).tolist() == [2, 1, 31]
    assert as_codes(numbers, "them", Form()).n_bits == 64
    told = r"them has bits beyond the 30 of a code in row 2\. Take `n_bits` 32: bits that are the"
    with pytest.raises(InvalidInputError, match=told):
        as_codes(numbers.astype(np.int32), "them", Form(30))
    with pytest.raises(InvalidInputError, match=r"beyond the 16 of a code in row 1\. .* 64:"):
        as_codes(numbers, "them", Form(16))


@pytest.mark.parametrize(
    ("values", "n_bits", "told"),
    [
        (np.zeros((2, 3)), None, "them must hold codes: .* got float64 of shape .* A float has no"),
        (np.zeros((2, 3, 4), np.uint8), None, r"them must hold codes: .* of shape \(2, 3, 4\)\."),
        (np.zeros((2, 0), np.uint8), None, r"of shape \(2, 0\)\."),
        (np.zeros((2, 4), np.uint8), 40, "5 bytes for each code of 40 bits, got 4, which are 32"),
        (np.zeros((2, 4), bool), 5, "them has 4 columns of bits, but `n_bits` is 5"),
        (np.array(["ab", "abc"]), None, "as many hexadecimal digits .* 2 in row 0 and 3 in row 1"),
        (np.array(["ab", "xy"]), None, r"them must hold hexadecimal digits, got 'xy' in row 1\."),
        (np.array(["", ""]), None, r"them must hold hexadecimal digits, got '' in row 0\."),
        (np.full((2, 700), 9, np.uint8), None, "them cannot be taken: `n_bits` must be .* 4096"),
    ],
)
def test_what_is_no_code_is_refused(values, n_bits, told):
    with pytest.raises(InvalidInputError, match=told):
        as_codes(values, "them", Form(n_bits))


def test_rank_bits_and_signs_are_read_as_to_bytes_writes_them(rng):
    codes = Codes.from_dense(
        rng.integers(-1, 2, (9, 13)), signed=True, rank=rng.integers(0, 2, (9, 5))
    )
    assert as_codes(codes.to_bytes(), "them", Form(18, 5, signed=True)) == codes
    with pytest.raises(InvalidInputError, match="them: say with `n_bits` how long"):
        as_codes(codes.to_bytes(), "them", Form(None, 5))


def test_an_archive_has_codes_and_ids(bits, tmp_path):
    path = tmp_path / "codes.npz"
    packed = np.packbits(bits, axis=1)
    np.savez(path, codes=packed, id=np.arange(40) + 7, vectors=np.zeros((3, 3)))
    found = read_codes(path)
    assert np.array_equal(hamming(found.codes), distances(bits))
    assert found.ids.tolist() == list(range(7, 47))
    np.savez(path, phash=packed, number=np.arange(40))
    assert read_codes(path, column="phash", ids="number").ids[-1] == 39
    assert read_codes(path, column="phash").ids is None
    told = re.escape(f"{path} has neither `codes` nor `code`, but phash, number. Say with `column`")
    with pytest.raises(InvalidInputError, match=told):
        read_codes(path)
    with pytest.raises(InvalidInputError, match=r"`ids` must name one of phash, number .* 'sku'"):
        read_codes(path, column="phash", ids="sku")
    np.savez(path, codes=packed, code=packed)
    with pytest.raises(InvalidInputError, match=r"has codes and code\. Say with `column` which"):
        read_codes(path)
    np.savez(path, codes=packed, ids=np.arange(39))
    with pytest.raises(InvalidInputError, match="an id for each code, got 39 ids and 40 codes"):
        read_codes(path)


def columns(bits):
    """The same codes as columns of several types, by name."""
    ways = ways_to_write(bits)
    packed = [row.tobytes() for row in ways["bytes, first bit lowest"]]
    digits = ways["hexadecimal"].tolist()
    lists = [[*row] for row in packed]
    return {
        "bytes": pa.array(packed, pa.binary()),
        "long bytes": pa.array(packed, pa.large_binary()),
        "fixed bytes": pa.array(packed, pa.binary(8)),
        "lists": pa.array(lists, pa.list_(pa.uint8())),
        "long lists": pa.array(lists, pa.large_list(pa.uint8())),
        "fixed lists": pa.array(lists, pa.list_(pa.uint8(), 8)),
        "lists of int8": pa.array(
            ways["int8 of sentence-transformers"].tolist(), pa.list_(pa.int8())
        ),
        "lists of bits": pa.array(bits.tolist(), pa.list_(pa.int64())),
        "int64": pa.array(ways["int64"]),
        "uint64": pa.array(ways["uint64"]),
        "strings": pa.array(digits),
        "long strings": pa.array(digits, pa.large_string()),
        "categories": pa.array(digits).dictionary_encode(),
    }


@pytest.mark.parametrize("kind", columns(np.zeros((1, 64), np.uint8)))
def test_columns_of_tables_hold_codes_too(bits, kind, tmp_path):
    path = tmp_path / "codes.parquet"
    table = pa.table({"sku": np.arange(40) * 2, "phash": columns(bits)[kind]})
    pq.write_table(table, path, row_group_size=7)
    found = read_codes(path, form=Form(64), column="phash", ids="sku")
    assert np.array_equal(hamming(found.codes), distances(bits))
    assert found.ids.tolist() == list(range(0, 80, 2))


def test_a_csv_file_holds_numbers_or_digits(bits, tmp_path):
    numbers = ways_to_write(bits)["int64"]
    path = tmp_path / "codes.csv"
    rows = [f"{i},{number},{number & 2**64 - 1:016x}z" for i, number in enumerate(numbers.tolist())]
    path.write_text("\n".join(["id,code,hex", *rows]).replace("z\n", "\n")[:-1] + "\n")
    for column in (None, "code"):
        found = read_codes(path, column=column)
        assert np.array_equal(hamming(found.codes), distances(bits))
        assert found.ids.tolist() == list(range(40))
    assert np.array_equal(hamming(read_codes(path, column="hex").codes), distances(bits))


def test_tables_that_hold_no_codes_are_refused(bits, tmp_path):
    path = tmp_path / "codes.parquet"
    for column, told in (
        ([b"ab", None, b"cd"], "must have a value in each row, but 1 of 3 are empty"),
        ([b"ab", b"cd", b"e"], "must hold codes of one length, got 2 in row 0 and 1 in row 2"),
        ([[1, 2], [3], [4]], "must hold codes of one length, got 2 in row 0 and 1 in row 1"),
        ([0.5, 1.5, 2.5], "A float has no room for 64 bits: store integers or hexadecimal digits"),
    ):
        pq.write_table(pa.table({"code": column}), path)
        with pytest.raises(InvalidInputError, match=told):
            read_codes(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_codes(path)
    with pytest.raises(InvalidInputError, match="There is no file"):
        read_codes(tmp_path / "nowhere.npy")
    np.save(tmp_path / "codes.npy", bits)
    with pytest.raises(InvalidInputError, match="`column` names an array, but"):
        read_codes(tmp_path / "codes.npy", column="codes")


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_rank_bits", [0, 11])
def test_what_export_writes_comes_back(rng, signed, n_rank_bits, tmp_path):
    bucket = rng.integers(-1 if signed else 0, 2, (30, 20))
    rank = rng.integers(0, 2, (30, n_rank_bits)) if n_rank_bits else None
    codes = Codes.from_dense(bucket, signed=signed, rank=rank)
    path = tmp_path / "codes.parquet"
    export(StoredCodes(codes, np.arange(30) + 5, None), path, to="parquet")
    found = read_codes(path)
    assert found.codes == codes
    assert found.ids.tolist() == list(range(5, 35))
    # What a file says about itself is no reason to trust it.
    table = pq.read_table(path)
    for noted in ({b"kinhash.n_bits": b"9"}, {b"kinhash.n_rank_bits": b"77"}):
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **noted}), path)
        with pytest.raises(InvalidInputError, match=re.escape(str(path))):
            read_codes(path)
