"""Searches as far as a precision."""

import copy
import itertools
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from kinhash import Codes, HammingIndex, Matches
from kinhash.calibration import Calibration
from kinhash.errors import DriftWarning, FormatError, InvalidInputError, SearchTimeout
from kinhash.index import file, precision
from kinhash.index.reference import distances, rank_distances

WORDS = np.random.default_rng(5).integers(0, 2, (4, 18))


def drawn(seed, n, n_rank_bits=12, noise=0.12, weights=(1, 1, 1, 1)):
    """Codes of 6 bucket bits and some rank bits, of classes; and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, n, p=np.array(weights) / np.sum(weights))
    bits = WORDS[labels] ^ (rng.random((n, 18)) < noise)
    rank = bits[:, 6 : 6 + n_rank_bits] if n_rank_bits else None
    return Codes.from_dense(bits[:, :6], rank=rank), labels


@pytest.fixture(scope="module")
def calibration():
    return Calibration.from_codes(*drawn(0, 500))


@pytest.fixture(scope="module")
def index(calibration):
    return HammingIndex(drawn(1, 400)[0], calibration=calibration)


def within(codes, queries, cut, ids):
    """Every pair as far as a cut: (query, distance, rank distance, id) in the nested order."""
    near, rank = distances(queries, codes), rank_distances(queries, codes)
    return sorted(
        (q, int(near[q, i]), int(rank[q, i]), int(ids[i]))
        for q in range(len(queries))
        for i in range(len(codes))
        if (near[q, i], rank[q, i]) <= (cut.distance, cut.rank_distance)
    )


def rows(matches):
    queries = np.repeat(np.arange(len(matches)), matches.counts)
    columns = queries, matches.distances, matches.rank_distances, matches.ids
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("wanted", [0.95, 0.8, 0.6, 0.4])
def test_a_search_goes_as_far_as_its_cut(calibration, wanted):
    codes, _ = drawn(1, 400)
    queries, _ = drawn(2, 30)
    ids = np.random.default_rng(0).permutation(400) * 7
    index = HammingIndex(codes[:250], ids[:250], calibration=calibration)
    index.add(codes[250:], ids[250:])
    index.remove(ids[:20])
    cut = index.cut(wanted)
    expected = within(codes[20:], queries, cut, ids[20:])
    found = index.search_radius(queries, min_precision=wanted, sort=True)
    assert rows(found) == expected
    assert cut.precision >= wanted
    by_total = index.search_radius(queries, min_precision=wanted, sort=True, order="total")
    assert rows(by_total) == sorted(expected, key=lambda row: (row[0], row[1] + row[2], row[3]))
    some = index.search_radius(queries, min_precision=wanted, sort=True, allowed=ids[50:60])
    assert rows(some) == [row for row in expected if row[3] in ids[50:60]]


def test_cuts_within_a_distance_occur(index):
    cuts = [index.cut(wanted) for wanted in np.linspace(0.3, 0.99, 30)]
    assert any(cut.rank_distance < 12 for cut in cuts)
    assert all(a[:2] >= b[:2] for a, b in itertools.pairwise(cuts))


def test_codes_without_rank_bits_are_cut_at_whole_distances():
    calibration = Calibration.from_codes(*drawn(0, 500, n_rank_bits=0))
    codes, queries = drawn(1, 400, n_rank_bits=0)[0], drawn(2, 20, n_rank_bits=0)[0]
    index = HammingIndex(codes, calibration=calibration)
    radius = calibration.radius_for(precision=0.6, similar_share=0.3)
    found = index.search_radius(queries, min_precision=0.6, similar_share=0.3)
    plain = index.search_radius(queries, radius)
    assert found.ids.tolist() == plain.ids.tolist()
    assert found.rank_distances is None
    expected = calibration.precisions(plain.distances, similar_share=0.3)
    assert found.precision.tolist() == expected.tolist()
    assert plain.precision is None


def test_each_match_has_the_precision_of_its_distances(index, calibration):
    queries, _ = drawn(2, 20)
    found = index.search_radius(queries, min_precision=0.7, similar_share=0.2, sort=True)
    expected = calibration.precisions(found.distances, found.rank_distances, similar_share=0.2)
    assert found.precision.dtype == np.float32
    assert found.precision.tolist() == expected.tolist()
    assert not found.precision.flags.writeable
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert again.precision.tolist() == expected.tolist()
    nearest = index.search_top_k(queries, 5)
    assert nearest.precision is None
    rated = index.with_precision(nearest, similar_share=0.2)
    assert rated.ids.tolist() == nearest.ids.tolist()
    assert rated.precision[0] == calibration.precisions(
        nearest.distances[:1], nearest.rank_distances[:1], similar_share=0.2
    )
    assert index.with_precision(nearest).precision.shape == (100,)


def test_what_is_got_is_what_was_asked_for(index):
    """Items and queries that nobody has seen, with the share of similar pairs estimated."""
    labels, (queries, query_labels) = drawn(1, 400)[1], drawn(3, 400)
    for wanted in (0.5, 0.7, 0.9):
        found = index.search_radius(queries, min_precision=wanted)
        right = labels[found.ids] == np.repeat(query_labels, found.counts)
        assert right.mean() == pytest.approx(index.cut(wanted).precision, abs=0.03)


def test_a_rarer_kind_needs_nearer_answers(calibration):
    """Of 16 classes instead of 4, a quarter of the pairs is similar: the estimate tells."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 16, 800)
    words = np.concatenate([WORDS, rng.integers(0, 2, (12, 18))])
    bits = words[labels] ^ (rng.random((800, 18)) < 0.12)
    rare = HammingIndex(Codes.from_dense(bits[:, :6], rank=bits[:, 6:]), calibration=calibration)
    common = HammingIndex(drawn(1, 800)[0], calibration=calibration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        assert rare.cut(0.5)[:2] < common.cut(0.5)[:2]


def test_the_share_is_that_of_the_items_however_they_came_in(calibration, tmp_path):
    codes, _ = drawn(1, 5000)
    whole = HammingIndex(codes, calibration=calibration)
    parts = HammingIndex(codes[3000:], np.arange(3000, 5000), calibration=calibration)
    parts.add(codes[:3000], np.arange(3000))
    parts.add(codes[:10], np.arange(9000, 9010))
    parts.remove(np.arange(9000, 9010))
    whole.save(tmp_path / "index.kinhash")
    for other in (parts, HammingIndex.load(tmp_path / "index.kinhash"), copy.copy(whole)):
        assert other.cut(0.7) == whole.cut(0.7)
    sample = precision.sampled(whole._state, (18, 12, False))
    assert len(sample) == precision.N_SAMPLED
    assert sample == precision.sampled(parts._state, (18, 12, False))


def test_distances_are_looked_at_once_for_each_state(calibration, monkeypatch):
    index = HammingIndex(drawn(1, 400)[0], calibration=calibration)
    looked = []
    observe = Calibration.observe
    monkeypatch.setattr(
        Calibration, "observe", lambda *a, **k: looked.append(1) or observe(*a, **k)
    )
    queries = drawn(2, 3)[0]
    for _ in range(3):
        index.search_radius(queries, min_precision=0.7)
    assert len(looked) == 1
    index.add(queries, [1000, 1001, 1002])
    index.search_radius(queries, min_precision=0.7)
    index.calibration = copy.deepcopy(calibration)
    index.search_radius(queries, min_precision=0.7)
    assert len(looked) == 3


def test_few_items_take_the_share_of_the_calibration(calibration):
    few = HammingIndex(drawn(1, precision.FEWEST - 1)[0], calibration=calibration)
    assert few.cut(0.7) == calibration.cut(0.7)
    empty = HammingIndex(drawn(1, 5)[0][:0], calibration=calibration)
    found = empty.search_radius(drawn(2, 3)[0], min_precision=0.7)
    assert found.counts.tolist() == [0, 0, 0]
    assert found.precision.shape == (0,)


def test_a_drifted_collection_is_told_with_both_numbers_and_another_is_not(calibration, index):
    """What was trained on lay around the words of four classes; these bits know of no class."""
    index.cut(0.7)  # warnings are errors
    bits = np.random.default_rng(0).random((400, 18)) < 0.25
    other = Codes.from_dense(bits[:, :6], rank=bits[:, 6:])
    drifted = HammingIndex(other, calibration=calibration)
    told = r"This index has other distances .*: \d.*% of its pairs .* where \d.*% were expected"
    with pytest.warns(DriftWarning, match=told):
        drifted.search_radius(other[:3], min_precision=0.3)
    drifted.search_radius(other[:3], min_precision=0.3)  # told once


def test_chance_is_no_drift(calibration):
    for seed in range(30):  # warnings are errors
        HammingIndex(drawn(seed, 100)[0], calibration=calibration).cut(0.7)


def test_what_codes_do_not_reach_names_the_highest(index, calibration):
    highest = np.floor(1000 * calibration.highest(0.0001)) / 1000
    with pytest.raises(
        InvalidInputError, match=rf"`min_precision` 0.99 .*highest is {highest:.3f}"
    ):
        index.search_radius(drawn(2, 3)[0], min_precision=0.99, similar_share=0.0001)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Give either `radius` or `min_precision`, got none"),
        ({"radius": 1, "min_precision": 0.5}, "Give either `radius` or `min_precision`, got both"),
        ({"radius": 1, "similar_share": 0.5}, "`similar_share` goes with `min_precision`"),
        ({"similar_share": 0.5}, "Give either `radius` or `min_precision`, got none"),
        ({"min_precision": 0}, "`min_precision` must be a number greater than 0 and at most 1"),
        ({"min_precision": 1.01}, "`min_precision` must be a number greater than 0 and at most 1"),
        ({"min_precision": "high"}, "`min_precision` must be a number"),
        ({"min_precision": 0.5, "similar_share": 1}, "`similar_share` must be a number between"),
        ({"min_precision": 0.5, "order": "total"}, "needs sorted rows"),
        ({"min_precision": 0.5, "n_threads": 0}, "`n_threads` must be"),
        ({"min_precision": 0.5, "timeout": -1}, "`timeout` must be"),
        ({"min_precision": 0.5, "out": 3}, "`out` must be"),
    ],
)
def test_bad_input_is_refused(index, options, message):
    with pytest.raises(InvalidInputError, match=message):
        index.search_radius(drawn(2, 3)[0], **options)


def test_other_codes_and_other_calibrations_are_refused(index, calibration):
    codes, _ = drawn(1, 10)
    with pytest.raises(InvalidInputError, match="have 4 bucket bits"):
        index.search_radius(Codes.from_dense(np.zeros((1, 4))), min_precision=0.7)
    with pytest.raises(InvalidInputError, match=r"has no calibration.*model.calibration_"):
        HammingIndex(codes).search_radius(codes, min_precision=0.5)
    with pytest.raises(InvalidInputError, match="has no calibration"):
        HammingIndex(codes).with_precision(HammingIndex(codes).search_top_k(codes, 1))
    with pytest.raises(InvalidInputError, match=r"`matches` must be kinhash.Matches, got int"):
        index.with_precision(3)
    with pytest.raises(InvalidInputError, match=r"is of codes of 18 bits|is of 18 bits"):
        HammingIndex(codes.without_rank(), calibration=calibration)
    with pytest.raises(
        InvalidInputError, match=r"must be a kinhash.calibration.Calibration or None"
    ):
        HammingIndex(codes, calibration=0.9)
    labels = drawn(0, 100)[1]
    theirs = Calibration.from_codes(drawn(0, 100)[0], labels, made_by="another")
    with pytest.raises(InvalidInputError, match=r"of encoder another, but .* by encoder this"):
        HammingIndex(codes, made_by="this", calibration=theirs)
    plain = HammingIndex(codes, made_by="this")
    with pytest.raises(InvalidInputError, match="of encoder another"):
        plain.calibration = theirs
    assert plain.calibration is None


def test_a_search_gives_up_in_time(index):
    with pytest.raises(SearchTimeout):
        index.search_radius(drawn(2, 2000)[0], min_precision=0.3, similar_share=0.3, timeout=1e-9)


def test_memory_of_an_earlier_answer_is_reused(index):
    queries, _ = drawn(2, 20)
    first = index.search_radius(queries, min_precision=0.7)
    expected = rows(first), first.precision.tolist()
    again = index.search_radius(queries, min_precision=0.7, out=first)
    assert (rows(again), again.precision.tolist()) == expected
    assert first.precision is None


def test_matches_of_ones_own_take_a_precision():
    made = Matches(np.array([0, 2]), np.array([1, 2]), np.array([0, 1]), precision=[0.9, 0.5])
    assert made.precision.tolist() == pytest.approx([0.9, 0.5])
    with pytest.raises(InvalidInputError, match="`precision` must be one for each of 2 matches"):
        Matches(np.array([0, 2]), np.array([1, 2]), np.array([0, 1]), precision=[0.9])


# Files


def test_the_calibration_travels_in_the_file(index, calibration, tmp_path):
    path = tmp_path / "index.kinhash"
    index.save(path)
    for mmap in (True, False):
        loaded = HammingIndex.load(path, mmap=mmap)
        assert loaded.calibration.rows() == calibration.rows()
        assert loaded.calibration.made_by == calibration.made_by
        queries, _ = drawn(2, 20)
        found, again = (one.search_radius(queries, min_precision=0.7) for one in (index, loaded))
        assert rows(found) == rows(again)
    facts = file.describe(path)["calibration"]
    assert facts == {
        "n_rows": 500,
        "similar_share": calibration.similar_share,
        "highest_precision": calibration.highest(),
    }
    plain = HammingIndex(drawn(1, 5)[0])
    plain.save(path)
    assert HammingIndex.load(path).calibration is None
    assert file.describe(path)["calibration"] is None


def test_every_flipped_byte_of_a_calibration_is_seen_without_verifying_the_rest(index, tmp_path):
    path = tmp_path / "index.kinhash"
    index.save(path)
    raw = path.read_bytes()
    sections = {s["name"]: s for s in file.read_header(path)["sections"]}
    for name in file.OF_CALIBRATION:
        at = sections[name]["offset"] + 3
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])
        with pytest.raises(FormatError, match=re.escape(f"checksum of `{name}`")):
            HammingIndex.load(path, verify=False)


def test_a_calibration_that_nobody_made_is_refused(index, calibration, tmp_path):
    path = tmp_path / "index.kinhash"
    segment = index._state.segments[0]
    wrong = copy.deepcopy(calibration)
    wrong.ratio[:] = wrong.ratio[::-1].copy()
    kind = {"n_bits": 18, "n_rank_bits": 12, "signed": False, "memory": "balanced"}
    file.write(path, segment.arrays, segment.numbers, calibration=wrong, **kind)
    with pytest.raises(FormatError, match="the calibration is not sound"):
        HammingIndex.load(path)
    file.write(path, segment.arrays, segment.numbers, calibration=calibration, **kind)
    header = file.read(path).header
    header["calibration"] = {"n_rows": "many", "similar_share": 0.1}
    start = header["sections"][0]["offset"]
    header.pop("format")
    path.write_bytes(file._packed(header, start) + path.read_bytes()[start:])
    with pytest.raises(FormatError, match="`n_rows` must be an integer"):
        HammingIndex.load(path)


def test_searching_by_precision_needs_no_torch(index, tmp_path):
    index.save(tmp_path / "index.kinhash")
    code = (
        "import sys; from kinhash import HammingIndex; "
        f"index = HammingIndex.load({str(tmp_path / 'index.kinhash')!r}); "
        "index.search_radius(index.codes([0]), min_precision=0.5); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_distances_of_queries_tell_of_queries(calibration):
    """The items are of all classes, the queries of one that is rare among them."""
    items, labels = drawn(20, 900, weights=(0.2, 1, 1, 1))
    codes, kinds = drawn(21, 900)
    queries = codes[kinds == 0]
    index = HammingIndex(items, calibration=calibration)
    true = np.mean(labels == 0)
    assert true < 0.1
    found = index.observe(queries)
    assert found.similar_share == pytest.approx(true, abs=0.05)
    assert index.observe().similar_share > 0.2
    with pytest.raises(InvalidInputError, match="two items or more, it has 1"):
        HammingIndex(items[:1], calibration=calibration).observe()
    with pytest.raises(InvalidInputError, match="has no calibration"):
        HammingIndex(items).observe(queries)
