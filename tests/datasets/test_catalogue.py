import numpy as np
import pytest

from kinhash.datasets import DATASETS, Dataset, load
from kinhash.errors import InvalidInputError


def test_the_table_names_every_data_set():
    assert sorted(DATASETS) == [
        "cifar10",
        "cifar10-deep",
        "corel5k",
        "corel5k-deep",
        "corel5k-tags",
        "corel5k-variants",
        "digits",
        "digits-words",
        "fashion-mnist",
        "fashion-products",
        "nus-wide",
        "titles",
        "wikipedia",
    ]


def test_an_unknown_name_is_answered_with_the_nearest_one_and_with_paths():
    with pytest.raises(InvalidInputError) as caught:
        load("cifar-10")
    assert str(caught.value) == (
        "Unknown data set 'cifar-10'. Did you mean 'cifar10'? "
        "Known: cifar10, cifar10-deep, corel5k, corel5k-deep, corel5k-tags, corel5k-variants, "
        "digits, digits-words, fashion-mnist, fashion-products, nus-wide, titles, wikipedia. "
        "A path to a .npz, .npy, .parquet, .arrow, .feather, .csv, .tsv or .jsonl file works, too."
    )


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "mine.npz"
    with pytest.raises(InvalidInputError, match=f"There is no file {path}"):
        load(path)


def test_an_empty_folder_is_no_table(tmp_path):
    path = tmp_path / "mine.npy"
    path.mkdir()
    with pytest.raises(InvalidInputError, match="must hold the parts of a table, but has no files"):
        load(path)


def test_a_folder_of_parts_is_a_data_set(tmp_path):
    for part in (1, 0):
        np.save(tmp_path / f"part-{part}.npy", np.full((2, 3), part, dtype=np.float32))
    assert load(tmp_path).vectors[:, 0].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("name", ["mine.txt", "mine"])
def test_another_ending_is_answered_with_the_endings_that_are_read(tmp_path, name):
    path = tmp_path / name
    path.write_text("1 2 3", encoding="utf-8")
    with pytest.raises(
        InvalidInputError, match=rf"{name} must be a \.npz, \.npy, .* \.tsv or \.jsonl file"
    ):
        load(path)


def test_endings_may_be_capital_and_paths_may_be_text(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((2, 3), dtype=np.float32))
    (tmp_path / "mine.npy").rename(tmp_path / "MINE.NPY")
    data = load(str(tmp_path / "MINE.NPY"))
    assert isinstance(data, Dataset)
    assert data.name == "MINE"


def test_a_path_may_start_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    np.save(tmp_path / "mine.npy", np.ones((2, 3), dtype=np.float32))
    assert len(load("~/mine.npy")) == 2


@pytest.mark.parametrize("option", ["labels", "ids", "text", "delimiter"])
def test_a_named_data_set_has_its_own_labels_and_ids(option):
    with pytest.raises(InvalidInputError, match=r"data set 'digits' has its own"):
        load("digits", **{option: "mine"})


def test_a_file_needs_no_root(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((2, 3), dtype=np.float32))
    with pytest.raises(InvalidInputError, match="`root` is the folder of the named data sets"):
        load("mine.npy", root=tmp_path)


def test_an_unmarked_test_must_not_ask_for_a_data_set_of_this_machine():
    with pytest.raises(pytest.fail.Exception, match="asks for 'cifar10': mark it with"):
        load("cifar10")
