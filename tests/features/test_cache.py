import logging

import numpy as np
import pytest

from kinhash.features.cache import cached_features, fingerprint

FEATURES = np.arange(12, dtype=np.float32).reshape(3, 4)


class Extractor:
    """Counts how often features are extracted."""

    def __init__(self, features=FEATURES):
        self.features = features
        self.n_calls = 0

    def __call__(self):
        self.n_calls += 1
        return self.features


def test_features_are_extracted_once(tmp_path):
    extract, path = Extractor(), tmp_path / "new" / "folder" / "f.npy"
    for _ in range(2):
        features = cached_features(path, (3, 4), extract)
        np.testing.assert_array_equal(features, FEATURES)
        assert features.dtype == np.float32
    assert extract.n_calls == 1


def test_the_stored_file_is_plain_npy(tmp_path):
    cached_features(tmp_path / "f.npy", (3, 4), Extractor())
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy", allow_pickle=False), FEATURES)


def test_nothing_else_is_left_in_the_folder(tmp_path):
    cached_features(tmp_path / "f.npy", (3, 4), Extractor())
    assert [path.name for path in tmp_path.iterdir()] == ["f.npy"]


def flipped_value(content):
    return content[:130] + bytes([content[130] ^ 1]) + content[131:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:0],
        lambda content: b"not an array" + content,
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:-32],
        flipped_value,
        lambda content: content.replace(b"<f4", b"<i4"),
        lambda content: content.replace(b"(3, 4)", b"(4, 3)"),
        lambda content: content.replace(b"'descr'", b"'desc?'"),
        lambda content: content.replace(b"{", b"("),
        lambda content: content.replace(b"}", b" "),
        lambda content: b"PK\x03\x04" + content,
    ],
)
def test_a_damaged_file_is_replaced(tmp_path, caplog, damage):
    path, extract = tmp_path / "f.npy", Extractor()
    cached_features(path, (3, 4), extract)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(cached_features(path, (3, 4), extract), FEATURES)
    assert extract.n_calls == 2
    assert "extracted again" in caplog.text
    assert path.read_bytes() == whole


def test_an_interrupted_extraction_leaves_nothing_behind(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_features(tmp_path / "f.npy", (3, 4), interrupt)
    assert not list(tmp_path.iterdir())


def test_a_fingerprint_changes_with_recipe_shape_and_bytes():
    data = np.zeros((2, 3), dtype=np.uint8)
    one_bit = data.copy()
    one_bit[1, 2] = 1
    keys = {
        fingerprint("gist 1", data),
        fingerprint("gist 2", data),
        fingerprint("gist 1", data.reshape(3, 2)),
        fingerprint("gist 1", one_bit),
    }
    assert len(keys) == 4
    assert fingerprint("gist 1", np.asfortranarray(one_bit)) == fingerprint("gist 1", one_bit)
