import numpy as np
import pytest

from kinhash.datasets.user_files.reader import SUFFIXES, load_file
from kinhash.errors import InvalidInputError

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.fixture
def write(tmp_path):
    """Write the two rows of `X` and their labels in the format of an ending."""

    def write(suffix):
        path = tmp_path / f"items{suffix}"
        match suffix.lower():
            case ".npy":
                np.save(path, X)
                return path
            case ".npz":
                with path.open("wb") as file:
                    np.savez(file, vectors=X, label=[0, 1])
            case ".csv":
                path.write_text("a,b,label\n1,2,0\n3,4,1\n")
            case ".parquet":
                pandas = pytest.importorskip("pandas")
                frame = pandas.DataFrame(X, columns=["a", "b"]).assign(label=[0, 1])
                frame.to_parquet(path)
        return path

    return write


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".NPZ", ".Csv"])
def test_the_ending_chooses_the_reader(write, suffix):
    found = load_file(write(suffix))
    assert found.vectors.tolist() == X.tolist()
    if suffix != ".npy":
        assert found.labels.tolist() == [0, 1]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"There is no file .*nothing\.csv"):
        load_file(tmp_path / "nothing.csv")


@pytest.mark.parametrize("option", ["features", "labels", "ids"])
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
