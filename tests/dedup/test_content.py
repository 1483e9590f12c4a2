import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup.content import Content
from kinhash.errors import InvalidInputError


def test_ids_order_rows_if_they_are_numbers():
    X = np.eye(3, dtype=np.float32)
    assert Content.of(X, None, "data").ranks.tolist() == [0, 1, 2]
    assert Content.of(X, [7, -2, 5], "data").ranks.tolist() == [7, -2, 5]
    assert Content.of(X, ["b", "a", "c"], "data").ranks.tolist() == [0, 1, 2]
    rows = np.array([2, 0])
    assert Content.of(X, None, "data").named(rows).tolist() == [2, 0]
    assert Content.of(X, ["b", "a", "c"], "data").named(rows).tolist() == ["c", "b"]


def test_vectors_that_the_core_can_read_are_not_copied(tmp_path):
    for dtype in (np.float32, np.float16, np.int8):
        X = np.eye(3, dtype=dtype)
        assert Content.of(X, None, "data").vectors is X
        assert Content.of(X[::2], None, "data").vectors.base is X
    np.save(tmp_path / "x.npy", np.eye(3, dtype=np.float16))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(Content.of(mapped, None, "data").vectors, mapped)
    for X in (np.eye(3), np.eye(3, dtype=int), np.eye(3, dtype=bool), np.eye(3).tolist()):
        assert Content.of(X, None, "data").vectors.dtype == np.float32
    turned = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert Content.of(turned, None, "data").vectors.flags.c_contiguous


def test_codes_are_no_vectors():
    with pytest.raises(TypeError, match="codes are no vectors"):
        _ = Content.of(Codes.from_dense([[1]]), None, "data").vectors


def frames():
    pandas, polars, pyarrow = (
        pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow")
    )
    columns = {"sku": ["b", "a", "c"], "e0": [1.0, 2, 3], "e1": [0.0, 1, 1]}
    lists = pyarrow.array([[1.0, 0], [2, 1], [3, 1]], pyarrow.list_(pyarrow.float32(), 2))
    return [
        pandas.DataFrame(columns),
        polars.DataFrame(columns),
        pyarrow.table(columns),
        pyarrow.table({"sku": columns["sku"], "vector": lists}),
    ]


@pytest.mark.parametrize("place", range(4))
def test_tables_have_vectors_and_ids(place):
    content = Content.of(frames()[place], "sku", "data")
    assert content.vectors.tolist() == [[1, 0], [2, 1], [3, 1]]
    assert content.ids.tolist() == ["b", "a", "c"]


def test_ids_of_a_table_are_its_column_of_that_name_or_those_that_are_given():
    frame = frames()[0].rename(columns={"sku": "id"})
    assert Content.of(frame, None, "data").ids.tolist() == ["b", "a", "c"]
    assert Content.of(frame, [3, 2, 1], "data").ids.tolist() == [3, 2, 1]
    assert Content.of(frame[["e0", "e1"]], frame["id"], "data").ids.tolist() == ["b", "a", "c"]
    assert Content.of(frame[["e0", "e1"]], None, "data").ids is None


def test_relations_and_data_sets_are_tables():
    duckdb, datasets = pytest.importorskip("duckdb"), pytest.importorskip("datasets")
    relation = duckdb.sql(
        "select i as id, cast(i * 2 as float) as e0, cast(1 as float) as e1 from range(3) t(i)"
    )
    content = Content.of(relation, None, "data")
    assert (content.ids.tolist(), content.vectors[:, 0].tolist()) == ([0, 1, 2], [0, 2, 4])
    made = datasets.Dataset.from_dict({"v": [[1.0, 2.0], [3.0, 4.0]]})
    assert Content.of(made, None, "data").vectors.tolist() == [[1, 2], [3, 4]]


def test_tensors_are_vectors():
    torch = pytest.importorskip("torch")
    tensor = torch.eye(2, dtype=torch.bfloat16, requires_grad=True)
    assert Content.of(tensor, None, "data").vectors.tolist() == [[1, 0], [0, 1]]


def test_a_column_of_texts_is_texts():
    column = frames()[0]["sku"]
    for texts in (column, column.tolist(), frames()[1]["sku"], np.array(["b", "a", "c"], object)):
        content = Content.of(texts, [7, 8, 9], "data")
        assert content.kind == "texts"
        assert content.vectors.shape == (3, 512)


def test_texts_without_words_are_left_out():
    content = Content.of(["red hat", "", "blue", "--"], ["p", "q", "r", "s"], "data")
    assert content.ids.tolist() == ["p", "r"]
    assert content.as_given(np.array([1, 0])).tolist() == [2, 0]
    assert content.for_all(np.array([True, False])).tolist() == [True, True, False, True]
    assert Content.of(["", "blue"], None, "data").named(np.array([0])).tolist() == [1]
    with pytest.raises(InvalidInputError, match="None of the 2 texts in `data` has a word"):
        Content.of(["", "!"], None, "data")


def test_paths_are_pictures(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("a.png", "b.png"):
        Image.fromarray(rng.integers(0, 256, (60, 60, 3), np.uint8)).save(tmp_path / name)
    content = Content.of([tmp_path / "a.png", tmp_path / "b.png"], None, "data")
    assert content.kind == "pictures"
    assert (len(content.rows), content.rows.n_bits) == (2, 144)


@pytest.mark.parametrize(
    ("data", "ids", "message"),
    [
        (lambda: np.eye(2), "sku", "`ids` must be one for each row, got 'sku'; a name of a column"),
        (
            lambda: frames()[0],
            "skuu",
            "`ids` 'skuu' is no column of the DataFrame. Did you mean 's",
        ),
        (lambda: frames()[0]["sku"], "id", "`ids` 'id' is no column of the Series"),
        (lambda: [[1, 2], [1, 2], [3]], None, "of one length, got 2 in row 0 and 1 in row 2."),
        (lambda: ["a", 3], None, "Texts must be strings, got int in row 1"),
        (list, None, "`data` must be vectors of numbers"),
        (lambda: frames()[0].iloc[:0], "sku", "the DataFrame must have at least one row"),
    ],
)
def test_what_cannot_be_read_is_told(data, ids, message):
    with pytest.raises(InvalidInputError) as caught:
        Content.of(data(), ids, "data")
    assert message in str(caught.value)
