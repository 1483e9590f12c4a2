import gzip
import io
import zipfile

import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.datasets.user_files.arrays import read_arrays
from kinhash.datasets.user_files.reader import open_items
from kinhash.errors import InvalidInputError

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def npz(tmp_path, **arrays):
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    return path


def npy(tmp_path, array, **options):
    path = tmp_path / "mine.npy"
    np.save(path, array, **options)
    return path


def test_every_field_of_an_npz_file_is_read(tmp_path):
    images = np.zeros((4, 8, 8), dtype=np.uint8)
    data = load(
        npz(
            tmp_path,
            vectors=VECTORS,
            labels=np.array([0, 1, 1, 0], dtype=np.int16),
            ids=np.array([9, 8, 7, 6], dtype=np.uint32),
            images=images,
            names=np.array(["cat", "dog"]),
            unrelated=np.ones((2, 2)),
        )
    )
    assert data.name == "mine"
    np.testing.assert_array_equal(data.vectors, VECTORS)
    np.testing.assert_array_equal(data.labels, [0, 1, 1, 0])
    assert data.labels.dtype == np.int64
    np.testing.assert_array_equal(data.ids, [9, 8, 7, 6])
    assert data.ids.dtype == np.int64
    np.testing.assert_array_equal(data.images, images)
    assert data.names == ("cat", "dog")


def test_vectors_alone_are_enough(tmp_path):
    data = load(npz(tmp_path, vectors=VECTORS))
    assert data.labels is None
    assert data.images is None
    assert data.names is None
    assert data.ids is None


def test_the_only_matrix_is_the_vectors_whatever_its_name(tmp_path):
    data = load(npz(tmp_path, X=VECTORS, labels=np.eye(4, 2, dtype=int), y=np.arange(4)))
    np.testing.assert_array_equal(data.vectors, VECTORS)
    np.testing.assert_array_equal(data.labels, np.eye(4, 2))
    assert data.labels.dtype == np.uint8


def test_ids_may_be_strings_and_nothing_about_them_can_be_wrong_where_they_are_not_wanted(tmp_path):
    path = npz(tmp_path, vectors=VECTORS, ids=np.array(["b", "a", "007", "x"]))
    assert load(path).ids.tolist() == ["b", "a", "007", "x"]
    path = npz(tmp_path, vectors=VECTORS, ids=np.array([1.5, 2, 3, 4]))
    assert open_items(path).read(with_ids=False).ids is None


def test_texts_are_an_array_of_strings(tmp_path):
    path = npz(tmp_path, vectors=VECTORS, title=np.array(["a", "", "c", "d"]))
    data = load(path, text="title", features="vec*")
    assert data.texts == ("a", "", "c", "d")
    np.testing.assert_array_equal(data.vectors, VECTORS)
    assert load(path, text="title").vectors is None
    with pytest.raises(InvalidInputError, match=r"`vectors` in .* must hold texts, strings of"):
        load(path, text="vectors")


def test_a_pattern_must_match_one_array(tmp_path):
    path = npz(tmp_path, e0=VECTORS, e1=VECTORS)
    with pytest.raises(InvalidInputError, match=r"`features` matches several arrays .* e0, e1\."):
        load(path, features="e*")


def test_batches_are_the_rows_in_order(tmp_path):
    path = npz(tmp_path, vectors=VECTORS, ids=np.array([4, 3, 2, 1]), labels=np.array([np.nan] * 4))
    items = open_items(path)
    batches = list(items.batches(3))  # labels are not read
    assert [(batch.first_row, len(batch), batch.ids.tolist()) for batch in batches] == [
        (0, 3, [4, 3, 2]),
        (3, 1, [1]),
    ]
    np.testing.assert_array_equal(np.concatenate([one.vectors for one in batches]), VECTORS)
    assert items.columns.features == ("vectors",)
    assert (items.columns.labels, items.columns.ids, items.columns.left) == ("labels", "ids", ())


def test_batches_of_an_npy_file_are_converted_one_by_one(tmp_path):
    items = open_items(npy(tmp_path, VECTORS.astype(np.float64)))
    first = next(items.batches(3))
    assert (first.vectors.dtype, first.vectors.shape, items.n_rows) == (np.float32, (3, 3), 4)
    assert isinstance(items.arrays[0], np.memmap)


def test_a_compressed_npy_file_is_read(tmp_path):
    path = tmp_path / "mine.npy.gz"
    with gzip.open(path, "wb") as file:
        np.save(file, VECTORS)
    np.testing.assert_array_equal(load(path).vectors, VECTORS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match=r"mine\.npy\.gz cannot be read: .*end"):
        load(path)
    path.write_bytes(gzip.compress(b"a,b"))
    with pytest.raises(InvalidInputError, match=r"must be a NumPy \.npy file, but starts with"):
        load(path)


def test_arrays_can_be_chosen_by_name(tmp_path):
    path = npz(tmp_path, image=VECTORS, text=-VECTORS, kind=np.arange(4), number=np.arange(4) + 5)
    data = load(path, features="text", labels="kind", ids="number")
    np.testing.assert_array_equal(data.vectors, -VECTORS)
    np.testing.assert_array_equal(data.labels, np.arange(4))
    np.testing.assert_array_equal(data.ids, np.arange(4) + 5)


def test_several_matrices_must_be_chosen_from(tmp_path):
    with pytest.raises(InvalidInputError, match=r"has two-dimensional arrays image, text. Name"):
        load(npz(tmp_path, image=VECTORS, text=VECTORS))


def test_an_archive_without_a_matrix_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="two-dimensional array, but has none"):
        load(npz(tmp_path, labels=np.arange(4)))


@pytest.mark.parametrize("option", ["features", "labels", "ids"])
def test_a_name_that_is_not_there_is_answered_with_those_that_are(tmp_path, option):
    with pytest.raises(InvalidInputError, match=rf"`{option}` 'c' is no array of .*: a, b\."):
        load(npz(tmp_path, a=VECTORS, b=np.arange(4)), **{option: "c"})


def test_two_usual_names_for_the_labels_must_be_chosen_from(tmp_path):
    path = npz(tmp_path, vectors=VECTORS, label=np.arange(4), labels=np.ones(4))
    with pytest.raises(InvalidInputError, match=r"has label and labels, .*only one"):
        load(path)
    np.testing.assert_array_equal(load(path, labels="label").labels, np.arange(4))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, np.bool_, ">f4"])
def test_other_numbers_become_float32(tmp_path, dtype):
    values = VECTORS.astype(dtype)
    for path in (npz(tmp_path, vectors=values), npy(tmp_path, values)):
        data = load(path)
        assert data.vectors.dtype == np.float32
        np.testing.assert_array_equal(data.vectors, values.astype(np.float32))


def test_a_value_beyond_float32_becomes_infinite_without_a_warning(tmp_path):
    data = load(npz(tmp_path, vectors=np.array([[1e300, 1.0, np.nan]])))
    np.testing.assert_array_equal(data.vectors, [[np.inf, 1, np.nan]])


@pytest.mark.parametrize("dtype", [str, bytes])
def test_text_labels_become_numbers_in_alphabetical_order(tmp_path, dtype):
    data = load(
        npz(tmp_path, vectors=VECTORS, labels=np.array(["dog", "ant", "cat", "ant"], dtype))
    )
    np.testing.assert_array_equal(data.labels, [2, 0, 1, 0])
    assert data.names == ("ant", "cat", "dog")


def test_whole_floats_are_class_numbers(tmp_path):
    data = load(npz(tmp_path, vectors=VECTORS, labels=np.array([3.0, 1.0, 1.0, -2.0])))
    np.testing.assert_array_equal(data.labels, [3, 1, 1, -2])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            np.array([0, 1.5, 1, 0]),
            r"`labels` in .*mine\.npz must hold whole numbers .*1\.5 in row 1",
        ),
        (np.array([0, 1, np.nan, 0]), "1 of 4 are missing: in row 2 .* Remove those rows from the"),
        (np.array([[0, 1], [1, np.nan], [1, 0], [0, 0]]), "1 of 4 are missing: in row 1 "),
        (np.array([0, 1, 2**63, 0], dtype=np.uint64), "got 9223372036854775808 in row 2"),
        (np.array([[3], [1], [2], [0]]), "must hold 0 and 1 only. Give one class per item"),
        (np.zeros((4, 2, 2)), r"got float64 of shape \(4, 2, 2\)"),
        (np.zeros(4, dtype=complex), "got complex128"),
        (np.array(["a", "", "b", ""]), "2 of 4 are missing: in rows 1, 3 "),
        (np.array([b"a", b"\xff", b"b", b"c"]), "must hold text in UTF-8"),
        (np.arange(3), "`labels` has 3 items but `vectors` has 4"),
    ],
)
def test_impossible_labels_are_refused(tmp_path, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        load(npz(tmp_path, vectors=VECTORS, labels=labels))


@pytest.mark.parametrize("ids", [np.array([0.5] * 4), np.zeros((4, 1)), np.full((4, 1), "a")])
def test_impossible_ids_are_refused(tmp_path, ids):
    with pytest.raises(InvalidInputError, match=r"`ids` in .*mine\.npz must hold .*whole number"):
        load(npz(tmp_path, vectors=VECTORS, ids=ids))


def test_images_must_be_bytes(tmp_path):
    with pytest.raises(InvalidInputError, match=r"must be uint8, got float64. Scale it"):
        load(npz(tmp_path, vectors=VECTORS, images=np.zeros((4, 8, 8))))


def test_python_objects_are_never_loaded(tmp_path):
    objects = np.array(["a", None, 1, "b"], dtype=object)
    with pytest.raises(InvalidInputError, match=r"`labels` in .* holds Python objects"):
        load(npz(tmp_path, vectors=VECTORS, labels=objects))
    with pytest.raises(InvalidInputError, match=r"mine\.npy holds Python objects"):
        load(npy(tmp_path, objects.reshape(2, 2)))


def test_a_float32_npy_file_stays_on_disk(tmp_path):
    data = load(npy(tmp_path, VECTORS))
    assert isinstance(data.vectors, np.memmap)
    np.testing.assert_array_equal(data.vectors, VECTORS)
    assert data.labels is None


@pytest.mark.parametrize("option", ["features", "labels", "ids"])
def test_an_npy_file_has_nothing_to_choose_from(tmp_path, option):
    with pytest.raises(InvalidInputError, match=rf"`{option}` names an array, but .*\.npz file"):
        load(npy(tmp_path, VECTORS), **{option: "x"})


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3.0),
        np.zeros((2, 3, 4)),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.array(1.0),
        np.array([["a", "b"]]),
        np.zeros((2, 2), dtype=complex),
        np.zeros((2, 2), dtype="M8[s]"),
        np.zeros((2, 2), dtype=[("x", "f4")]),
    ],
)
def test_only_numbers_in_a_matrix_are_vectors(tmp_path, array):
    message = r"must hold numbers of shape \(n, d\), n and d at least 1, got .* of shape"
    with pytest.raises(InvalidInputError, match=message):
        load(npy(tmp_path, array))
    with pytest.raises(InvalidInputError, match=message):
        load(npz(tmp_path, vectors=array))


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "but is empty"),
        (b"a,b\n1,2\n", "but starts with"),
        (b"\x80\x04K\x01.", "but starts with"),
    ],
)
def test_a_foreign_file_is_named(tmp_path, suffix, content, message):
    path = tmp_path / f"mine.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"must be a NumPy \.{suffix} file, {message}"):
        load(path)


def test_the_two_formats_are_told_apart(tmp_path):
    npy(tmp_path, VECTORS).rename(tmp_path / "other.npz")
    npz(tmp_path, vectors=VECTORS).rename(tmp_path / "other.npy")
    for suffix in ("npz", "npy"):
        with pytest.raises(InvalidInputError, match=rf"must be a NumPy \.{suffix} file"):
            load(tmp_path / f"other.{suffix}")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_file_cut_short_is_named(tmp_path, kept):
    for path in (
        npz(tmp_path, vectors=VECTORS.repeat(50, axis=0)),
        npy(tmp_path, VECTORS.repeat(50, axis=0)),
    ):
        content = path.read_bytes()
        path.write_bytes(content[: int(kept * len(content))])
        with pytest.raises(InvalidInputError, match="cannot be read"):
            load(path)


def test_a_damaged_member_of_an_archive_is_named(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, vectors=np.random.default_rng(0).random((50, 20)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(InvalidInputError, match=r"`vectors` in .* cannot be read"):
        load(path)


def test_a_damaged_header_is_named(tmp_path):
    path = npy(tmp_path, VECTORS)
    path.write_bytes(path.read_bytes().replace(b"}", b" "))
    with pytest.raises(InvalidInputError, match=r"mine\.npy cannot be read"):
        load(path)


def test_an_unknown_compression_is_named(tmp_path):
    path = npz(tmp_path, vectors=VECTORS)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = 77  # the method, in the directory of the archive
    path.write_bytes(bytes(content))
    with pytest.raises(InvalidInputError, match=r"cannot be read: .*compression"):
        load(path)


def test_a_member_that_is_no_array_is_refused(tmp_path):
    path = tmp_path / "mine.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors", "hello")
        buffer = io.BytesIO()
        np.save(buffer, VECTORS)
        archive.writestr("other.npy", buffer.getvalue())
    with pytest.raises(InvalidInputError, match=r"`vectors` in .* is not an array"):
        load(path)


def test_arrays_are_read_by_their_names(tmp_path):
    path = npz(tmp_path, a=VECTORS, b=np.arange(3), c=np.array([None]))
    found = read_arrays(path, ("b", "a"))
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["a"], VECTORS)
    with pytest.raises(InvalidInputError, match=r"must have the arrays a, d, e, but has no d, e\."):
        read_arrays(path, ("a", "d", "e"))
    with pytest.raises(InvalidInputError, match=r"`c` in .* holds Python objects"):
        read_arrays(path, ("c",))


TEXTS = ["red rose", "", "blue sky", "grün"]


def test_arrays_that_are_called_like_the_modalities_are_read(tmp_path):
    path = npz(
        tmp_path, image=VECTORS, text=np.array(TEXTS), label=["a", "b", "a", "b"], id=[4, 3, 2, 1]
    )
    data = load(path, modalities=["text", "image"])
    assert list(data.modalities) == ["text", "image"]
    assert data.modalities["text"] == tuple(TEXTS)
    np.testing.assert_array_equal(data.modalities["image"], VECTORS)
    np.testing.assert_array_equal(data.vectors, VECTORS)
    assert data.names == ("a", "b")
    assert data.ids.tolist() == [4, 3, 2, 1]


def test_bytes_are_texts_in_utf_8(tmp_path):
    encoded = np.array([text.encode() for text in TEXTS])
    path = npz(tmp_path, image=VECTORS, text=encoded)
    assert load(path, modalities=["image", "text"]).modalities["text"] == tuple(TEXTS)
    path = npz(tmp_path, image=VECTORS, text=np.array([b"\xff"] * 4))
    with pytest.raises(InvalidInputError, match=r"`text` in .* must hold text in UTF-8"):
        load(path, modalities=["image", "text"])


def test_texts_alone_are_modalities_too(tmp_path):
    path = npz(tmp_path, title=np.array(TEXTS), body=np.array(TEXTS[::-1]), labels=[0, 1, 0, 1])
    data = load(path, modalities=["title", "body"])
    assert data.modalities == {"title": tuple(TEXTS), "body": tuple(TEXTS[::-1])}
    assert data.vectors is None
    assert len(data) == 4


def test_one_modality_may_be_the_only_vectors_of_a_file(tmp_path):
    for path in (npz(tmp_path, pixels=VECTORS), npy(tmp_path, VECTORS)):
        data = load(path, modalities=["image"])
        assert list(data.modalities) == ["image"]
        np.testing.assert_array_equal(data.modalities["image"], VECTORS)


def test_features_name_the_array_of_one_modality(tmp_path):
    path = npz(tmp_path, image=VECTORS, other=-VECTORS)
    data = load(path, features="other", modalities=["image"])
    np.testing.assert_array_equal(data.modalities["image"], -VECTORS)


def test_a_modality_that_is_not_there_is_named_with_what_is(tmp_path):
    path = npz(tmp_path, image=VECTORS, words=np.array(TEXTS))
    with pytest.raises(InvalidInputError) as caught:
        load(path, modalities=["image", "text"])
    assert str(caught.value) == f"{path} has no modality 'text'. Its arrays: image, words."


def test_modalities_of_different_lengths_show_both(tmp_path):
    path = npz(tmp_path, image=VECTORS, text=np.array(TEXTS[:3]))
    with pytest.raises(InvalidInputError, match="'image' has 4 rows and 'text' has 3"):
        load(path, modalities=["image", "text"])


def test_a_modality_of_python_objects_is_refused(tmp_path):
    path = npz(tmp_path, image=VECTORS, text=np.array(TEXTS, dtype=object))
    with pytest.raises(InvalidInputError, match="holds Python objects"):
        load(path, modalities=["image", "text"])
