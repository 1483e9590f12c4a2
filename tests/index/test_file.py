import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash import Codes, HammingIndex, _native
from kinhash.errors import FormatError, InvalidInputError
from kinhash.ids import Texts
from kinhash.index import file, reference
from kinhash.index.memory import MEMORY

GOLDEN = Path(__file__).parents[1] / "golden"
FUZZ = Path(__file__).with_name("fuzz_files.py")


def clustered(rng, n, n_bits=64, *, signed=False, n_active=5):
    """Codes around a few centres: every structure of an index has work with them."""
    centres = rng.random((max(1, n // 40), n_bits)) < n_active / n_bits
    dense = centres[rng.integers(0, len(centres), n)].astype(np.int8)
    flips = rng.integers(0, n_bits, n)
    dense[np.arange(n), flips] ^= (rng.random(n) < 0.7).astype(np.int8)
    if signed:
        dense *= rng.choice(np.array([-1, 1], np.int8), n_bits)
    return Codes.from_dense(dense, signed=signed)


def ranked(rng, codes, n_rank_bits=32):
    """The same buckets with rank bits."""
    rank = rng.random((len(codes), n_rank_bits)) < 0.5
    return Codes.from_dense(codes.to_dense(), signed=codes.signed, rank=rank)


def dense_codes(rng, n, n_bits=64):
    return Codes.from_dense(rng.random((n, n_bits)) < 0.5)


@pytest.fixture
def index(rng):
    return HammingIndex(clustered(rng, 1500), memory="fast")


@pytest.fixture
def saved(index, tmp_path):
    path = tmp_path / "index.kinhash"
    index.save(path)
    return path


def answers(index, queries):
    found = [index.search_radius(queries, radius, sort=True) for radius in (0, 1, 2, 3, 9)]
    found += [index.search_top_k(queries, k) for k in (1, 7)]
    found += [index.search_top_k(queries, 7, order="total")]
    parts = [(m.offsets, m.ids, m.distances, m.rank_distances) for m in found]
    return [part.tolist() for each in parts for part in each if part is not None]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize(("n_bits", "signed"), [(64, False), (64, True), (200, False)])
def test_a_saved_index_answers_alike(tmp_path, rng, n_bits, signed, memory, mmap):
    codes = clustered(rng, 800, n_bits, signed=signed)
    ids = rng.permutation(10**6)[:800] - 5
    index = HammingIndex(codes, ids, memory=memory)
    index.save(tmp_path / "index.kinhash")
    loaded = HammingIndex.load(tmp_path / "index.kinhash", mmap=mmap)
    assert (loaded.n_bits, loaded.signed, loaded.memory) == (n_bits, signed, memory)
    assert (len(loaded), loaded.n_codes) == (len(index), index.n_codes)
    assert loaded.ids.tolist() == sorted(ids.tolist())
    assert answers(loaded, codes[:30]) == answers(index, codes[:30])


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("n_rank_bits", [1, 8, 9, 20, 32, 33, 64, 100])
def test_rank_bits_come_back(tmp_path, rng, n_rank_bits, mmap):
    codes = ranked(rng, clustered(rng, 400, 40), n_rank_bits)
    index = HammingIndex(codes, rng.permutation(10**6)[:400])
    index.save(tmp_path / "index.kinhash")
    loaded = HammingIndex.load(tmp_path / "index.kinhash", mmap=mmap)
    assert (loaded.n_bits, loaded.n_rank_bits) == (40 + n_rank_bits, n_rank_bits)
    assert loaded.codes(index.ids) == index.codes(index.ids)
    assert answers(loaded, codes[:30]) == answers(index, codes[:30])
    loaded.add(codes[:9], np.arange(9) - 100)
    loaded.remove(loaded.ids[20:40])
    loaded.save(tmp_path / "index.kinhash")
    again = HammingIndex.load(tmp_path / "index.kinhash", mmap=mmap)
    assert again.codes(loaded.ids) == loaded.codes(loaded.ids)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_small_and_empty_indexes_come_back(tmp_path, rng, n):
    codes = clustered(rng, 5)[:n]
    HammingIndex(codes).save(tmp_path / "index.kinhash")
    loaded = HammingIndex.load(tmp_path / "index.kinhash")
    assert loaded.ids.tolist() == list(range(n))
    loaded.add(clustered(rng, 5)[:1], [77])
    assert 77 in loaded.search_top_k(clustered(rng, 5)[:1], 9).ids


def test_ids_of_64_bits_come_back(tmp_path, rng):
    index = HammingIndex(clustered(rng, 4), [2**62, -(2**62), 0, 7])
    index.save(tmp_path / "index.kinhash")
    assert HammingIndex.load(tmp_path / "index.kinhash").ids.tolist() == index.ids.tolist()


@pytest.mark.parametrize("mmap", [True, False])
def test_strings_come_back_in_their_order(tmp_path, rng, mmap):
    codes, names = clustered(rng, 600), [f"é {i}" for i in rng.permutation(600)]
    index = HammingIndex(codes, names, memory="fast")
    index.remove(names[:200:2])
    index.add(codes[:3], ["zz", names[0], "a"])
    stored = [*(name for i, name in enumerate(names) if i >= 200 or i % 2), "zz", names[0], "a"]
    assert index.ids.tolist() == stored
    index.save(tmp_path / "index.kinhash")
    assert index.ids.tolist() == stored
    loaded = HammingIndex.load(tmp_path / "index.kinhash", mmap=mmap, verify=True)
    assert loaded.ids.tolist() == stored
    assert answers(loaded, codes[:30]) == answers(index, codes[:30])
    assert loaded.codes(stored) == index.codes(stored)
    loaded.remove(stored[:300])
    loaded.add(codes[:1], ["b"])
    assert loaded.ids.tolist() == [*stored[300:], "b"]
    loaded.save(tmp_path / "index.kinhash")
    again = HammingIndex.load(tmp_path / "index.kinhash", mmap=mmap)
    assert again.ids.tolist() == loaded.ids.tolist()
    assert file.describe(tmp_path / "index.kinhash")["ids"] == "strings"


def test_strings_stay_in_the_file(tmp_path, rng):
    HammingIndex(clustered(rng, 50), [f"id {i}" for i in range(50)]).save(tmp_path / "i.kinhash")
    (table,) = HammingIndex.load(tmp_path / "i.kinhash")._state.names.parts
    for array in (table.texts, table.starts):
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.memmap)


def test_an_index_of_removed_strings_comes_back(tmp_path):
    index = HammingIndex(Codes.from_dense(np.eye(3)), ["a", "b", "c"])
    index.remove(["b", "a", "c"])
    index.save(tmp_path / "index.kinhash")
    loaded = HammingIndex.load(tmp_path / "index.kinhash")
    assert (loaded.ids.tolist(), "a" in loaded) == ([], False)
    loaded.add(Codes.from_dense(np.eye(3)), [3, 2, 1])
    assert loaded.ids.tolist() == [1, 2, 3]


def test_integers_are_stored_as_before(saved):
    """So that earlier versions read them, too."""
    assert [s["name"] for s in file.read_header(saved)["sections"]] == list(file.SECTIONS)
    assert file.describe(saved)["ids"] == "integers"


def test_changes_are_merged_when_saved(tmp_path, rng, index):
    codes = clustered(rng, 300)
    index.add(codes, np.arange(5000, 5300))
    index.remove(np.arange(0, 100))
    index.save(tmp_path / "index.kinhash")
    loaded = HammingIndex.load(tmp_path / "index.kinhash")
    assert loaded.ids.tolist() == index.ids.tolist()
    assert answers(loaded, codes[:20]) == answers(index, codes[:20])


def test_a_loaded_index_changes_in_memory_only(saved, rng):
    before = saved.read_bytes()
    loaded = HammingIndex.load(saved)
    loaded.add(clustered(rng, 10), np.arange(9000, 9010))
    loaded.remove([3, 9001])
    loaded.update(clustered(rng, 1), [4])
    assert len(loaded) == 1500 + 10 - 2
    assert saved.read_bytes() == before
    loaded.save(saved)  # over the file that it is mapped from
    assert HammingIndex.load(saved).ids.tolist() == loaded.ids.tolist()


def test_equal_indexes_give_equal_bytes(saved, index, tmp_path):
    index.save(tmp_path / "again.kinhash")
    assert saved.read_bytes() == (tmp_path / "again.kinhash").read_bytes()


def test_every_array_of_a_segment_has_a_section(index):
    arrays = index._state.segments[0].arrays
    assert {name: array.dtype.newbyteorder("<").str for name, array in arrays.items()} == (
        file.SECTIONS
    )
    assert index._state.segments[0].numbers.keys() == file.NUMBERS.keys()


def test_the_arrays_stay_in_the_file(saved):
    arrays = HammingIndex.load(saved)._state.segments[0].arrays
    for array in arrays.values():
        assert not array.flags.writeable
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.memmap)


def test_the_header_says_what_is_inside(saved, index):
    header = file.read_header(saved)
    assert header["kinhash"] == kinhash.__version__
    assert (header["n_items"], header["n_codes"]) == (1500, index.n_codes)
    for section in header["sections"]:
        assert section["offset"] % 64 == 0


def test_an_index_opens_without_being_read(tmp_path):
    """A hole of a terabyte takes no time, as nothing looks at it."""
    codes = Codes.from_dense(np.eye(4, 64))
    HammingIndex(codes).save(tmp_path / "index.kinhash")
    stored = file.read(tmp_path / "index.kinhash")
    header = json.loads(json.dumps(stored.header))
    at = header["sections"][-1]["offset"]
    header["sections"][-1]["length"] = 2**37
    raw = bytearray((tmp_path / "index.kinhash").read_bytes())
    start = header["sections"][0]["offset"]
    raw[:start] = file._packed(header, start)
    (tmp_path / "index.kinhash").write_bytes(raw)
    os.truncate(tmp_path / "index.kinhash", at + 4 * 2**37)
    began = time.perf_counter()
    loaded = HammingIndex.load(tmp_path / "index.kinhash")
    assert time.perf_counter() - began < 1
    assert loaded.search_radius(codes, 0).ids.tolist() == [0, 1, 2, 3]


# Files that are not what they should be


def test_every_truncation_is_a_format_error(saved):
    raw = saved.read_bytes()
    for length in [*range(64), *range(64, len(raw), 997), len(raw) - 1]:
        saved.write_bytes(raw[:length])
        with pytest.raises(FormatError, match=r"cut short: expected .*, got "):
            HammingIndex.load(saved, verify=False)
    saved.write_bytes(raw + b"\0")
    with pytest.raises(FormatError, match=rf"expected {len(raw)} bytes, got {len(raw) + 1}"):
        HammingIndex.load(saved, verify=False)


def test_every_flipped_byte_is_a_format_error(tmp_path, rng):
    """The header byte by byte; every region, and the filling between them, at random."""
    path = tmp_path / "index.kinhash"
    HammingIndex(clustered(rng, 300), memory="fast").save(path)
    raw = bytearray(path.read_bytes())
    sections = file.read_header(path)["sections"]
    starts = [section["offset"] for section in sections] + [len(raw)]
    places = [*range(starts[0])]
    for first, last in itertools.pairwise(starts):
        if last > first:
            places += [first, last - 1, *rng.integers(first, last, 15)]
    for at in places:
        damaged = raw.copy()
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            HammingIndex.load(path)


def test_damage_is_reported_with_both_checksums(saved):
    raw = bytearray(saved.read_bytes())
    raw[-1] ^= 1
    saved.write_bytes(raw)
    with pytest.raises(
        FormatError, match=r"the checksum of `\w+` is [0-9a-f]{8}, the file says [0-9a-f]{8}"
    ):
        HammingIndex.load(saved)
    HammingIndex.load(saved, verify=False)


def test_large_files_are_verified_only_when_asked(saved, monkeypatch):
    raw = bytearray(saved.read_bytes())
    raw[-1] ^= 1
    saved.write_bytes(raw)
    monkeypatch.setattr(file, "VERIFIED_BELOW", len(raw))
    HammingIndex.load(saved)
    with pytest.raises(FormatError, match="is damaged"):
        HammingIndex.load(saved, verify=True)


@pytest.mark.parametrize("content", [b"", b"kin", b"PK\x03\x04" * 9, b"\x80\x04pickle", b"{}" * 20])
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign.kinhash"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"expected it to start with b'kinindex', got b"):
        HammingIndex.load(path)


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (0, "Build the index again from its codes"),
        (1, "Build the index again from its codes"),
        (4, "Upgrade kinhash"),
    ],
)
def test_another_format_is_refused_with_what_to_do(saved, version, advice):
    raw = bytearray(saved.read_bytes())
    raw[8] = version
    saved.write_bytes(raw)
    message = rf"of format {version}; this release reads formats 2 to 3\. {advice}\.$"
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(saved)


def test_codes_and_models_are_named_and_refused(tmp_path, tiny_model, rng):
    path = tmp_path / "other.kinhash"
    clustered(rng, 9).save(path)
    with pytest.raises(FormatError, match=r"is not an index but holds codes.*kinhash\.load"):
        HammingIndex.load(path)
    tiny_model.save(path)
    with pytest.raises(FormatError, match=r"holds a model \('sparsehash'\)"):
        HammingIndex.load(path)


def test_load_opens_an_index(saved, index):
    assert len(kinhash.load(saved)) == len(index)
    with pytest.raises(FormatError, match=r"is an index.*kinhash\.load"):
        Codes.load(saved)


def test_a_missing_file_or_folder_says_so(tmp_path, index):
    with pytest.raises(InvalidInputError, match=r"Cannot read .*nowhere: no such file"):
        HammingIndex.load(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match=r"Cannot write .*: no such file"):
        index.save(tmp_path / "no" / "index.kinhash")


def rewrite(path, change):
    """Write the same index with other arrays or numbers, checksums and all."""
    stored = file.read(path, mmap=False, verify=False)
    arrays = {name: array.copy() for name, array in stored.arrays.items()}
    names = ("n_bits", "n_rank_bits", "signed", "memory")
    settings = {name: stored.header[name] for name in names}
    numbers, texts = dict(stored.numbers), None
    if stored.names is not None:
        arrays |= {"id_starts": stored.names.starts.copy(), "id_texts": stored.names.texts.copy()}
    change(arrays, numbers, settings)
    if stored.names is not None:
        texts = Texts(arrays.pop("id_texts"), arrays.pop("id_starts"))
    file.write(path, arrays, numbers, **settings, names=texts)


def put(name, at, value):
    def change(arrays, numbers, settings):
        arrays[name][at] = value

    return change


def cut(name):
    def change(arrays, numbers, settings):
        arrays[name] = arrays[name][:-1]

    return change


def setting(where, name, value):
    def change(arrays, numbers, settings):
        (numbers if where == "numbers" else settings)[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("codes"), "codes do not fit their offsets"),
        (cut("offsets"), "do not fit"),
        (cut("narrow_ids"), "ids do not fit their offsets"),
        (cut("slots"), "slots do not fit"),
        (cut("used"), "codes do not fit"),
        (cut("leaders"), "leaders do not fit"),
        (cut("near_starts"), "neighbours do not fit"),
        (put("offsets", -1, 7), "ids do not fit their offsets"),
        (setting("numbers", "n_words", 2), "64 bits take 1 words, the file says 2"),
        (setting("numbers", "levels", 3), "too high"),
        (setting("numbers", "levels", -1), "no count"),
        (setting("numbers", "n_chunks", 4), "chunks do not fit"),
        (setting("numbers", "group_radius", 1e9), "no count"),
        (setting("numbers", "chunk_candidates", "x"), "no number"),
        (setting("settings", "n_bits", 65), "65 bits take 2 words, the file says 1"),
        (setting("settings", "n_bits", 0), r"`n_bits` must be in \[1, 4096\], got 0"),
        (setting("settings", "signed", value=1), "`signed` is 1"),
        (setting("settings", "memory", "huge"), "`memory` is 'huge'"),
    ],
)
def test_lengths_that_do_not_fit_are_refused_even_unverified(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(saved, verify=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("ranks"), "ranks do not fit the ids"),
        (setting("numbers", "rank_bytes", 8), "20 rank bits take 4 bytes, the file says 8"),
        (setting("numbers", "rank_bytes", 0), "20 rank bits take 4 bytes, the file says 0"),
        (setting("settings", "n_rank_bits", 0), "84 bits take 2 words, the file says 1"),
        (setting("settings", "n_rank_bits", 84), "`n_rank_bits` must be below 84, got 84"),
        (setting("settings", "n_rank_bits", 40), "40 rank bits take 8 bytes, the file says 4"),
        (setting("settings", "n_rank_bits", "x"), "no count"),
    ],
)
def test_rank_bits_that_do_not_fit_are_refused_even_unverified(tmp_path, rng, change, message):
    path = tmp_path / "index.kinhash"
    HammingIndex(ranked(rng, clustered(rng, 300), 20)).save(path)
    rewrite(path, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(path, verify=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("id_starts"), "`id_starts` are of 299 strings, but there are 300 items"),
        (cut("narrow_ids"), "there are \\(299, .*, the file says|do not fit|of 300 strings"),
    ],
)
def test_strings_that_do_not_fit_are_refused_even_unverified(tmp_path, rng, change, message):
    path = tmp_path / "index.kinhash"
    HammingIndex(clustered(rng, 300), [f"id {i}" for i in range(300)]).save(path)
    rewrite(path, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(path, verify=False)


@pytest.mark.parametrize("left", ["id_starts", "id_texts"])
def test_half_a_table_of_strings_is_refused(tmp_path, monkeypatch, rng, left):
    path = tmp_path / "index.kinhash"
    index = HammingIndex(clustered(rng, 30), [f"id {i}" for i in range(30)])
    monkeypatch.setattr(file, "NAMES", {left: file.NAMES[left]})
    index.save(path)
    monkeypatch.undo()
    with pytest.raises(FormatError, match="expected the sections codes"):
        HammingIndex.load(path)


# Killed and damaged

SAVER = """
import sys
import numpy as np
from kinhash import Codes, HammingIndex
first, second = (HammingIndex.load(path, mmap=False) for path in sys.argv[1:3])
print("ready", flush=True)
while True:
    first.save(sys.argv[3])
    second.save(sys.argv[3])
"""


def test_a_process_killed_while_saving_leaves_the_old_file(tmp_path, rng):
    first, second, target = (tmp_path / name for name in ("first", "second", "target"))
    for path, n in (first, 60_000), (second, 40_000):
        HammingIndex(clustered(rng, n), memory="balanced").save(path)
    whole = {path.read_bytes() for path in (first, second)}
    shutil.copy(first, target)
    unfinished = 0
    for _ in range(8):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, first, second, target], stdout=subprocess.PIPE, text=True
        )
        assert saver.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.1))
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        assert target.read_bytes() in whole
        HammingIndex.load(target, verify=True)
        rests = list(tmp_path.glob(".target.*"))
        unfinished += len(rests)
        for rest in rests:
            rest.unlink()
    assert unfinished, "no save was caught in the middle: the test shows nothing"


def fuzz(folder, *, rounds, seed):
    """Run the fuzzer in a process of its own, so that a crash or a hang is seen."""
    done = subprocess.run(
        [sys.executable, FUZZ, folder, str(rounds), str(seed)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


def save_all_kinds(folder, rng):
    """Small indexes that have, between them, every section."""
    wide = np.arange(600) * 2**33
    HammingIndex(clustered(rng, 600), memory="fast").save(folder / "fast")
    HammingIndex(clustered(rng, 600), wide, memory="balanced").save(folder / "wide")
    HammingIndex(clustered(rng, 600, 200), memory="lean").save(folder / "lean")
    HammingIndex(clustered(rng, 400, 70, signed=True), memory="fast").save(folder / "signed")
    HammingIndex(dense_codes(rng, 500), memory="balanced").save(folder / "dense")
    HammingIndex(dense_codes(rng, 500, 600)).save(folder / "wide dense")
    HammingIndex(clustered(rng, 50), memory="fast").save(folder / "small")
    HammingIndex(ranked(rng, clustered(rng, 400, 32))).save(folder / "ranked")
    HammingIndex(ranked(rng, clustered(rng, 200, 32), 70)).save(folder / "wide ranks")
    HammingIndex(clustered(rng, 400), [f"é {i}" for i in range(400)]).save(folder / "strings")
    headers = [file.read_header(path) for path in folder.iterdir()]
    filled = {s["name"] for header in headers for s in header["sections"] if s["length"]}
    assert filled == file.SECTIONS.keys() | file.NAMES.keys()


def test_damaged_files_never_crash_unverified(tmp_path, rng):
    """Every region flipped, overwritten and mixed up: answers may be wrong, nothing breaks."""
    save_all_kinds(tmp_path, rng)
    fuzz(tmp_path, rounds=3, seed=1)


@pytest.mark.slow
def test_many_damaged_files_never_crash_unverified(tmp_path, rng):
    save_all_kinds(tmp_path, rng)
    fuzz(tmp_path, rounds=int(os.environ.get("KINHASH_FUZZ_ROUNDS", "10")), seed=2)


# Golden


def golden_ranks(n):
    """20 rank bits for each of n items."""
    return (np.arange(n, dtype=np.uint64) * np.uint64(2654435761) >> np.uint64(7)) % 2**20


@pytest.mark.parametrize("version", sorted(p.parent.name for p in GOLDEN.glob("*/index.kinhash")))
def test_files_of_every_past_format_answer_for_ever(version):
    """Made from the codes of v2, twice over: enough items for every structure to be built.

    words = np.tile(kinhash.load("v2/codes.kinhash").codes.words, (2, 1))
    HammingIndex(Codes(words, 24), 10 * np.arange(400), memory="fast").save("v2/index.kinhash")
    ranked = Codes(words, 44, rank_words=golden_ranks(400)[:, None], n_rank_bits=20)
    HammingIndex(ranked, 10 * np.arange(400), memory="fast").save("v3/index.kinhash")
    """
    index = HammingIndex.load(GOLDEN / version / "index.kinhash", verify=True)
    codes = kinhash.load(GOLDEN / "v2" / "codes.kinhash").codes
    if version != "v2":
        words, ranks = np.tile(codes.words, (2, 1)), golden_ranks(400)[:, None]
        ranked_codes = Codes(words, 44, rank_words=ranks, n_rank_bits=20)
        assert index.codes(10 * np.arange(400)) == ranked_codes
        for order in reference.ORDERS:
            options = {"ids": 10 * np.arange(400), "order": order}
            expected = reference.search_top_k(ranked_codes, ranked_codes, 9, **options)
            found = index.search_top_k(ranked_codes, 9, order=order)
            assert found.ids.tolist() == expected.ids.tolist()
            assert found.rank_distances.tolist() == expected.rank_distances.tolist()
        return
    assert index.ids.tolist() == list(range(0, 20 * len(codes), 10))
    words = np.tile(codes.words, (2, 1))
    for radius in range(5):
        found = index.search_radius(codes, radius, sort=True)
        for query, (ids, distances) in zip(codes.words, found, strict=True):
            all_distances = np.bitwise_count(words ^ query).sum(axis=1)
            within = np.flatnonzero(all_distances <= radius)
            order = np.lexsort((within, all_distances[within]))
            assert ids.tolist() == (10 * within[order]).tolist()
            assert distances.tolist() == all_distances[within][order].tolist()


def golden_names(n):
    """Strings of one to four bytes a letter, in no order."""
    return [f"{'aß中🙂'[i % 4]}-{i * 7919 % n}" for i in range(n)]


def test_an_index_of_strings_answers_for_ever():
    """Made from the same codes.

    HammingIndex(ranked, golden_names(400), memory="fast").save("v3/named-index.kinhash")
    """
    index = HammingIndex.load(GOLDEN / "v3" / "named-index.kinhash", verify=True)
    words = np.tile(kinhash.load(GOLDEN / "v2" / "codes.kinhash").codes.words, (2, 1))
    codes = Codes(words, 44, rank_words=golden_ranks(400)[:, None], n_rank_bits=20)
    assert index.ids.tolist() == golden_names(400)
    assert index.codes(golden_names(400)) == codes
    expected = reference.search_top_k(codes, codes, 9, ids=golden_names(400))
    assert index.search_top_k(codes, 9).ids.tolist() == expected.ids.tolist()


def test_an_index_can_be_read_as_the_format_says(tmp_path, monkeypatch):
    text = (GOLDEN.parents[1] / "docs" / "formats.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOLDEN / "v3" / "index.kinhash", tmp_path)
    found = {}
    exec(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[-1], found)  # noqa: S102
    codes = kinhash.load(GOLDEN / "v2" / "codes.kinhash").codes
    assert np.array_equal(found["words"], codes.words[found["ids"] // 10 % len(codes)])
    assert sorted(found["ids"]) == list(range(0, 4000, 10))
    expected = golden_ranks(400)[found["ids"] // 10].astype("<u4").view(np.uint8)
    assert found["ranks"].ravel().tolist() == expected.tolist()
    blank = found["raw"][:12] + bytes(4) + found["raw"][16 : 24 + found["length"]]
    assert zlib.crc32(blank) == found["checksum"]
    header = file.read_header("index.kinhash")
    assert found["index"] | {"format": found["version"]} == header
    assert found["version"] == file.FORMAT
    assert f"format {file.FORMAT} of an index" in text
    assert f"| 8 to 11 | format, {file.FORMAT}:" in text
    sections = file.SECTIONS | file.NAMES | file.OF_CALIBRATION
    for name in [*header, "calibration", *header["numbers"], *header["sections"][0], *sections]:
        assert f"`{name}`" in text


def test_the_core_refuses_arrays_of_another_type(index):
    """It would keep a pointer into a copy that nobody else keeps."""
    segment = index._state.segments[0]
    with pytest.raises(ValueError, match="another type"):
        _native.Segment(
            segment.arrays | {"slots": segment.arrays["slots"].astype(np.int64)}, segment.numbers
        )
