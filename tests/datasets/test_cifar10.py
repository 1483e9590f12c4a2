import logging

import numpy as np
import pytest

from kinhash.datasets import cifar10, load
from kinhash.errors import InvalidInputError
from kinhash.features.gist import gist

N = 4
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The published layout, with 4 images to a file instead of 10,000."""
    monkeypatch.setattr(cifar10, "ITEMS_PER_BATCH", N)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i, file in enumerate(cifar10.BINARY.batch_files()):
        content = b""
        for j in range(N):
            label = (i * N + j) % 10
            content += bytes([label]) + rng.integers(0, 256, 3072, dtype=np.uint8).tobytes()
        (folder / file).write_bytes(content)
    (folder / "batches.meta.txt").write_text("\n".join([*NAMES, ""]), encoding="utf-8")
    return tmp_path


def test_labels_and_names_come_in_the_order_of_the_files(root):
    data = load("cifar10", root=root, features="pixels")
    assert len(data) == 6 * N
    np.testing.assert_array_equal(data.labels, np.arange(6 * N) % 10)
    assert data.names == tuple(NAMES)


def test_a_pixel_is_found_where_the_layout_says(root):
    data = load("cifar10", root=root, features="pixels")
    raw = (root / cifar10.BINARY.folder / "data_batch_3.bin").read_bytes()
    row, y, x = 2 * N + 1, 5, 9
    for channel in range(3):
        expected = raw[3073 + 1 + channel * 1024 + y * 32 + x]
        assert data.images[row, y, x, channel] == expected
        assert data.vectors[row, (y * 32 + x) * 3 + channel] == np.float32(expected) / 255
    assert data.vectors.dtype == np.float32


def test_gist_is_the_default(root):
    data = load("cifar10", root=root)
    np.testing.assert_array_equal(data.vectors, gist(data.images))
    np.testing.assert_array_equal(load("cifar10", root=root, features="gist").vectors, data.vectors)


def test_the_folder_itself_may_be_the_root(root):
    assert len(load("cifar10", root=root / cifar10.BINARY.folder, features="pixels")) == 6 * N


def test_the_root_may_come_from_the_environment(root, monkeypatch):
    monkeypatch.setenv("KINHASH_DATA", str(root))
    assert len(load("cifar10", features="pixels")) == 6 * N


def test_gist_is_extracted_once(root, monkeypatch):
    calls = []
    first = load("cifar10", root=root, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (6 * N, 6 * N)
    (stored,) = (root / "features").iterdir()
    assert stored.name.startswith("cifar10-gist-")
    monkeypatch.setattr(cifar10, "gist", None)
    np.testing.assert_array_equal(load("cifar10", root=root).vectors, first.vectors)


def test_changed_images_are_never_given_stale_features(root):
    load("cifar10", root=root)
    path = root / cifar10.BINARY.folder / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[-1] ^= 0xFF
    path.write_bytes(bytes(content))
    data = load("cifar10", root=root)
    np.testing.assert_array_equal(data.vectors, gist(data.images))
    assert len(list((root / "features").iterdir())) == 2


def test_a_new_version_of_gist_is_never_given_stale_features(root, monkeypatch):
    load("cifar10", root=root)
    monkeypatch.setattr(cifar10, "GIST_VERSION", cifar10.GIST_VERSION + 1)
    load("cifar10", root=root)
    assert len(list((root / "features").iterdir())) == 2


def test_features_that_cannot_be_stored_are_returned_with_a_warning(root, caplog):
    (root / "features").write_text("a file is in the way", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        data = load("cifar10", root=root)
    np.testing.assert_array_equal(data.vectors, gist(data.images))
    assert "Features are not stored" in caplog.text


def test_a_missing_file_is_named_with_the_folder_and_the_remedy(root):
    (root / cifar10.BINARY.folder / "data_batch_2.bin").unlink()
    with pytest.raises(InvalidInputError) as caught:
        load("cifar10", root=root)
    message = str(caught.value)
    assert "CIFAR-10 was not found" in message
    assert "data_batch_2[.bin]" in message
    assert str(root / cifar10.BINARY.folder) in message
    assert str(root / cifar10.PYTHON.folder) in message
    assert "cifar-10-binary.tar.gz or cifar-10-python.tar.gz" in message


@pytest.mark.parametrize("change", [-1, 1, -N * 3073])
def test_a_file_of_the_wrong_size_is_named_with_both_sizes(root, change):
    path = root / cifar10.BINARY.folder / "data_batch_4.bin"
    size = N * 3073
    path.write_bytes(bytes(size + change))
    with pytest.raises(
        InvalidInputError,
        match=rf"data_batch_4.bin must have {size} bytes, but has {size + change}",
    ):
        load("cifar10", root=root)


def test_the_published_size_is_30730000_bytes(root, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(InvalidInputError, match=rf"must have 30730000 bytes, but has {N * 3073}"):
        load("cifar10", root=root)


def test_a_label_beyond_the_classes_is_refused(root):
    path = root / cifar10.BINARY.folder / "data_batch_1.bin"
    path.write_bytes(bytes([10]) + path.read_bytes()[1:])
    with pytest.raises(InvalidInputError, match=r"labels in \[0, 9\], but has 10"):
        load("cifar10", root=root)


def test_too_few_names_are_refused(root):
    (root / cifar10.BINARY.folder / "batches.meta.txt").write_text("cat\ndog\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="must hold 10 class names, but has 2"):
        load("cifar10", root=root)


@pytest.fixture
def python_root(root, tmp_path, python2_pickle):
    """The same images in the other published form."""
    folder = tmp_path / "other" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for i, file in enumerate(cifar10.PYTHON.batch_files()):
        raw = (root / cifar10.BINARY.folder / f"{file}.bin").read_bytes()
        items = np.frombuffer(raw, dtype=np.uint8).reshape(N, 3073)
        content = {
            b"data": items[:, 1:],
            b"labels": items[:, 0].tolist(),
            b"batch_label": b"training batch %d of 5" % (i + 1),
            b"filenames": [b"image_s_%06d.png" % j for j in range(N)],
        }
        (folder / file).write_bytes(python2_pickle(content))
    names = {
        b"num_cases_per_batch": N,
        b"label_names": [name.encode() for name in NAMES],
        b"num_vis": 3072,
    }
    (folder / "batches.meta").write_bytes(python2_pickle(names))
    return folder.parent


def test_both_published_forms_give_the_same(root, python_root):
    binary, python = (load("cifar10", root=place) for place in (root, python_root))
    np.testing.assert_array_equal(python.images, binary.images)
    np.testing.assert_array_equal(python.labels, binary.labels)
    np.testing.assert_array_equal(python.vectors, binary.vectors)
    assert python.names == binary.names
    assert python.labels.dtype == np.int64


def test_the_folder_of_pickles_itself_may_be_the_root(python_root):
    folder = python_root / cifar10.PYTHON.folder
    assert len(load("cifar10", root=folder, features="pixels")) == 6 * N


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({b"labels": [1] * N}, r"test_batch must have an entry `data` of type ndarray; .* labels"),
        ({b"data": b"abc"}, "an entry `data` of type ndarray; it has data"),
        ({b"data": np.zeros((N, 3072), np.uint8)}, "an entry `labels` of type list"),
        (
            {b"data": np.zeros((N, 3071), np.uint8)},
            r"must have the shape \(4, 3072\), but has \(4, 3071\)",
        ),
        (
            {b"data": np.zeros((N, 3072), np.uint8), b"labels": [1] * 3},
            "test_batch has 3 labels but 4 images",
        ),
        (
            {b"data": np.zeros((N, 3072), np.uint8), b"labels": [0, 1, 2, 10]},
            r"labels in \[0, 9\], but has 10",
        ),
        (
            {b"data": np.zeros((N, 3072), np.uint8), b"labels": [0, 1, 2, -1]},
            "`labels` in .*test_batch must be small whole numbers",
        ),
        (
            {b"data": np.zeros((N, 3072), np.uint8), b"labels": [0, 1, 2, b"3"]},
            "must be small whole numbers",
        ),
    ],
)
def test_a_pickle_with_other_content_is_named(python_root, python2_pickle, entries, message):
    path = python_root / cifar10.PYTHON.folder / "test_batch"
    path.write_bytes(python2_pickle(entries))
    with pytest.raises(InvalidInputError, match=message):
        load("cifar10", root=python_root, features="pixels")


def test_a_pickle_that_would_run_code_is_refused(python_root):
    path = python_root / cifar10.PYTHON.folder / "data_batch_1"
    path.write_bytes(b"\x80\x02cos\nsystem\nU\x04true\x85R.")
    with pytest.raises(InvalidInputError, match=r"data_batch_1 is refused: .*GLOBAL os system"):
        load("cifar10", root=python_root)


def test_unknown_features_are_refused_before_any_file_is_read(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'gits'. Did you mean 'gist'"):
        load("cifar10", root=tmp_path, features="gits")


@pytest.fixture
def real(real_data):
    return real_data("cifar10", features="pixels")


@pytest.mark.data
def test_the_real_data_have_ten_classes_of_6000(real):
    np.testing.assert_array_equal(np.bincount(real.labels), [6000] * 10)
    assert real.images.shape == (60_000, 32, 32, 3)
    # The best-known first images: a frog, two trucks, a deer, a car.
    assert [real.names[label] for label in real.labels[:5]] == [
        "frog",
        "truck",
        "truck",
        "deer",
        "automobile",
    ]


@pytest.mark.data
@pytest.mark.slow
def test_ranking_by_gist_reaches_the_published_precision(real_data):
    """The paper reports a mean average precision of 17.42 % for L2 distances between GISTs."""
    data = real_data("cifar10")
    part = data.split(seed=0)
    query, database = data.vectors[part.query], data.vectors[part.database]
    squares = (database**2).sum(axis=1) - 2 * query @ database.T
    same = data.labels[part.query][:, None] == data.labels[part.database]
    precisions = []
    for row in range(len(query)):
        ranked = same[row, np.argsort(squares[row], kind="stable")]
        ranks = np.flatnonzero(ranked) + 1
        precisions.append((np.arange(1, len(ranks) + 1) / ranks).mean())
    assert 0.170 <= np.mean(precisions) <= 0.176
