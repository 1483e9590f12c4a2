import json
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import kinhash
from kinhash import Codes, SparseHash, storage
from kinhash.errors import FormatError, InvalidInputError

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def model_file(tmp_path, tiny_model):
    path = tmp_path / "model.kinhash"
    tiny_model.save(path)
    return path


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
    with pytest.raises(InvalidInputError, match=r"each of 5 codes, got shape \(2,\)"):
        codes.save(path, [1, 2])


def test_only_equal_encoders_have_equal_fingerprints(model_file, tiny_model, digits):
    assert kinhash.load(model_file).encoder_.fingerprint == tiny_model.encoder_.fingerprint
    other = SparseHash(n_bits=24, max_steps=20, seed=2).fit(*digits)
    assert other.encoder_.fingerprint != tiny_model.encoder_.fingerprint


@pytest.mark.parametrize("version", sorted(p.parent.name for p in GOLDEN.glob("*/model.kinhash")))
def test_files_of_every_past_format_load_for_ever(version):
    model = kinhash.load(GOLDEN / version / "model.kinhash")
    vectors = np.load(GOLDEN / version / "vectors.npy")
    assert model.encode(vectors) == kinhash.load(GOLDEN / version / "codes.kinhash").codes


def test_every_truncation_is_a_format_error(model_file):
    raw = model_file.read_bytes()
    for length in [*range(64), *range(64, len(raw), 97), len(raw) - 1]:
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


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" * 9, b"\x80\x04pickle", b"{}" * 20])
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
        ({"format": 2}, "has format 2; this release reads formats 1 to 1. Upgrade kinhash"),
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
    assert [p.name for p in model_file.parent.iterdir()] == ["model.kinhash"]


def test_saved_files_have_the_permissions_of_any_new_file(model_file, tmp_path):
    (tmp_path / "plain").touch()
    assert model_file.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_header_is_plain_json(model_file):
    raw = model_file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    entry = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["kinhash"])
    assert entry["format"] == 1
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
        (lambda _: "image", "not complete"),
        (lambda _: [["image"]], "not complete"),
    ],
)
def test_unsound_modalities_are_refused(tmp_path, change, message):
    entry, arrays = storage.read(GOLDEN / "v1" / "multimodal.kinhash")
    path = tmp_path / "model.kinhash"
    storage.write(path, entry | {"modalities": change(entry["modalities"])}, arrays)
    with pytest.raises(FormatError, match=message):
        kinhash.load(path)
