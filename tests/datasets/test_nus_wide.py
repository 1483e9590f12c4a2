import numpy as np
import pytest

from kinhash.datasets import load, nus_wide
from kinhash.errors import InvalidInputError

N = 40
N_TAGS = 7
N_WORDS = 5
CONCEPTS = [f"concept{i:02d}" for i in range(81)]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """The published layout, with 40 photographs, 7 tags and 5 visual words."""
    monkeypatch.setattr(nus_wide, "N_TAGS", N_TAGS)
    monkeypatch.setattr(nus_wide, "N_WORDS", N_WORDS)
    folder = tmp_path / "NUS-WIDE"
    rng = np.random.default_rng(0)
    # Each concept has a number of photographs of its own; the last photograph has rare ones only.
    labels = np.zeros((N, 81), dtype=int)
    for j, count in enumerate(rng.permutation(81)):
        labels[rng.permutation(N - 1)[: count // 3], j] = 1
    labels[-1, labels.sum(axis=0).argmin()] = 1
    tags = (rng.random((N, N_TAGS)) < 0.4).astype(int)
    tags[3] = 0
    words = rng.integers(0, 300, (N, N_WORDS))
    files = {
        "ConceptsList/Concepts81.txt": "".join(f"{name}\n" for name in CONCEPTS),
        "NUS_WID_Tags/TagList1k.txt": "".join(f"tag{j}\r\n" for j in range(N_TAGS)),
        "NUS_WID_Tags/AllTags1k.txt": lines(tags, "\t"),
        "Low_Level_Features/BoW_int.dat": lines(words, " "),
    }
    for j, name in enumerate(CONCEPTS):
        files[f"Groundtruth/AllLabels/Labels_{name}.txt"] = lines(labels[:, j : j + 1], "")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return folder, labels, tags, words


def lines(matrix, separator):
    """A line for each row, with a separator after each value as the published files have it."""
    return "".join("".join(f"{value}{separator}" for value in row) + "\n" for row in matrix)


def test_labels_are_the_21_most_frequent_concepts(published):
    folder, labels, _, _ = published
    data = load("nus-wide", root=folder.parent)
    counts = labels.sum(axis=0)
    frequent = sorted(range(81), key=lambda j: (-counts[j], j))[:21]
    assert data.names == tuple(CONCEPTS[j] for j in frequent)
    assert data.labels.dtype == np.uint8
    kept = [i for i in range(N) if labels[i, frequent].any()]
    np.testing.assert_array_equal(data.labels, labels[kept][:, frequent])
    np.testing.assert_array_equal(data.ids, kept)
    assert N - 1 not in data.ids


def test_vectors_tags_and_texts_belong_to_the_photographs_that_are_kept(published):
    folder, _, tags, words = published
    data = load("nus-wide", root=folder.parent, features="words")
    np.testing.assert_array_equal(data.vectors, words[data.ids])
    assert data.vectors.dtype == np.float32
    np.testing.assert_array_equal(data.attributes["tags"], tags[data.ids])
    assert data.attributes["tags"].dtype == np.uint8
    for row, id_ in enumerate(data.ids):
        assert data.texts[row].split() == [f"tag{j}" for j in np.flatnonzero(tags[id_])]


@pytest.mark.parametrize("name", ["nus-wide", "."])
def test_the_folder_may_have_either_name_or_be_the_root(published, name):
    folder, *_ = published
    root = folder if name == "." else folder.parent
    if name != ".":
        folder.rename(root / name)
    assert load("nus-wide", root=root).vectors.shape[1] == N_WORDS


def split_words(folder, words, *, slash="\\"):
    """Write the words as the two files of the training and the test photographs."""
    names = [f"actor{slash}{i:04d}_{i * 7919}.jpg" for i in range(N)]
    order = np.random.default_rng(1).permutation(N)
    (folder / "Low_Level_Features" / "BoW_int.dat").unlink()
    (folder / "ImageList").mkdir()
    (folder / "ImageList" / "Imagelist.txt").write_text("".join(f"{n}\n" for n in names))
    for part, rows in (("Train", order[:25]), ("Test", order[25:])):
        text = "".join(f"{names[i]}\n" for i in rows)
        (folder / "ImageList" / f"{part}Imagelist.txt").write_text(text)
        (folder / "Low_Level_Features" / f"BoW_{part}_int.dat").write_text(lines(words[rows], " "))


def test_words_in_two_parts_are_put_in_the_order_of_the_full_list(published):
    folder, _, _, words = published
    split_words(folder, words)
    calls = []
    data = load("nus-wide", root=folder, progress=lambda *done: calls.append(done))
    np.testing.assert_array_equal(data.vectors, words[data.ids])
    assert calls == [(25, N), (N, N)]


def test_lists_that_do_not_agree_are_refused(published):
    folder, _, _, words = published
    split_words(folder, words)
    path = folder / "ImageList" / "TestImagelist.txt"
    path.write_text(path.read_text().partition("\n")[2])
    with pytest.raises(InvalidInputError, match=r"must list 40 photographs, .* has 40 and they 39"):
        load("nus-wide", root=folder)


def test_progress_counts_photographs_in_blocks(published, monkeypatch):
    folder, *_ = published
    monkeypatch.setattr(nus_wide, "_BLOCK_ROWS", 15)
    monkeypatch.setattr(nus_wide, "_BLOCK_BYTES", 11)
    whole, calls = load("nus-wide", root=folder), []
    monkeypatch.undo()
    monkeypatch.setattr(nus_wide, "N_TAGS", N_TAGS)
    monkeypatch.setattr(nus_wide, "N_WORDS", N_WORDS)
    monkeypatch.setattr(nus_wide, "_BLOCK_ROWS", 15)
    again = load("nus-wide", root=folder, progress=lambda *done: calls.append(done))
    assert calls == [(15, N), (30, N), (N, N)]
    np.testing.assert_array_equal(again.vectors, whole.vectors)
    np.testing.assert_array_equal(again.attributes["tags"], whole.attributes["tags"])


def test_a_missing_data_set_is_named_with_files_folders_and_remedy(tmp_path):
    with pytest.raises(InvalidInputError) as caught:
        load("nus-wide", root=tmp_path)
    message = str(caught.value)
    assert "NUS-WIDE was not found: looked for ConceptsList/Concepts81.txt" in message
    assert f"in {tmp_path / 'nus-wide'}, {tmp_path / 'NUS-WIDE'}, {tmp_path}." in message
    assert "NUS_WID_Tags.zip" in message


@pytest.mark.parametrize(
    "file",
    [
        "NUS_WID_Tags/TagList1k.txt",
        "NUS_WID_Tags/AllTags1k.txt",
        "Groundtruth/AllLabels/Labels_concept17.txt",
        "Low_Level_Features/BoW_int.dat",
    ],
)
def test_a_single_missing_file_is_named(published, file):
    folder, *_ = published
    (folder / file).unlink()
    with pytest.raises(InvalidInputError, match=f"looked for {file}.* in {folder}"):
        load("nus-wide", root=folder)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("ConceptsList/Concepts81.txt", "sky\n", "must hold 81 names, but has 1"),
        ("NUS_WID_Tags/TagList1k.txt", "a b", "must hold 7 names, but has 2"),
        (
            "NUS_WID_Tags/AllTags1k.txt",
            "0\t1\n" * N,
            "must have 7 values in each .* 80 in 40 lines",
        ),
        ("NUS_WID_Tags/AllTags1k.txt", "", "must have 7 values in each line, but has 0 in 0 lines"),
        ("NUS_WID_Tags/AllTags1k.txt", "0 1 0 1 0 1 0\n" * 39, "must have 40 lines, .* has 39"),
        ("NUS_WID_Tags/AllTags1k.txt", "0 1 0 1 0 1 2\n" * N, "must hold 0 and 1 only"),
        (
            "Groundtruth/AllLabels/Labels_concept17.txt",
            "1\n" * 41,
            "must have 40 lines.* 41 or more",
        ),
        ("Groundtruth/AllLabels/Labels_concept17.txt", "<html>", "must hold 0 and 1 only"),
        ("Low_Level_Features/BoW_int.dat", "1 2 3 4 5\n" * 39, "must have 40 lines, .* has 39"),
        ("Low_Level_Features/BoW_int.dat", "1 2 3 4 5\n" * 41, "must have 40 lines.* 41 or more"),
        (
            "Low_Level_Features/BoW_int.dat",
            "1 2 3 4\n" * N,
            "must have 5 values .* 160 in the 40",
        ),
        ("Low_Level_Features/BoW_int.dat", "1 2 3 4 x\n" * N, "must hold whole numbers"),
    ],
)
def test_a_file_that_does_not_fit_is_named(published, file, text, message):
    folder, *_ = published
    (folder / file).write_text(text, encoding="utf-8")
    name = file.rpartition("/")[2]
    with pytest.raises(InvalidInputError, match=f"{name} {message}"):
        load("nus-wide", root=folder)


def test_other_features_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"features for nus-wide 'gist'. Known: words"):
        load("nus-wide", root=tmp_path, features="gist")


def test_the_published_widths_are_500_words_and_1000_tags():
    assert (nus_wide.N_WORDS, nus_wide.N_TAGS) == (500, 1000)
