import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.errors import FormatError
from kinhash.ids import Texts
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


def swap(name, at, other):
    def change(arrays, numbers, settings):
        arrays[name][[at, other]] = arrays[name][[other, at]]

    return change


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
@pytest.mark.parametrize("n", [0, 1, 300, 1500, 20_000])
def test_what_was_saved_is_sound(tmp_path, rng, memory, n):
    path = tmp_path / "index.kinhash"
    for codes in (clustered(rng, n), dense_codes(rng, min(n, 1500)), clustered(rng, n, 200)):
        HammingIndex(codes, memory=memory).save(path)
        assert len(HammingIndex.load(path, verify=True)) == len(codes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("offsets", 3, 0), "`offsets` do not ascend"),
        (put("codes", 3, 2**63), "`slots` do not lead to one of the `codes`"),
        (put("slots", slice(None), 1), "`slots` do not lead to one of the `codes`"),
        (put("narrow_ids", 0, 2**31), "the ids of one of the `codes` at rows 0 to .* not ascend"),
        (put("used", 0, 1), "`used` are not the bits of the codes"),
        (put("leaders", 0, 2**64 - 1), "`leaders` are .* bits from a code, more than 2"),
        (put("group_starts", 1, 2**31), "`group_starts` do not ascend"),
        (put("key1_rows", 5, 2**31), "`key1_rows` do not fit the codes"),
        (swap("key1_rows", 5, -5), "`key1_rows` do not fit the codes"),
        (swap("key2_rows", 5, -5), "`key2_rows` do not fit the codes"),
        (put("key2_starts", 5, 2**31), "`key2_starts` do not fit the codes"),
        (put("near_rows", 5, 2**32 - 1), "`near_rows` of one of the codes at rows"),
        (put("near_starts", 5, 2**31), "`near_starts` do not ascend"),
    ],
)
def test_unsound_structures_behind_right_checksums_are_found(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(saved, verify=True)
    HammingIndex.load(saved, verify=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("chunk_rows", 5, 5000), "`chunk_rows` do not fit the codes"),
        (swap("chunk_rows", 5, 900), "`chunk_rows` do not fit the codes"),
        (put("chunk_starts", 5, 5000), "`chunk_starts` do not fit the codes"),
    ],
)
def test_unsound_chunks_are_found(tmp_path, rng, change, message):
    path = tmp_path / "index.kinhash"
    HammingIndex(dense_codes(rng, 1000), memory="balanced").save(path)
    assert file.read_header(path)["numbers"]["n_chunks"] == 4
    rewrite(path, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(path)


def test_bits_beyond_the_rank_bits_are_found(tmp_path, rng):
    path = tmp_path / "index.kinhash"
    ranks = rng.random((300, 20)) < 0.5
    HammingIndex(Codes.from_dense(rng.random((300, 40)) < 0.1, rank=ranks)).save(path)
    assert len(HammingIndex.load(path, verify=True)) == 300
    rewrite(path, put("ranks", 4 * 7 + 2, 0x10))
    with pytest.raises(FormatError, match="`ranks` set bits beyond 20 rank bits"):
        HammingIndex.load(path, verify=True)
    HammingIndex.load(path, verify=False)


@pytest.mark.parametrize("shift", [0, 2**40])
def test_an_id_under_two_codes_is_found(tmp_path, rng, shift):
    path = tmp_path / "index.kinhash"
    index = HammingIndex(dense_codes(rng, 400), np.arange(400) + shift)
    index.save(path)
    name = "wide_ids" if shift else "narrow_ids"
    rewrite(path, put(name, 250, shift + 7))  # each code has one id: any order ascends
    with pytest.raises(FormatError, match=f"`{name}` hold {shift + 7} twice"):
        HammingIndex.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("id_starts", 3, 0), "`id_starts` do not ascend from 0 to"),
        (put("id_starts", 3, 2**63), "`id_starts` do not ascend from 0 to"),
        (put("id_starts", 3, 16), "`id_texts` in row 3 are not UTF-8"),  # within a character
        (put("id_texts", 7, 0xFF), "`id_texts` in row 1 are not UTF-8"),
        (put("id_texts", 7, 0), "`id_texts` in row 1 are not UTF-8 without zero bytes"),
        (put("id_texts", 9, ord("0")), "`id_texts` hold 'é000' twice, in rows 0 and 1"),
        (put("narrow_ids", 250, 400), r"`narrow_ids` hold \[400\], but there are 400 strings"),
        (put("narrow_ids", 250, 7), "`narrow_ids` hold 7 twice"),
    ],
)
def test_unsound_strings_behind_right_checksums_are_found(tmp_path, rng, change, message):
    path = tmp_path / "index.kinhash"
    HammingIndex(dense_codes(rng, 400), [f"é{i:03}" for i in range(400)]).save(path)
    assert len(HammingIndex.load(path, verify=True)) == 400
    rewrite(path, change)
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(path, verify=True)
    damaged = HammingIndex.load(path, verify=False)
    assert len(damaged.ids) == 400
    damaged.search_top_k(dense_codes(rng, 5), 400).ids.tolist()


def shorten(row, part):
    """Leave the last neighbour out of the list of `row` that is `part` + 1 bits away."""

    def change(arrays, numbers, settings):
        starts = arrays["near_starts"]
        end = starts[3 * row + part + 1]
        assert end > starts[3 * row + part]
        arrays["near_rows"] = np.delete(arrays["near_rows"], int(end) - 1)
        starts[3 * row + part + 1 :] -= 1

    return change


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_shortened_list_of_neighbours_is_found(saved, part):
    """All offsets and rows are in bounds; only a neighbour is missing."""
    arrays = file.read(saved).arrays
    sizes = np.diff(arrays["near_starts"].astype(int)).reshape(-1, 3)
    row = int(np.argmax(sizes[:, part]))
    assert sizes[row, part] > 1
    rewrite(saved, shorten(row, part))
    with pytest.raises(FormatError, match=r"`near_starts` of one of the codes .* leave neighbours"):
        HammingIndex.load(saved)
    # What the check is for: the file answers, and a match is missing.
    index = HammingIndex.load(saved, verify=False)
    query = Codes(arrays["codes"][row : row + 1, None], 64)
    plain = HammingIndex(*contents(index), memory="lean")
    n_found = [int(one.search_radius(query, part + 1).counts[0]) for one in (index, plain)]
    assert n_found[0] < n_found[1]


def contents(index):
    parts = [(code, ids) for code, ids in index.iter_buckets()]
    codes = Codes.concatenate([code[[0] * len(ids)] for code, ids in parts])
    return codes, np.concatenate([ids for _, ids in parts])


def test_neighbours_that_are_mixed_up_are_found(saved):
    def change(arrays, numbers, settings):
        sizes = np.diff(arrays["near_starts"].astype(int)).reshape(-1, 3)
        row = int(np.argmax(sizes[:, 1]))
        first = int(arrays["near_starts"][3 * row + 1])
        rows = arrays["near_rows"]
        rows[first] = rows[first + 1]

    rewrite(saved, change)
    with pytest.raises(FormatError, match=r"`near_rows` of one of the codes .* not its neighbours"):
        HammingIndex.load(saved)


def test_neighbours_listed_for_a_code_that_is_not_listed_are_found(saved):
    def change(arrays, numbers, settings):
        starts = arrays["near_starts"]
        assert starts[1] > 1
        arrays["near_rows"] = arrays["near_rows"][int(starts[1]) :]
        starts[1:] -= starts[1]
        assert starts[2] > 0

    rewrite(saved, change)
    with pytest.raises(FormatError, match="`near_starts` list neighbours without their code"):
        HammingIndex.load(saved)


def test_too_few_keys_are_found_before_any_are_built(saved):
    def change(arrays, numbers, settings):
        arrays["key2_rows"] = arrays["key2_rows"][:-1]
        arrays["key2_starts"][-1] -= 1

    n_keys = len(file.read(saved).arrays["key2_rows"])
    rewrite(saved, change)
    message = f"`key2_rows` has {n_keys - 1} entries for {n_keys} keys"
    with pytest.raises(FormatError, match=message):
        HammingIndex.load(saved)


def test_lists_beside_one_level_of_keys_are_refused(saved):
    def change(arrays, numbers, settings):
        numbers["levels"] = 1
        for name in ("key2_starts", "key2_rows"):
            arrays[name] = arrays[name][:0]

    rewrite(saved, change)
    with pytest.raises(FormatError, match="`near_starts` need two levels of deletion keys"):
        HammingIndex.load(saved)
