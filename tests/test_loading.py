"""What `load` does with files whose checksum is right and whose content is not."""

import copy
import json
import os
import struct
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import kinhash
from kinhash import Codes, HammingIndex, MultimodalSparseHash, Pairs, SparseHash, storage
from kinhash.codes import StoredCodes
from kinhash.encoders import ENCODERS, NestedEncoder
from kinhash.encoders.blocks import BLOCK_ROWS
from kinhash.errors import FormatError, InvalidInputError
from kinhash.loading import describe, load
from kinhash.methods import (
    AGH,
    CCAITQ,
    KSH,
    LSH,
    METHODS,
    MULTIMODAL_METHODS,
    ClassCode,
    FlyHash,
    Nested,
    OrthoHash,
)

GOLDEN = Path(__file__).parent / "golden"


SMALL = {
    "ista": SparseHash(n_bits=12, recipe="paper", max_steps=20),
    "ista, signed": SparseHash(n_bits=12, recipe="paper", max_steps=20, signed=True, n_layers=2),
    "cod": SparseHash(n_bits=12, recipe="paper", max_steps=20, encoder="cod", n_active=3),
    "linear": LSH(n_bits=12),
    "kernel": KSH(n_bits=12, n_anchors=20),
    "anchor-graph": AGH(n_bits=12, n_anchors=20),
    "top-k": FlyHash(n_bits=12),
    "class": ClassCode(n_bits=12),
    "class-levels": ClassCode(n_bits=12, levels=2, temperature=0.3),
    "nested": Nested(ClassCode(levels=2), LSH(), n_bits=12, n_rank_bits=5),
}


TEXTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.fixture(scope="module")
def files(tmp_path_factory, digits):
    """A saved model of every kind of encoder, models of two modalities, codes and an index."""
    folder, (X, y) = tmp_path_factory.mktemp("files"), digits
    X, y = X[:200], y[:200]
    for name, method in SMALL.items():
        method.fit(X, y).save(folder / name)
    middle = np.abs(X[:, 20] - 8) < 3  # no half-space
    ClassCode(n_bits=12, levels=2).fit(X[:, 18:22], middle).save(folder / "kernel-class-levels")
    OrthoHash(n_bits=12).fit(X[:, 18:22], middle).save(folder / "kernel-top-k")
    texts = [f"{TEXTS[label]} {TEXTS[-label]}" for label in y]
    SparseHash(n_bits=12, n_rank_bits=0).fit(X).save(folder / "landmarks")
    SparseHash(n_bits=12).fit(X).save(folder / "vectors alone")
    SparseHash(n_bits=12).fit(X, pairs=Pairs([0, 1, 2], [10, 11, 22])).save(folder / "pairs alone")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kinhash.training.rank_bits.N_STEPS", 5)
        patched.setattr("kinhash.methods.parts.class_probabilities.N_UNITS", 20)
        patched.setattr("kinhash.methods.parts.class_probabilities.WORTH_SURE", np.inf)
        for name, worth in (("class-rank", 0.0), ("kernel-class-rank", np.inf)):
            patched.setattr("kinhash.methods.parts.class_probabilities.WORTH_LOSS", worth)
            SparseHash(n_bits=12).fit(X, y % 2).save(folder / name)
    for name, method in (
        ("kernel-ista", MultimodalSparseHash(12, recipe="paper", max_steps=20, n_anchors=15)),
        ("two modalities", CCAITQ(n_bits=5)),
    ):
        method.fit({"image": X, "text": texts}, y).save(folder / name)
    signed = SMALL["ista, signed"]
    signed.encode(X).save(folder / "codes", ids=y * 1000 + np.arange(200), made_by="x")
    rank = LSH(n_bits=70).fit(X).encode(X).to_dense()
    nested = Codes.from_dense(signed.encode(X).to_dense(), signed=True, rank=rank)
    nested.save(folder / "nested codes", ids=np.arange(200), made_by="x")
    signed.encode(X).save(folder / "named codes", ids=[f"é{i}" for i in range(200)])
    HammingIndex(signed.encode(X)).save(folder / "index")
    HammingIndex(signed.encode(X), [f"é{i}" for i in range(200)]).save(folder / "named index")
    paths = {path.name: path for path in folder.iterdir()}
    golden = sorted(GOLDEN.glob("*/*.kinhash"))
    return paths | {"/".join(path.parts[-3:]): path for path in golden}


NAMES = [
    *SMALL,
    "kernel-ista",
    "kernel-class-levels",
    "kernel-top-k",
    "landmarks",
    "vectors alone",
    "pairs alone",
    "class-rank",
    "kernel-class-rank",
    "two modalities",
    "codes",
    "nested codes",
    "named codes",
    "index",
    "named index",
    *("/".join(path.parts[-3:]) for path in sorted(GOLDEN.glob("*/*.kinhash"))),
]


def test_there_is_a_file_of_every_kind_of_encoder(files):
    found = set()
    for path in files.values():
        thing = kinhash.load(path)
        if isinstance(getattr(thing, "encoder_", None), NestedEncoder):
            found |= {thing.encoder_.bucket.kind, thing.encoder_.rank.kind}
        elif hasattr(thing, "encoder_"):
            found.add(thing.encoder_.kind)
        elif hasattr(thing, "encoders_"):
            found |= {encoder.kind for encoder in thing.encoders_.values()}
    assert found == set(ENCODERS)
    assert set(NAMES) == set(files)


def use(thing):
    """Do with what was loaded what users do; all of it must be sound."""
    if isinstance(thing, StoredCodes):
        Codes(
            thing.codes.words,
            thing.codes.n_bits,
            signed=thing.codes.signed,
            rank_words=thing.codes.rank_words,
            n_rank_bits=thing.codes.n_rank_bits,
        )
        if thing.ids is not None:
            assert len(thing.ids) == len(thing.codes)
            assert thing.ids.dtype == np.int64 or {type(one) for one in thing.ids} <= {str}
        assert thing.made_by is None or isinstance(thing.made_by, str)
        return
    if isinstance(thing, HammingIndex):
        rank = np.zeros((1, thing.n_rank_bits)) if thing.n_rank_bits else None
        bucket = np.zeros((1, thing.n_bits - thing.n_rank_bits))
        zero = Codes.from_dense(bucket, signed=thing.signed, rank=rank)
        assert len(thing.search_top_k(zero, 3).ids) <= 3
        return
    repr(thing)
    calibration = getattr(thing, "calibration_", None)
    if calibration is not None:
        shares = [row[name] for row in calibration.rows() for name in ("low", "precision", "high")]
        assert np.all((np.array(shares) >= 0) & (np.array(shares) <= 1))
        assert calibration.cut(calibration.highest()).recall <= 1
        thing.radius_for(precision=1e-9)
        calibration.precisions([0])
        X = np.random.default_rng(0).normal(size=(3, thing.encoder_.n_features))
        assert 0 <= calibration.observe(thing.encode(X, n_threads=1)).drift <= 1
    encoders = getattr(thing, "encoders_", None) or {None: thing.encoder_}
    for modality, encoder in encoders.items():
        X = np.random.default_rng(0).normal(size=(3, encoder.n_features)).astype(np.float32)
        options = {} if modality is None else {"modality": modality}
        codes = thing.encode(X, n_threads=1, **options)
        Codes(
            codes.words,
            codes.n_bits,
            signed=codes.signed,
            rank_words=codes.rank_words,
            n_rank_bits=codes.n_rank_bits,
        )
        assert (codes.n_bits, codes.signed) == (thing.n_bits, encoder.signed)
        with np.errstate(all="ignore"):
            # In a block as encoders have it: what overflows depends on the order of a sum.
            block = np.pad(X, [(0, BLOCK_ROWS - len(X)), (0, 0)])
            outputs = encoder.forward(block)[: len(X)]
            assert np.isfinite(outputs).all(), "codes of outputs that are no numbers"
        if modality in getattr(thing, "words_", {}):
            assert len(thing.encode(["one two", ""], n_threads=1, **options)) == 2


def outcome(path):
    """Load and use a file; return the error that says what is wrong with it, or None."""
    try:
        use(kinhash.load(path))
    except (FormatError, InvalidInputError) as error:
        message = str(error)
        assert "\n" not in message
        assert message.endswith(".")
        assert ".." not in message.replace("...", "")
        assert len(message) < 1000 + len(str(path))
        return error
    return None


@pytest.fixture
def unsynced(monkeypatch):
    """Let saves not wait for the disk: thousands of files are written here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def signed_again(path, header, arrays):
    """Write a file of models or codes as `storage.write` does, with whatever is in the header."""
    storage.write(path, header, arrays)


VALUES = (
    None,
    True,
    0,
    1,
    -1,
    10**9,
    -(10**30),
    10**400,
    0.5,
    1e-300,
    1e38,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    "x" * 5000,
    [],
    [None],
    [1, 2],
    [["a"]],
    {},
    {"a": 1},
)


def places(value, path=()):
    """Yield the way to everything in a JSON value, containers and what is in them."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            few = inner if isinstance(inner, dict) else inner[:2]  # training looks are all alike
            yield from places(few, (*path, key))


def changed_headers(header):
    """Yield copies of a header with one thing replaced, removed or added."""
    for way in list(places(header)):
        for value in (*VALUES, ...):
            changed = copy.deepcopy(header)
            inner = changed
            for key in way[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[way[-1]]
            else:
                inner[way[-1]] = value
            yield f"{way} becomes {value!r:.40}", changed
        inner = header
        for key in way:
            inner = inner[key]
        if isinstance(inner, dict | list):
            changed = copy.deepcopy(header)
            at = changed
            for key in way:
                at = at[key]
            at.update(unknown=1) if isinstance(at, dict) else at.append(1)
            yield f"{way} has one more", changed
    yield "an unknown entry", header | {"unknown": 1}


def changed_arrays(arrays):
    """Yield copies of the arrays with one of them altered, removed or added."""
    for name, array in arrays.items():
        makers = {
            "is gone": None,
            "is empty": array[:0],
            "is longer": np.concatenate([array, array]),
            "is shorter": array[:-1],
            "has one row": array[:1],
            "is flat": array.reshape(-1),
            "is deeper": array[None],
            "is a scalar": np.zeros((), array.dtype),
            "is transposed": np.ascontiguousarray(array.T),
            "has no columns": array.reshape(len(array), -1)[:, :0],
            "is long and empty": np.zeros((0, 2**40), array.dtype),
        }
        for dtype in (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, bool):
            makers[f"is {np.dtype(dtype)}"] = array.astype(dtype)
        values = (0, 1, -1, 2, 255, 2**63 - 1, 2**64 - 1, 1e-45, 1e19, 3e38, -3e38)
        values += (float("nan"), float("inf"), -float("inf"))
        for value in values:
            if array.dtype.kind != "f" and not _fits(value, array.dtype):
                continue
            for where in (slice(None), slice(1)):
                changed = array.copy()
                changed.reshape(-1)[where] = value
                makers[f"has {value} at {where}"] = changed
        for what, made in makers.items():
            rest = {key: other for key, other in arrays.items() if key != name}
            yield f"{name} {what}", rest if made is None else rest | {name: made}
    yield "an unknown array", arrays | {"unknown": np.zeros(3, np.float32)}
    yield "no array", {}


def _fits(value, dtype):
    return isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


@pytest.mark.usefixtures("unsynced")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in NAMES if "index" not in name])
def test_a_hostile_file_gives_sound_codes_or_one_clear_error(files, tmp_path, name):
    header, arrays = storage.read(files[name])
    path = tmp_path / "hostile.kinhash"
    assert outcome(files[name]) is None
    refused = total = 0
    cases = [(what, changed, arrays) for what, changed in changed_headers(header)]
    cases += [(what, header, changed) for what, changed in changed_arrays(arrays)]
    for what, changed, with_arrays in cases:
        signed_again(path, changed, with_arrays)
        try:
            refused += outcome(path) is not None
        except Exception as error:
            raise AssertionError(f"{name}: {what}") from error
        total += 1
    assert total > 150
    assert refused > total / 3


@pytest.mark.parametrize("name", [name for name in NAMES if "index" in name])
def test_a_hostile_header_of_an_index_gives_answers_or_one_clear_error(files, tmp_path, name):
    raw = files[name].read_bytes()
    magic, version, _, length = struct.unpack("<8sIIQ", raw[:24])
    header, path = json.loads(raw[24 : 24 + length]), tmp_path / "hostile.kinhash"
    for what, changed in changed_headers(header):
        text = json.dumps(changed, sort_keys=True).encode().ljust(length)
        start = struct.pack("<8sIIQ", magic, version, 0, len(text))
        checksum = struct.pack("<I", zlib.crc32(start + text))
        path.write_bytes(start[:12] + checksum + start[16:] + text + raw[24 + length :])
        try:
            outcome(path)
        except Exception as error:
            raise AssertionError(f"{name}: {what}") from error


def changed(files, tmp_path, name, *, arrays=None, **entries):
    header, stored = storage.read(files[name])
    path = tmp_path / "changed.kinhash"
    signed_again(path, header | entries, stored | (arrays or {}))
    return path


SETTINGS = {"beta": 3.0, "n_steps": 1, "two_sided": False}


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        (
            "ista",
            {"settings": SETTINGS | {"n_steps": 10**9}},
            r"integer in \[0, 100\], .* 1000000000",
        ),
        ("cod", {"settings": SETTINGS | {"n_steps": 13}}, r"`n_steps` .* in \[1, 12\], .* has 13"),
        (
            "ista",
            {"settings": SETTINGS | {"beta": 0}},
            "`beta` .* positive float32 number, .* has 0",
        ),
        (
            "ista",
            {"settings": SETTINGS | {"two_sided": 1}},
            "`two_sided` .* true or false, .* has 1",
        ),
        ("ista", {"settings": []}, r"`settings` must be an object, the file has \[\]"),
        ("ista", {"parameters": [1]}, r"`parameters` must be an object, the file has \[1\]"),
        ("ista", {"parameters": {"n_bits": 0}}, "`n_bits` must be 12, as the encoder .* has 0"),
        ("ista", {"parameters": {"n_bits": 10**9}}, "must be 12, as .* the file has 1000000000"),
        ("ista", {"history": "long"}, "`history` must be a list, the file has 'long'"),
        ("ista", {"history": [{"loss": "low"}]}, "list of objects of numbers, .* 'low'"),
        ("ista", {"feature_names": ["a"]}, r"null or \d+ strings, .* has \['a'\]"),
        ("ista", {"kind": 3}, "`kind` must be a string, the file has 3"),
        ("ista", {"kind": "sparsehash"}, "the file holds a 'sparsehash'; this release reads"),
        ("ista", {"mood": "bad"}, "the entry 'mood' is unknown; .* Upgrade kinhash"),
        ("anchor-graph", {"settings": {"n_nearest": 21, "width": 1}}, r"in \[1, 20\], .* has 21"),
        ("codes", {"n_bits": 0}, r"`n_bits` must be an integer in \[1, 4096\], got 0"),
        ("codes", {"n_bits": 10**9}, r"in \[1, 4096\], got 1000000000"),
        ("codes", {"n_bits": 4000}, "at most 4096 stored bits, got 8000: a signed entry takes two"),
        ("codes", {"n_bits": 15, "n_rank_bits": 3}, r"with 3 rank bits must be uint64 .* \(n, 1\)"),
        ("nested codes", {"n_bits": 12, "n_rank_bits": 0}, r"with 0 rank bits must be .* \(n, 0\)"),
        ("nested codes", {"n_rank_bits": 0}, r"82-bit signed codes must be .* \(n, 4\), got"),
        ("nested codes", {"n_rank_bits": 82}, "must be less than the 82 bits of a code"),
        ("nested codes", {"n_rank_bits": 69}, "`rank_words` set bits beyond the 69 bits"),
        ("nested codes", {"n_rank_bits": "70"}, "`n_rank_bits` must be an integer, .* has '70'"),
        ("codes", {"n_bits": 3}, "set bits beyond the 3 bits"),
        ("codes", {"n_bits": "12"}, "`n_bits` must be an integer, the file has '12'"),
        ("codes", {"signed": "no"}, "`signed` must be true or false, the file has 'no'"),
        ("codes", {"made_by": 7}, "`made_by` must be a string or null, the file has 7"),
    ],
)
def test_what_is_wrong_with_a_header_is_said(files, tmp_path, name, entries, message):
    with pytest.raises(FormatError, match=rf"changed\.kinhash: .*{message}"):
        kinhash.load(changed(files, tmp_path, name, **entries))


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("ista", {"tau": np.full(12, np.nan, np.float32)}, "`tau` .* has a NaN or an infinity"),
        ("cod", {"tau": np.full(12, np.inf, np.float32)}, "`tau` .* has a NaN or an infinity"),
        ("linear", {"bias": np.zeros(12)}, "`bias` .* must be float32 of shape .* has float64"),
        ("linear", {"extra": np.zeros(1)}, "encoder has W, bias, .* the file has W, bias, extra"),
        ("class", {"n_support": np.full(10, 2**62)}, r"`n_support` .* counts that sum to its \d+"),
        ("class", {"class_codes": np.full((10, 12), 2, np.uint8)}, "must hold only 0 and 1"),
        ("codes", {"ids": np.arange(199)}, r"`ids` must be int64 of shape \(200,\), .* \(199,\)"),
        ("codes", {"ids": np.arange(200.0)}, "`ids` must be int64 .* the file has float64"),
        ("codes", {"id_starts": np.arange(201)}, "have `ids`, or .* has `id_starts`, `ids`"),
        ("named codes", {"id_starts": np.arange(201)}, r"`id_starts` must be uint64 .* has int64"),
        (
            "named codes",
            {"id_texts": np.zeros(9, np.int8)},
            r"`id_texts` must be uint8 .* has int8",
        ),
        (
            "named codes",
            {"id_texts": np.zeros(9, np.uint8)},
            "`id_starts` do not ascend from 0 to 9",
        ),
        ("named codes", {"ids": np.arange(200)}, "has `id_starts`, `id_texts`, `ids`"),
        ("codes", {"words": np.ones((200, 2), np.uint64)}, r"\+1 and -1 at once"),
        ("codes", {"more": np.ones(2)}, "the array 'more' is unknown"),
        (
            "class-rank",
            {"G": np.zeros((8, 3), np.float32)},
            r"`G` .* float32 of shape \(8, 2\), .* \(8, 3\)",
        ),
        ("vectors alone", {"rank/extra": np.zeros(1)}, "the rank: a 'linear' encoder has W, bias"),
        (
            "nested codes",
            {"rank_words": np.zeros((199, 2), np.uint64)},
            "`rank_words` must be as many as `words`, got 199 and 200",
        ),
        (
            "nested codes",
            {"rank_words": np.zeros((200, 1), np.uint64)},
            r"codes with 70 rank bits must be uint64 of shape \(n, 2\), got .* \(200, 1\)",
        ),
    ],
)
def test_what_is_wrong_with_an_array_is_said(files, tmp_path, name, arrays, message):
    with pytest.raises(FormatError, match=rf"changed\.kinhash: .*{message}"):
        kinhash.load(changed(files, tmp_path, name, arrays=arrays))


def test_more_bits_than_a_code_can_have_are_refused(files, tmp_path):
    header, arrays = storage.read(files["linear"])
    path = tmp_path / "wide.kinhash"
    wide = {"W": np.tile(arrays["W"], (400, 1)), "bias": np.tile(arrays["bias"], 400)}
    parameters = header["parameters"] | {"n_bits": 4800}
    storage.write(path, header | {"parameters": parameters}, arrays | wide)
    with pytest.raises(FormatError, match="the encoder has 4800 bits, a code has 1 to 4096"):
        kinhash.load(path)
    header, arrays = storage.read(files["ista, signed"])
    wide = {name: np.tile(arrays[name], 200) for name in ("tau",)}
    wide |= {"W": np.tile(arrays["W"], (200, 1)), "S": np.tile(arrays["S"], (200, 200))}
    parameters = header["parameters"] | {"n_bits": 2400}
    storage.write(path, header | {"parameters": parameters}, arrays | wide)
    with pytest.raises(FormatError, match="encoder has 2400 bits, a signed code has 1 to 2048"):
        kinhash.load(path)


@pytest.mark.parametrize("name", ["ista", "cod", "linear", "kernel"])
def test_outputs_that_overflow_are_an_error_and_not_a_code(files, tmp_path, name):
    _, arrays = storage.read(files[name])
    huge = {"W": np.full_like(arrays["W"], 3e38)}
    model = kinhash.load(changed(files, tmp_path, name, arrays=huge))
    # Near the anchors of a kernel; far away, all of it is 0.
    X = np.tile(model.encoder_.mean + (0 if name == "kernel" else 1000), (2, 1))
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 0"):
        model.encode(X)


def test_a_folder_is_refused(tmp_path):
    for opened in (kinhash.load, Codes.load, HammingIndex.load):
        with pytest.raises(InvalidInputError, match=r"it is a folder. Name a file in it"):
            opened(tmp_path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    for opened in (kinhash.load, Codes.load):
        with pytest.raises(FormatError, match="empty is not a kinhash file: it is empty"):
            opened(path)


def test_a_pipe_is_refused_at_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for opened in (kinhash.load, Codes.load, HammingIndex.load):
        said = []

        def attempt(opened=opened, said=said):
            with pytest.raises(InvalidInputError, match="pipe: it is a pipe or a device"):
                opened(path)
            said.append(True)

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(10)
        assert said, "it waits for a writer"


def test_a_device_is_refused():
    with pytest.raises(InvalidInputError, match="/dev/zero: it is a pipe or a device"):
        kinhash.load("/dev/zero")


def test_a_path_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot read .*: embedded null byte"):
        kinhash.load(f"{tmp_path}/a\0b")
    with pytest.raises(InvalidInputError, match=r"Cannot read .*: file name too long"):
        kinhash.load(tmp_path / ("a" * 300))


def test_files_of_other_programs_are_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    safetensors.numpy.save_file({"W": np.zeros(3)}, path, metadata={"format": "pt"})
    with pytest.raises(FormatError, match=r"weights.safetensors is not a kinhash file"):
        kinhash.load(path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(FormatError, match=r"array.npy is not a kinhash file"):
        kinhash.load(tmp_path / "array.npy")


@pytest.mark.parametrize("name", ["ista", "kernel-ista", "codes", "nested codes", "index"])
def test_a_truncated_file_is_refused(files, tmp_path, name):
    raw, path = files[name].read_bytes(), tmp_path / "short"
    for length in (1, 7, 8, 20, 24, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:length])
        with pytest.raises(
            FormatError, match=r"short.* is (not a kinhash file, or is )?cut short|damaged"
        ):
            kinhash.load(path)


def test_a_newer_format_is_refused(files, tmp_path):
    with pytest.raises(FormatError, match="has format 4; this release reads formats 1 to 3"):
        kinhash.load(changed(files, tmp_path, "codes", format=4))
    raw, path = bytearray(files["index"].read_bytes()), tmp_path / "newer"
    raw[8] = 9
    path.write_bytes(raw)
    with pytest.raises(
        FormatError, match=r"of format 9; this release reads formats 2 to 3. Upgrade"
    ):
        kinhash.load(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "nonsense"])
def test_arrays_of_types_that_numpy_lacks_are_refused(files, tmp_path, dtype):
    raw, path = files["codes"].read_bytes(), tmp_path / "odd.kinhash"
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    entry = json.loads(header["__metadata__"]["kinhash"])
    blank = storage._UNSIGNED
    size = {"BF16": 2, "F8_E4M3": 1, "nonsense": 1}[dtype]
    odd = {"dtype": dtype, "shape": [4], "data_offsets": [0, 4 * size]}
    metadata = {"kinhash": json.dumps(entry | {"sha256": blank})}
    text = json.dumps({"__metadata__": metadata, "words": odd}).encode()
    made = struct.pack("<Q", len(text)) + text + bytes(4 * size)
    digest = storage.hashlib.sha256(made).hexdigest()
    path.write_bytes(made.replace(blank.encode(), digest.encode(), 1))
    with pytest.raises(FormatError, match=r"odd.kinhash"):
        kinhash.load(path)


@pytest.fixture
def codes(rng):
    return Codes.from_dense(rng.integers(2, size=(9, 20)))


def test_the_file_says_what_it_holds(rng, codes, tmp_path):
    X = rng.normal(size=(20, 3))
    paths = [tmp_path / name for name in ("model", "codes", "index")]
    LSH(8).fit(X).save(paths[0])
    codes.save(paths[1], ids=range(9))
    HammingIndex(codes).save(paths[2])
    model, stored, index = (load(path) for path in paths)
    assert type(model) is LSH
    assert model.encode(X) == LSH(8).fit(X).encode(X)
    assert isinstance(stored, StoredCodes)
    assert stored.codes == codes
    assert stored.ids.tolist() == list(range(9))
    assert isinstance(index, HammingIndex)
    assert len(index) == 9


def test_a_path_may_be_text(codes, tmp_path):
    codes.save(tmp_path / "codes")
    assert load(str(tmp_path / "codes")).codes == codes


def test_a_model_of_several_modalities_is_a_model_too():
    model = load(GOLDEN / "v1" / "multimodal.kinhash")
    assert type(model) is MULTIMODAL_METHODS["multimodal-sparsehash"]


def test_a_method_of_the_future_is_named_with_those_known(tmp_path):
    storage.write(tmp_path / "m", {"kind": "model", "method": "later"}, {"W": np.zeros(3)})
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "m")
    assert str(caught.value).startswith(
        f"{tmp_path / 'm'}: the file holds a 'later'; this release reads"
    )
    assert all(name in str(caught.value) for name in [*METHODS, *MULTIMODAL_METHODS])


def test_what_is_missing_in_a_file_is_named_with_the_file(tmp_path):
    storage.write(tmp_path / "m", {"kind": "model", "method": "lsh"}, {"W": np.zeros(3)})
    with pytest.raises(FormatError, match=r"m: the entry `parameters` is missing\."):
        load(tmp_path / "m")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="nowhere"):
        load(tmp_path / "nowhere")


@pytest.fixture
def other_codes(rng):
    return Codes.from_dense(rng.integers(0, 2, (20, 8)))


def test_a_model_codes_and_an_index_are_opened_by_what_the_file_says(tmp_path, rng, other_codes):
    vectors = rng.normal(size=(20, 5)).astype(np.float32)
    model = LSH(n_bits=8).fit(vectors)
    model.save(tmp_path / "model")
    other_codes.save(tmp_path / "codes", np.arange(20) + 7)
    HammingIndex(other_codes).save(tmp_path / "index")
    assert np.array_equal(
        load(tmp_path / "model").encode(vectors).words, model.encode(vectors).words
    )
    assert load(tmp_path / "codes").ids.tolist() == list(range(7, 27))
    assert len(load(tmp_path / "index")) == 20


def test_facts_of_codes_are_counted(tmp_path, other_codes):
    other_codes.save(tmp_path / "codes")
    dense = other_codes.to_dense()
    assert describe(tmp_path / "codes") == {
        "kind": "codes",
        "format": 3,
        "kinhash": kinhash.__version__,
        "n": 20,
        "n_bits": 8,
        "n_bucket_bits": 8,
        "n_rank_bits": 0,
        "signed": False,
        "mean_active": pytest.approx(dense.sum(axis=1).mean()),
        "sd_active": pytest.approx(dense.sum(axis=1).std()),
        "unique_codes": len(np.unique(dense, axis=0)),
    }
    other_codes[:0].save(tmp_path / "none")
    assert describe(tmp_path / "none")["mean_active"] is None


def test_facts_of_a_model_say_what_differs_from_the_defaults(tmp_path, rng):
    LSH(n_bits=8).fit(rng.normal(size=(20, 5))).save(tmp_path / "model")
    facts = describe(tmp_path / "model")
    assert (facts["method"], facts["n_bits"], facts["n_features"]) == ("lsh", 8, 5)
    assert facts["changed"] == {"n_bits": 8}
    assert facts["history"] is None
    json.dumps(facts)


def test_facts_of_nested_codes_are_of_both_parts(tmp_path, digits):
    X, y = digits
    model = Nested(ClassCode(levels=2, temperature=0.5), LSH(), n_bits=30, n_rank_bits=10)
    model.fit(X[:200], y[:200]).save(tmp_path / "model")
    facts = describe(tmp_path / "model")
    assert (facts["n_bits"], facts["n_rank_bits"]) == (30, 10)
    assert facts["bucket"]["method"] == "classcode"
    assert facts["bucket"]["changed"] == {"n_bits": 20, "levels": 2, "temperature": 0.5}
    assert facts["bucket"]["history"]["temperature"] == 0.5
    assert (facts["rank"]["method"], facts["rank"]["encoder"]) == ("lsh", "linear")
    assert facts["changed"] == {
        "n_bits": 30,
        "n_rank_bits": 10,
        "bucket": {"method": "classcode", "parameters": {"levels": 2, "temperature": 0.5}},
        "rank": {"method": "lsh", "parameters": {}},
    }
    json.dumps(facts)


def test_facts_of_an_index_are_those_of_its_file(tmp_path, other_codes):
    HammingIndex(other_codes, memory="lean").save(tmp_path / "index")
    facts = describe(tmp_path / "index", verify=True)
    assert (facts["kind"], facts["n"], facts["memory"]) == ("index", 20, "lean")
    assert facts["structures"].keys() == {"lookup"}
    assert facts["bytes_per_item"] == HammingIndex(other_codes, memory="lean").n_bytes / 20


def test_what_is_not_ours_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot read .*nowhere: no such file"):
        describe(tmp_path / "nowhere")
    (tmp_path / "text").write_text("some words that are long enough")
    with pytest.raises(FormatError, match="is not a kinhash file"):
        describe(tmp_path / "text")
