import re

import numpy as np
import pytest

import kinhash
from kinhash.cli.options import Memory
from kinhash.index.memory import MEMORY


def found(run, items, model, queries, *words):
    done = run("search", items, "--model", model, "--queries", queries, "--format", "csv", *words)
    assert done.code == 0, done.err
    return done.out


def test_the_index_holds_the_items_of_the_codes(run, codes, tmp_path):
    out = tmp_path / "items.kinhash"
    done = run("index", codes, "--out", out)
    assert (done.code, done.out) == (0, "")
    index = kinhash.HammingIndex.load(out)
    stored = kinhash.load(codes).codes
    assert (len(index), index.n_bits, index.signed) == (120, 16, False)
    assert index.memory == "balanced"
    assert re.fullmatch(
        rf"Wrote {re.escape(str(out))} after \d+\.\d s: 120 items with {stored.n_unique} "
        r"different codes, \d+\.\d bytes per item\.\n",
        done.err,
    )
    for code, ids in index.iter_buckets():
        assert all(stored[int(i) : int(i) + 1] == code for i in ids)


@pytest.mark.parametrize("memory", Memory)
@pytest.mark.parametrize("wanted", [("--radius", "0"), ("--radius", "3"), ("--top-k", "7")])
def test_an_index_answers_as_its_codes_do(run, codes, model, npz, tmp_path, memory, wanted):
    out = tmp_path / "items.kinhash"
    assert run("index", codes, "--out", out, "--memory", memory.value).code == 0
    assert kinhash.HammingIndex.load(out).memory == memory.value
    assert found(run, out, model, npz, *wanted) == found(run, codes, model, npz, *wanted)


def test_the_ids_of_the_encoded_file_are_kept(run, model, csv_file, tmp_path):
    assert run("encode", model, csv_file, "--out", tmp_path / "codes").code == 0
    assert run("index", tmp_path / "codes", "--out", tmp_path / "items").code == 0
    assert kinhash.HammingIndex.load(tmp_path / "items").ids.tolist() == list(range(1000, 1120))


def test_no_items_are_an_index_too(run, codes, model, npz, tmp_path):
    kinhash.load(codes).codes[:0].save(tmp_path / "codes")
    done = run("index", tmp_path / "codes", "--out", tmp_path / "items")
    assert done.code == 0
    assert "0 items with 0 different codes, 0.0 bytes per item." in done.err
    assert found(run, tmp_path / "items", model, npz, "--top-k", "3") == "query,id,distance\n"


def test_the_memory_settings_are_those_of_the_index():
    assert list(Memory) == list(MEMORY)


def test_an_unknown_memory_setting_is_wrong_usage(run, codes, tmp_path):
    done = run("index", codes, "--out", tmp_path / "items", "--memory", "huge")
    assert done.code == 2
    assert "'huge' is not one of 'lean', 'balanced', 'fast'." in done.err
    assert not list(tmp_path.iterdir())


def test_a_model_is_no_codes(run, model, tmp_path):
    done = run("index", model, "--out", tmp_path / "items")
    assert done.code == 1
    assert (
        done.err == f"error: {model} must hold codes, such as `kinhash encode` writes, "
        "but it holds a model.\n"
    )
    assert not list(tmp_path.iterdir())


def test_an_index_is_no_codes_and_no_model(run, index, npz, tmp_path):
    for words, wanted in (
        (("index", index), "codes, such as `kinhash encode` writes"),
        (("encode", index, npz), "a model, such as `kinhash train` writes"),
    ):
        done = run(*words, "--out", tmp_path / "out")
        assert done.code == 1
        assert done.err == f"error: {index} must hold {wanted}, but it holds an index.\n"
    assert not list(tmp_path.iterdir())


def test_an_id_that_comes_twice_is_named(run, codes, model, npz, tmp_path, monkeypatch):
    stored = kinhash.load(codes).codes
    path = tmp_path / "codes"
    with monkeypatch.context() as patch:  # as earlier versions wrote such files
        patch.setattr("kinhash.codes.as_new_ids", lambda ids, _: ids)
        stored.save(path, np.arange(len(stored)) // 2 + 7)
    for words in (
        ("index", path, "--out", tmp_path / "items"),
        ("search", path, "--model", model, "--queries", npz, "--radius", "1"),
    ):
        done = run(*words)
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            f"error: {path}: the ids hold 7 twice, in rows 0 and 1. Give each item an id of its "
            "own.\n"
        )
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, 5, 100, -1])
def test_truncated_codes_are_an_error_and_nothing_is_written(run, codes, tmp_path, size):
    short = tmp_path / "short.kinhash"
    short.write_bytes(codes.read_bytes()[:size])
    done = run("index", short, "--out", tmp_path / "items")
    assert done.code == 1
    assert done.err.startswith(f"error: {short} is ")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [short]


def test_an_existing_file_is_kept_unless_forced(run, codes, tmp_path):
    out = tmp_path / "items.kinhash"
    out.write_text("precious")
    done = run("index", codes, "--out", out)
    assert done.code == 1
    assert "exists already. Pass --force" in done.err
    assert out.read_text() == "precious"
    assert run("index", codes, "--out", out, "--force").code == 0
    assert len(kinhash.HammingIndex.load(out)) == 120


def test_the_codes_are_never_replaced(run, codes):
    before = codes.read_bytes()
    done = run("index", codes, "--out", codes, "--force")
    assert done.err == f"error: Cannot write {codes}: it is read here. Choose another name.\n"
    assert codes.read_bytes() == before


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A file of 200 codes of 256 bits near 20 centres, packed; and their bits."""
    rng = np.random.default_rng(5)
    bits = (rng.random((20, 256)) < 0.5)[np.arange(200) % 20] ^ (rng.random((200, 256)) < 0.02)
    path = tmp_path_factory.mktemp("codes") / "packed.npy"
    np.save(path, np.packbits(bits, axis=1))
    return path, bits


def test_codes_of_another_tool_are_indexed_and_searched_without_a_model(run, packed, tmp_path):
    path, bits = packed
    out, asked = tmp_path / "items.kinhash", tmp_path / "queries.npy"
    done = run("index", path, "--bits", "256", "--out", out)
    assert (done.code, done.out) == (0, "")
    assert ": 200 items with 200 different codes, " in done.err
    index = kinhash.HammingIndex.load(out)
    assert (len(index), index.n_bits, index.made_by) == (200, 256, None)
    np.save(asked, np.packbits(bits[:30], axis=1))
    done = run("search", out, "--codes", asked, "--radius", "20", "--format", "csv")
    assert done.code == 0, done.err
    apart = (bits[:30, None] != bits[None]).sum(axis=2)
    expected = {(int(q), int(i), int(apart[q, i])) for q, i in np.argwhere(apart <= 20)}
    assert {tuple(map(int, line.split(","))) for line in done.out.splitlines()[1:]} == expected
    assert len(expected) > 100


def test_ids_and_codes_are_columns_of_a_table(run, packed, tmp_path):
    _, bits = packed
    path = tmp_path / "photos.csv"
    digits = [np.packbits(row).tobytes().hex() for row in bits]
    rows = [f"{1000 + i},{text},photo {i}" for i, text in enumerate(digits)]
    path.write_text("\n".join(["number,phash,title", *rows]) + "\n")
    words = ("--column", "phash", "--ids", "number")
    assert run("index", path, *words, "--out", tmp_path / "items.kinhash").code == 0
    words = ("--codes", path, *words, "--top-k", "1", "--format", "csv")
    done = run("search", tmp_path / "items.kinhash", *words)
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == [f"{1000 + i},{1000 + i},0" for i in range(200)]


def test_codes_that_are_no_codes_are_named_with_options(run, packed, codes, npz, tmp_path):
    out = tmp_path / "items.kinhash"
    done = run("index", packed[0], "--bits", "128", "--out", out)
    assert done.code == 1
    assert f"error: {packed[0]} must have 16 bytes for each code of 128 bits, got 32" in done.err
    done = run("index", npz, "--out", out)
    assert done.code == 1
    assert done.err == (
        f"error: {npz} has neither `codes` nor `code`, but vectors, labels. Say with --column "
        "which holds the codes.\n"
    )
    done = run("index", codes, "--bits", "16", "--out", out)
    assert done.code == 1
    assert "error: --bits is for codes of another tool, .npy .npz .parquet .csv, but" in done.err
    assert run("index", packed[0], "--bits", "0", "--out", out).code == 2
    assert not list(tmp_path.iterdir())
