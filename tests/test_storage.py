import contextlib
import fcntl
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import kinhash
from kinhash import Codes, HammingIndex, SparseHash, storage
from kinhash.errors import FormatError, InvalidInputError

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def model_file(tmp_path, tiny_model):
    path = tmp_path / "model.kinhash"
    tiny_model.save(path)
    return path


def save(path, text):
    with storage.atomic(path) as part:
        part.write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def rewrite(path, **changes):
    """Write the same model with other header entries, checksum and all."""
    entry, arrays = storage.read(path)
    storage.write(path, entry | changes, arrays)


def test_a_saved_model_encodes_alike(model_file, tiny_model, digits):
    loaded = kinhash.load(model_file)
    assert isinstance(loaded, SparseHash)
    assert loaded.get_params() == tiny_model.get_params()
    assert loaded.history_ == tiny_model.history_
    assert loaded.encode(digits[0]) == tiny_model.encode(digits[0])


def test_bytes_need_no_file_and_are_checked_like_one():
    raw = storage.packed({"kind": "x"}, {"a": np.arange(3)})
    header, arrays = storage.unpacked(raw, "it")
    assert (header["kind"], arrays["a"].tolist()) == ("x", [0, 1, 2])
    with pytest.raises(FormatError, match="it is damaged or cut short: its checksum is"):
        storage.unpacked(raw[:-1] + b"\1", "it")


@pytest.mark.filterwarnings("ignore::kinhash.errors.CollapseWarning")  # ten classes in 8 bits
def test_parameters_that_are_numpy_numbers_can_be_saved(tmp_path, digits):
    pytest.importorskip("torch")  # all but .ci/floors have it
    numbers = {"n_bits": np.int64(8), "beta": np.float32(3), "seed": np.uint8(1)}
    model = SparseHash(**numbers, recipe="paper", max_steps=20).fit(*digits)
    model.save(tmp_path / "model.kinhash")
    loaded = kinhash.load(tmp_path / "model.kinhash")
    assert loaded.encode(digits[0]) == model.encode(digits[0])
    assert loaded.encoder_.fingerprint == model.encoder_.fingerprint
    model.device = object()
    with pytest.raises(InvalidInputError, match=r"A file cannot hold <object .* of type object"):
        model.save(tmp_path / "model.kinhash")
    assert kinhash.load(tmp_path / "model.kinhash").device is None


def test_the_same_model_gives_the_same_bytes(model_file, tmp_path, tiny_model):
    tiny_model.save(tmp_path / "again.kinhash")
    assert model_file.read_bytes() == (tmp_path / "again.kinhash").read_bytes()


@pytest.mark.parametrize("signed", [False, True])
def test_saved_codes_come_back(tmp_path, rng, signed):
    codes = Codes.from_dense(rng.integers(-1 if signed else 0, 2, (20, 70)), signed=signed)
    codes.save(tmp_path / "codes.kinhash")
    assert kinhash.load(tmp_path / "codes.kinhash").codes == codes


def test_ids_and_the_encoder_are_kept_beside_codes(tmp_path, tiny_model, digits):
    codes = tiny_model.encode(digits[0][:5])
    path = tmp_path / "codes.kinhash"
    codes.save(path, [9, 8, -7, 6, 5], made_by=tiny_model.encoder_.fingerprint)
    stored = Codes.load(path)
    assert stored.codes == codes
    assert stored.ids.tolist() == [9, 8, -7, 6, 5]
    assert stored.made_by == tiny_model.encoder_.fingerprint
    with pytest.raises(InvalidInputError, match=r"each of 5 codes, got 2\."):
        codes.save(path, [1, 2])
    with pytest.raises(
        InvalidInputError, match="`ids` must fit into int64, got 9223372036854775812"
    ):
        codes.save(path, np.arange(5, dtype=np.uint64) + 2**63)
    with pytest.raises(InvalidInputError, match=r"fingerprint \(a string\) or None, got 7"):
        codes.save(path, made_by=7)


def test_only_equal_encoders_have_equal_fingerprints(model_file, tiny_model, digits):
    assert kinhash.load(model_file).encoder_.fingerprint == tiny_model.encoder_.fingerprint
    other = SparseHash(n_bits=24, recipe="paper", max_steps=20, seed=2).fit(*digits)
    assert other.encoder_.fingerprint != tiny_model.encoder_.fingerprint


@pytest.mark.parametrize("version", sorted(p.parent.name for p in GOLDEN.glob("*/model.kinhash")))
def test_files_of_every_past_format_load_for_ever(version):
    model = kinhash.load(GOLDEN / version / "model.kinhash")
    vectors = np.load(GOLDEN / version / "vectors.npy")
    assert model.encode(vectors) == kinhash.load(GOLDEN / version / "codes.kinhash").codes


def test_a_model_from_before_there_were_recipes_is_the_papers():
    model = kinhash.load(GOLDEN / "v1" / "model.kinhash")
    header, _ = storage.read(GOLDEN / "v1" / "model.kinhash")
    assert "recipe" not in header["parameters"]
    assert model.recipe == "paper"
    assert (model.transfer, model.n_rank_bits) == (None, None)
    assert model.get_params().items() >= header["parameters"].items()


@pytest.mark.parametrize(
    ("name", "kind", "n_rank_bits"),
    [("labels", "kernel-class-rank", 18), ("tags", "class-rank", 74), ("vectors", "nested", 21)],
)
def test_models_of_the_strong_recipe_load_for_ever(name, kind, n_rank_bits):
    model = kinhash.load(GOLDEN / "v3" / f"sparsehash-{name}.kinhash")
    codes, _, made_by = Codes.load(GOLDEN / "v3" / f"sparsehash-{name}-codes.kinhash")
    assert (model.recipe, model.encoder_.kind, codes.n_rank_bits) == ("strong", kind, n_rank_bits)
    assert model.encoder_.fingerprint == made_by
    assert model.encode(np.load(GOLDEN / "v1" / "vectors.npy")) == codes


def test_codes_of_every_past_format_load_for_ever():
    flat = [kinhash.load(GOLDEN / version / "codes.kinhash").codes for version in ("v1", "v2")]
    assert [codes.n_rank_bits for codes in flat] == [0, 0]
    for name, signed in (("nested-codes", False), ("signed-nested-codes", True)):
        header, _ = storage.read(GOLDEN / "v3" / f"{name}.kinhash")
        codes, ids, made_by = Codes.load(GOLDEN / "v3" / f"{name}.kinhash")
        assert header["format"] == 3
        assert (len(codes), codes.n_bits, codes.n_rank_bits, codes.signed) == (50, 100, 70, signed)
        # How they were made.
        rng = np.random.default_rng(3)
        bucket = rng.integers(-1 if signed else 0, 2, (50, 30))
        assert codes == Codes.from_dense(bucket, signed=signed, rank=rng.integers(0, 2, (50, 70)))
        assert ids.tolist() == [7 * row - 100 for row in range(50)]
        assert made_by == "golden"


def test_codes_whose_ids_are_strings_load_for_ever():
    codes, ids, _ = Codes.load(GOLDEN / "v3" / "named-codes.kinhash")
    # How they were made.
    assert codes == Codes.from_dense(np.random.default_rng(3).integers(0, 2, (50, 30)))
    assert ids.tolist() == [f"{'aß中🙂'[row % 4]}-{50 - row}" for row in range(50)]


def test_a_file_of_format_1_has_no_entry_for_rank_bits(tmp_path):
    header, _ = storage.read(GOLDEN / "v1" / "codes.kinhash")
    assert header["format"] == 1
    assert "n_rank_bits" not in header
    codes = kinhash.load(GOLDEN / "v1" / "codes.kinhash").codes
    codes.save(tmp_path / "again.kinhash")
    again, _ = storage.read(tmp_path / "again.kinhash")
    assert (again["format"], again["n_rank_bits"]) == (3, 0)
    assert kinhash.load(tmp_path / "again.kinhash").codes == codes


def test_every_truncation_is_a_format_error(model_file):
    raw = model_file.read_bytes()
    for length in [*range(1, 64), *range(64, len(raw), 97), len(raw) - 1]:
        model_file.write_bytes(raw[:length])
        with pytest.raises(FormatError, match=r"cut short|damaged"):
            kinhash.load(model_file)


def test_every_flipped_byte_is_a_format_error(model_file, rng):
    raw = bytearray(model_file.read_bytes())
    (header,) = struct.unpack("<Q", raw[:8])
    for at in [*range(8 + header), *rng.integers(8 + header, len(raw), 300)]:
        damaged = raw.copy()
        damaged[at] ^= 1 << int(rng.integers(8))
        model_file.write_bytes(damaged)
        with pytest.raises(FormatError):
            kinhash.load(model_file)


@pytest.mark.parametrize("content", [b"PK\x03\x04" * 9, b"\x80\x04pickle", b"{}" * 20])
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign.kinhash"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"foreign\.kinhash is not a kinhash file"):
        kinhash.load(path)


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    safetensors.numpy.save_file({"W": np.zeros(3)}, path)
    with pytest.raises(FormatError, match="expected a safetensors header with a 'kinhash' entry"):
        kinhash.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 4}, "has format 4; this release reads formats 1 to 3. Upgrade kinhash"),
        ({"method": "later"}, "holds a 'later'; this release reads"),
        ({"kind": "graph"}, "this release reads"),
        ({"parameters": {"bits": 3}}, "no parameter 'bits'"),
        ({"encoder": "quantum"}, "Unknown encoder 'quantum'"),
        ({"settings": {}}, "the file has S, W, mean, scale, tau"),
    ],
)
def test_a_file_from_the_future_says_what_is_unknown(model_file, changes, message):
    rewrite(model_file, **changes)
    with pytest.raises(FormatError, match=message):
        kinhash.load(model_file)


def test_arrays_that_do_not_fit_are_refused(model_file):
    entry, arrays = storage.read(model_file)
    storage.write(model_file, entry, arrays | {"tau": arrays["tau"][:-1]})
    with pytest.raises(FormatError, match=r"`tau` .* shape \(24,\), .* shape \(23,\)"):
        kinhash.load(model_file)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot read .*nowhere.kinhash: no such file"):
        kinhash.load(tmp_path / "nowhere.kinhash")


def test_a_missing_folder_says_so(tmp_path, tiny_model):
    with pytest.raises(InvalidInputError, match=r"Cannot write .*: no such file or directory"):
        tiny_model.save(tmp_path / "no" / "model.kinhash")


def test_an_interrupted_save_leaves_the_old_file_and_no_rest(model_file, monkeypatch, tiny_model):
    before = model_file.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(InvalidInputError, match="no space left on device"):
        tiny_model.save(model_file)
    assert model_file.read_bytes() == before
    assert names(model_file.parent) == ["model.kinhash"]


def test_new_files_have_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        save(tmp_path / "saved", "new")
        (tmp_path / "plain").touch()
    finally:
        os.umask(before)
    assert mode(tmp_path / "saved") == mode(tmp_path / "plain") == 0o640


def test_a_save_leaves_the_umask_of_the_process_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("other threads make files meanwhile"))
    save(tmp_path / "file", "new")
    save(tmp_path / "file", "newer")


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666, 0o444, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, permissions):
    path = tmp_path / "file"
    path.touch()
    path.chmod(permissions)
    save(path, "new")
    assert path.read_text() == "new"
    assert mode(path) == permissions


def test_a_private_file_is_never_readable_by_others_while_it_is_replaced(tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o600)
    with storage.atomic(path) as part:
        assert mode(part) == 0o600
        path.chmod(0o640)
    assert mode(path) == 0o640


def owned_by_another(path, monkeypatch):
    """Let the file have an owner and a group that are not ours, whoever runs this."""
    true_stat = os.stat

    def changed(*arguments, **options):
        found = true_stat(*arguments, **options)
        if Path(arguments[0]) != path:
            return found
        values = list(found)
        values[4], values[5] = 12345, 54321
        return os.stat_result(values)

    monkeypatch.setattr(os, "stat", changed)
    monkeypatch.setattr(Path, "stat", changed)


def test_a_replaced_file_keeps_its_owner_and_group_where_that_is_allowed(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o640)
    owned_by_another(path, monkeypatch)
    given = []
    monkeypatch.setattr(os, "fchown", lambda _, *ids: given.append(ids))
    save(path, "new")
    assert given == [(12345, 54321)]
    assert mode(path) == 0o640


def test_another_group_is_not_given_what_the_group_of_the_old_file_had(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)
    owned_by_another(path, monkeypatch)
    tried = []

    def refused(_, *ids):
        tried.append(ids)
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    save(path, "new")
    assert tried == [(12345, 54321), (-1, 54321)]
    assert mode(path) == 0o644


@pytest.mark.parametrize("there", [True, False])
def test_a_save_writes_through_a_symbolic_link(tmp_path, there):
    (tmp_path / "store").mkdir()
    target, link, chain = tmp_path / "store" / "v1", tmp_path / "link", tmp_path / "chain"
    link.symlink_to(Path("store") / "v1")
    chain.symlink_to("link")
    if there:
        target.write_text("old")
        target.chmod(0o600)
    save(chain, "new")
    assert chain.is_symlink()
    assert link.is_symlink()
    assert not target.is_symlink()
    assert target.read_text() == "new"
    assert not there or mode(target) == 0o600
    assert names(tmp_path) == ["chain", "link", "store"]
    assert names(tmp_path / "store") == ["v1"]


def test_what_is_no_file_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    for name, message in (
        ("folder", "it is a folder. Name a file in it"),
        ("pipe", "it is not a regular file"),
        ("circle", "too many levels of symbolic links"),
    ):
        with pytest.raises(InvalidInputError, match=f"Cannot write .*{name}: {message}"):
            save(tmp_path / name, "new")
    assert names(tmp_path) == ["circle", "folder", "pipe"]


def test_the_file_is_synced_before_and_the_folder_after_the_rename(tmp_path, monkeypatch):
    path, steps = tmp_path / "file", []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        same = os.path.samestat(os.fstat(descriptor), tmp_path.stat())
        steps.append(("folder", same) if is_folder else ("file", os.fstat(descriptor).st_size))
        fsync(descriptor)

    def renamed(part, target):
        steps.append(("rename", target))
        return replace(part, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    save(path, "12345")
    assert steps == [("file", 5), ("rename", path), ("folder", True)]


def test_a_folder_that_cannot_be_synced_is_an_error(tmp_path, monkeypatch):
    fsync = os.fsync

    def broken(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InvalidInputError, match="input/output error"):
        save(tmp_path / "file", "new")


@pytest.mark.parametrize("name", ["n" * 255, "\N{GREEK SMALL LETTER PI}" * 127, "a[b]*.(c)"])
def test_any_name_that_a_file_can_have_can_be_saved(tmp_path, name):
    save(tmp_path / name, "old")
    save(tmp_path / name, "new")
    assert (tmp_path / name).read_text() == "new"
    assert names(tmp_path) == [name]


SAVER = """
import sys, time
from kinhash import storage
with storage.atomic(sys.argv[1]) as part:
    part.write_text("half")
    print("middle", flush=True)
    sys.stdin.readline()
    part.write_text("whole")
print("saved", flush=True)
"""


@contextlib.contextmanager
def saver(path):
    """Start a process that stops in the middle of saving `path` until it is sent a line."""
    command = [sys.executable, "-c", SAVER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout.readline() == "middle\n"
            yield process
        finally:
            process.kill()


def test_the_rest_of_a_killed_save_is_removed_by_the_next_one(tmp_path):
    path = tmp_path / "file"
    save(path, "old")
    with saver(path) as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert process.stdout.read() == ""  # it never got to the end
    (rest,) = set(names(tmp_path)) - {"file"}
    assert (tmp_path / rest).read_text() == "half"
    assert path.read_text() == "old"
    for other in ("other", "file.kinhash", "fil"):
        save(tmp_path / other, "")
    assert rest in names(tmp_path), "the save of another file took it away"
    save(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["fil", "file", "file.kinhash", "other"]


def test_a_save_that_is_still_running_keeps_its_temporary_file(tmp_path):
    path = tmp_path / "file"
    with saver(path) as process:
        save(path, "meanwhile")
        assert path.read_text() == "meanwhile"
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "saved\n"
    assert path.read_text() == "whole"
    assert names(tmp_path) == ["file"]


def test_a_temporary_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    path, flock, swept = tmp_path / "file", fcntl.flock, []

    def late(descriptor, how):
        if not swept:
            swept.extend(names(tmp_path))
            save(path, "meanwhile")
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    save(path, "new")
    assert len(swept) == 1
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


def test_saves_in_many_threads_never_take_one_anothers_files(tmp_path):
    path = tmp_path / "file"

    def save_often(text):
        for _ in range(50):
            save(path, text)

    texts = [letter * 1000 for letter in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save_often, texts))
    assert path.read_text() in texts
    assert names(tmp_path) == ["file"]


def test_only_what_looks_like_a_rest_of_this_file_is_removed(tmp_path):
    others = [".file.part", ".file.0123456789abcdeg.part", "file.0123456789abcdef.part"]
    others += [".file.x.0123456789abcdef.part", ".fileX0123456789abcdef.part"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / ".file.0123456789abcdef.part").symlink_to("precious")
    save(tmp_path / "file", "new")
    assert (tmp_path / "precious").read_text() == "kept"
    assert names(tmp_path) == sorted([*others, "file", "precious", ".file.0123456789abcdef.part"])


LOOP = """
import sys
import numpy as np
from kinhash import Codes, HammingIndex
small = Codes(np.arange(200_000, dtype=np.uint64)[:, None], 64)
large = Codes(np.arange(300_000, dtype=np.uint64)[:, None], 64)
index = HammingIndex(small[:50_000], memory="lean")
print("ready", flush=True)
while True:
    small.save(sys.argv[1]), large.save(sys.argv[1]), index.save(sys.argv[2])
"""


def test_a_process_killed_at_any_moment_leaves_whole_files(tmp_path):
    codes, index = tmp_path / "codes.kinhash", tmp_path / "index.kinhash"
    in_the_middle = 0
    for round_ in range(20):
        command = [sys.executable, "-c", LOOP, str(codes), str(index)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 60
            while not index.exists() and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(0.003 * round_)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        # A temporary file that is still there proves that the kill came in the middle of a save.
        rests = [name for name in names(tmp_path) if name.endswith(".part")]
        in_the_middle += bool(rests)
        assert len(rests) <= 1
        assert len(kinhash.load(codes).codes) in {200_000, 300_000}
        assert len(kinhash.load(index)) == 50_000
        index.unlink()
        if in_the_middle == 3:
            break
    assert in_the_middle == 3, "no kill came in the middle: this test has shown nothing"
    Codes.from_dense([[1]]).save(codes)
    HammingIndex(Codes.from_dense([[1]])).save(index)
    assert names(tmp_path) == ["codes.kinhash", "index.kinhash"]


def test_the_header_is_plain_json(model_file):
    raw = model_file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    entry = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["kinhash"])
    assert entry["format"] == 3
    assert entry["kinhash"] == kinhash.__version__
    assert entry["method"] == "sparsehash"
    assert entry["parameters"]["n_bits"] == 24


def test_a_multimodal_model_of_this_format_encodes_as_it_did():
    model = kinhash.load(GOLDEN / "v1" / "multimodal.kinhash")
    assert model.modalities == ("image", "text")
    vectors = np.load(GOLDEN / "v1" / "vectors.npy")
    texts = ["north wind", "south", "west east", "unknown"]
    for modality, rows in (("image", vectors), ("text", texts)):
        stored = Codes.load(GOLDEN / "v1" / f"multimodal-{modality}.kinhash")
        assert model.encode(rows, modality=modality) == stored.codes
        assert model.encoders_[modality].fingerprint == stored.made_by


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: [*m[:1], ["text", m[1][1] | {"words": ["north"]}]], "must be 5 different words"),
        (lambda m: [*m[:1], ["text", m[1][1] | {"words": [1, 2, 3, 4, 5]}]], "different words"),
        (lambda m: [["sound", m[0][1]], m[1]], "encoder has"),
        (lambda m: [["image", m[0][1] | {"encoder": "new"}], m[1]], "Unknown encoder 'new'"),
        (lambda _: "image", "`modalities` must be a list, the file has 'image'"),
        (
            lambda _: [["image"]],
            "list of pairs of a name and an object, the file has \\['image'\\]",
        ),
        (lambda m: [m[0], m[0]], r"different names .* the file has \['image', 'image'\]"),
        (lambda _: [], r"must be one or more, .* the file has \[\]"),
        (lambda m: [["", m[0][1]], m[1]], "different names that have no slash"),
        (lambda m: [[m[0][0], m[0][1] | {"depth": 3}], m[1]], "the entry 'depth' is unknown"),
    ],
)
def test_unsound_modalities_are_refused(tmp_path, change, message):
    entry, arrays = storage.read(GOLDEN / "v1" / "multimodal.kinhash")
    path = tmp_path / "model.kinhash"
    storage.write(path, entry | {"modalities": change(entry["modalities"])}, arrays)
    with pytest.raises(FormatError, match=message):
        kinhash.load(path)
