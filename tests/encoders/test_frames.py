"""Methods take what users hold vectors and labels in."""

import subprocess
import sys

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from kinhash import MultimodalSparseHash
from kinhash.encoders.frames import as_modality, as_vectors
from kinhash.errors import InvalidInputError
from kinhash.methods import ITQ, LSH, ClassCode

RNG = np.random.default_rng(3)
V = RNG.normal(size=(30, 3)).astype(np.float32)
Y = np.arange(30) % 3
NAMES = ["a", "b", "c"]
COLUMNS = pa.table(dict(zip(NAMES, V.T, strict=True)))
LISTS = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(V.ravel()), 3)})

FRAMES = {
    "pandas": pd.DataFrame(V, columns=NAMES),
    "pandas, lists": pd.DataFrame({"v": list(V)}),
    "pandas, a column of lists": pd.Series(list(V)),
    "pandas, of arrow": COLUMNS.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow(COLUMNS),
    "polars, lists": pl.from_arrow(LISTS),
    "polars, a column of lists": pl.from_arrow(LISTS)["v"],
    "pyarrow": COLUMNS,
    "pyarrow, lists": LISTS,
    "pyarrow, a column": LISTS["v"],
    "pyarrow, a batch": COLUMNS.to_batches()[0],
    "hugging face": datasets.Dataset(COLUMNS),
    "hugging face, lists": datasets.Dataset(LISTS),
    "hugging face, a column": datasets.Dataset(LISTS)["v"],
    "duckdb": duckdb.from_arrow(COLUMNS),
    "tensor": torch.tensor(V),
    "tensor with gradients": torch.tensor(V, requires_grad=True),
}


@pytest.fixture(scope="module")
def model():
    return LSH(16).fit(V)


@pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)
def test_vectors_are_taken_as_they_are(model, X):
    fitted = LSH(16).fit(X)
    assert fitted.n_features_in_ == 3
    expected = model.encode(V)
    assert fitted.encode(X) == expected
    assert (fitted.transform(X).toarray() == expected.to_dense()).all()


def test_tensors_of_half_the_width_are_taken(model):
    X = torch.tensor(V).bfloat16()
    assert model.encode(X) == model.encode(X.float().numpy())


def test_a_mapped_array_is_taken(model, tmp_path):
    np.save(tmp_path / "v.npy", V.astype(np.float16))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert model.encode(mapped) == model.encode(V.astype(np.float16))


LABELS = {
    "pandas": pd.Series(Y),
    "polars": pl.Series(Y),
    "pyarrow": pa.array(Y),
    "pyarrow, chunks": pa.chunked_array([Y[:7], Y[7:]]),
    "hugging face": datasets.Dataset(pa.table({"y": Y}))["y"],
    "duckdb": duckdb.from_arrow(pa.table({"y": Y})),
    "tensor": torch.tensor(Y),
    "a table of one": pa.table({"y": Y}),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_labels_are_taken_as_they_are(y):
    assert ClassCode(16).fit(V, y).encode(V) == ClassCode(16).fit(V, Y).encode(V)


@pytest.mark.parametrize(
    "make",
    [pa.array, lambda y: pa.array(y).dictionary_encode(), pl.Series, pd.Series],
    ids=["pyarrow", "dictionary", "polars", "pandas"],
)
def test_missing_labels_are_named_with_their_rows(make):
    words = [["x", "y", "z"][label] for label in Y]
    assert ClassCode(16).fit(V, make(words)).encode(V) == ClassCode(16).fit(V, words).encode(V)
    words[4] = None
    with pytest.raises(InvalidInputError, match=r"`y` must have a label .* missing: in row 4 "):
        ClassCode(16).fit(V, make(words))


def test_tags_may_be_columns_or_lists():
    tags = np.eye(3, dtype=int)[Y]
    expected = ClassCode(16).fit(V, tags).encode(V)
    table = pa.table(dict(zip(NAMES, tags.T, strict=True)))
    for y in (table, datasets.Dataset(table), pa.array(tags.tolist())):
        assert ClassCode(16).fit(V, y).encode(V) == expected


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "hugging face", "duckdb"])
def test_names_of_columns_are_kept_and_checked(name):
    model = ITQ(2).fit(FRAMES[name])
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(InvalidInputError, match="feature names should match"):
        model.encode(pa.table({"a": V[:, 0], "c": V[:, 1], "b": V[:, 2]}))
    assert not hasattr(ITQ(2).fit(LISTS), "feature_names_in_")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"a": [1.0], "t": ["x"]}), "`t` in the DataFrame .* text 'x' in row 0"),
        (pa.table({"a": [1, 2], "t": ["1", "rose"]}), "`t` in the Table .* text 'rose' in row 1"),
        (pa.table({"v": [[1.0], [1.0, 2.0]]}), "got 1 in row 0 and 2 in row 1"),
    ],
)
def test_what_is_no_vector_is_named_with_its_row_and_column(X, message):
    with pytest.raises(InvalidInputError, match=message):
        LSH(16).fit(X)


def test_modalities_are_taken_as_they_are():
    words = [["red rose", "blue sky", "green tree"][label] for label in Y]
    X = (V + 20 * np.eye(3)[Y]).astype(np.float32)
    lists = pa.array(list(X))
    expected = MultimodalSparseHash(16).fit({"image": X, "text": words}, Y)
    for make in (pa.array, pl.Series, pd.Series):
        fitted = MultimodalSparseHash(16).fit({"image": lists, "text": make(words)}, make(Y))
        found = fitted.encode(make(words), modality="text")
        assert found == expected.encode(words, modality="text")
        image = fitted.encode(torch.tensor(X), modality="image")
        assert image == expected.encode(X, modality="image")


def test_what_numpy_reads_stays_as_it_is():
    for X in (V, FRAMES["pandas"], FRAMES["polars"], None, [[1.0]]):
        assert as_vectors(X)[0] is X
    assert as_modality(pd.Series(["a", "b"])) == ["a", "b"]


def test_frames_of_numbers_need_no_pyarrow():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import numpy as np, pandas as pd\n"
        "from kinhash.methods import LSH\n"
        "X = pd.DataFrame(np.eye(4), columns=list('abcd'))\n"
        "assert len(LSH(8).fit(X).encode(X)) == 4\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
