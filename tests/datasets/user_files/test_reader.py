import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from kinhash.datasets.user_files.reader import SUFFIXES, ending, open_items
from kinhash.errors import InvalidInputError


def load_file(path, **options):
    return open_items(path, **options).read()


X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
TABLE = {"a": [1, 3], "b": [2, 4], "label": [0, 1]}


def write_file(path, suffix):
    """Write the two rows of `X` and their labels in the format of an ending."""
    match suffix.lower():
        case ".npy":
            with path.open("wb") as file:
                np.save(file, X)
        case ".npz":
            with path.open("wb") as file:
                np.savez(file, vectors=X, label=[0, 1])
        case ".csv" | ".tsv":
            sign = "," if suffix.lower() == ".csv" else "\t"
            path.write_text("a,b,label\n1,2,0\n3,4,1\n".replace(",", sign))
        case ".parquet":
            pd.DataFrame(TABLE).to_parquet(path)
        case ".arrow":
            with (
                pa.OSFile(str(path), "wb") as file,
                pa.ipc.new_file(file, pa.table(TABLE).schema) as writer,
            ):
                writer.write_table(pa.table(TABLE))
        case ".feather":
            pyarrow.feather.write_feather(pa.table(TABLE), str(path))
        case ".jsonl":
            rows = pd.DataFrame(TABLE).to_dict("records")
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def write(tmp_path):
    return lambda suffix: write_file(tmp_path / f"items{suffix}", suffix)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".NPZ", ".Csv"])
def test_the_ending_chooses_the_reader(write, suffix):
    found = load_file(write(suffix))
    assert found.vectors.tolist() == X.tolist()
    assert found.name == "items"
    if suffix != ".npy":
        assert found.labels.tolist() == [0, 1]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".npy"])
def test_a_compressed_file_is_the_same(write, suffix):
    path = write(suffix)
    compressed = path.with_name(f"{path.name}.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    found = load_file(compressed)
    assert found.vectors.tolist() == X.tolist()
    assert found.name == "items"


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".npz"])
def test_what_is_compressed_inside_is_not_compressed_again(write, suffix):
    path = write(suffix)
    path = path.rename(path.with_name(f"{path.name}.gz"))
    with pytest.raises(InvalidInputError, match=rf"cannot be read compressed .* a \{suffix} file"):
        load_file(path)


def test_endings_are_told_with_or_without_compression():
    assert [ending(Path(name)) for name in ("a.csv", "a.b.CSV.GZ", "a.gz", "a", "a.txt.gz")] == [
        ".csv",
        ".csv",
        None,
        None,
        None,
    ]


def test_another_ending_is_answered_with_those_that_are_read(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(InvalidInputError, match=r"notes\.txt must end in \.npz, .* got '\.txt'"):
        open_items(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_named(tmp_path, suffix):
    with pytest.raises(InvalidInputError, match=rf"There is no file .*nothing\{suffix}"):
        load_file(tmp_path / f"nothing{suffix}")


@pytest.mark.parametrize("option", ["features", "labels", "ids", "text"])
def test_a_single_array_has_no_names_to_choose_from(write, option):
    with pytest.raises(InvalidInputError, match=rf"`{option}` .*\.npy holds a single one"):
        load_file(write(".npy"), **{option: "x"})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_modality_may_be_all_the_vectors_of_a_file(write, suffix):
    found = load_file(write(suffix), modalities=("image",))
    assert list(found.modalities) == ["image"]
    assert found.modalities["image"].tolist() == X.tolist()


def test_several_modalities_need_a_name_each(write):
    with pytest.raises(
        InvalidInputError, match=r"single array .* Store the modalities image, text"
    ):
        load_file(write(".npy"), modalities=("image", "text"))
    with pytest.raises(InvalidInputError, match="each modality, image, text, so `features` cannot"):
        load_file(write(".npz"), features="vectors", modalities=("image", "text"))


FRAMES = {
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "pyarrow": pa.table(TABLE),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_is_opened_as_it_is(frame):
    items = open_items(frame)
    assert (items.columns.features, items.columns.labels, items.n_rows) == (("a", "b"), "label", 2)
    assert items.read().vectors.tolist() == X.tolist()


def test_an_array_is_opened_as_it_is():
    assert open_items(X).read().vectors is X
    assert open_items([[1, 2]]).read().vectors.tolist() == [[1, 2]]
    with pytest.raises(InvalidInputError, match=r"the array must hold numbers of shape \(n, d\)"):
        open_items(np.zeros(3))


def test_vectors_of_a_table_are_not_copied():
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 2)
    found = open_items(pa.table({"v": lists})).read()
    assert np.shares_memory(found.vectors, lists.flatten().to_numpy())


def test_a_frame_without_rows_is_refused():
    with pytest.raises(InvalidInputError, match="the DataFrame must have at least one row"):
        open_items(pd.DataFrame(TABLE)[:0])


def test_cells_may_be_separated_by_another_sign(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("a;b\n1;2\n3;4\n")
    assert load_file(path, delimiter=";").vectors.tolist() == X.tolist()
    with pytest.raises(InvalidInputError, match=r"single column, 'a;b'\. .* ';', pass it"):
        load_file(path)


@pytest.mark.parametrize(
    ("suffix", "delimiter", "message"),
    [
        (".csv", ";;", "`delimiter` must be one character, got ';;'"),
        (".jsonl", ";", r"`delimiter` belongs to \.csv and \.tsv files, and .*jsonl is none"),
        (".npy", ";", r"`delimiter` belongs to \.csv and \.tsv files, and .*npy is none"),
    ],
)
def test_a_delimiter_is_one_sign_of_a_text_file(write, suffix, delimiter, message):
    with pytest.raises(InvalidInputError, match=message):
        load_file(write(suffix), delimiter=delimiter)
    with pytest.raises(InvalidInputError, match=r"`delimiter` belongs to \.csv"):
        open_items(pa.table(TABLE), delimiter=",")


@pytest.mark.parametrize("suffix", [one for one in SUFFIXES if one != ".npz"])
def test_a_folder_of_parts_is_read_in_the_order_of_names(tmp_path, suffix):
    for part in ("b", "a", "_SUCCESS"):
        write_file(tmp_path / f"{part}{suffix}", suffix)
    np.save(tmp_path / ".hidden", X)
    items = open_items(tmp_path)
    assert items.read().vectors.tolist() == [*X.tolist(), *X.tolist()]
    assert [batch.first_row for batch in items.batches(1)] == [0, 1, 2, 3]
    assert items.read().name == tmp_path.name


def test_parts_must_end_alike(write):
    folder = write(".csv").parent
    write(".npy")
    with pytest.raises(InvalidInputError, match=r"items\.csv and items\.npy in .* do not"):
        open_items(folder)


def test_archives_are_no_parts(write):
    with pytest.raises(InvalidInputError, match=r"\.npz files, which are no parts"):
        open_items(write(".npz").parent)


def test_parts_of_another_width_are_named(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :1])
    with pytest.raises(InvalidInputError, match=r"a\.npy, which has 2, but .*b\.npy has 1"):
        open_items(tmp_path)
