import numpy as np
import pyarrow as pa
import pytest

from kinhash.datasets.user_files.untyped import joined_ids, narrowed, text_ids
from kinhash.errors import InvalidInputError


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        (["7", "-3", "0"], [7, -3, 0]),
        (["7", "007"], ["7", "007"]),
        (["7", "+7"], ["7", "+7"]),
        (["7", " 8"], ["7", " 8"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["9223372036854775808"], ["9223372036854775808"]),
        (["a", "7"], ["a", "7"]),
    ],
)
def test_only_what_is_written_as_numbers_are_is_a_number(texts, ids):
    found = text_ids(pa.array(texts), "`id`")
    assert found.tolist() == ids
    assert found.dtype == (np.int64 if type(ids[0]) is int else object)


def test_an_empty_id_is_named_with_its_row():
    with pytest.raises(InvalidInputError, match=r"`id` .* 1 of 2 are empty: the first in row 4\."):
        text_ids(pa.array(["a", ""]), "`id`", first_row=3)


def test_ids_are_strings_as_soon_as_one_is():
    assert joined_ids([np.array([7]), np.array([8, 9])]).tolist() == [7, 8, 9]
    found = joined_ids([np.array([7, -8]), np.array(["x"], object)])
    assert (found.dtype, found.tolist()) == (object, ["7", "-8", "x"])
    assert type(found[0]) is str


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["7", "-3"], [7, -3]),
        (["7", "", "NA"], [7, None, None]),
        (["7", "0.5"], [7, 0.5]),
        (["true", "false"], [True, False]),
        (["7", "a", ""], ["7", "a", ""]),
    ],
)
def test_labels_are_numbers_if_all_are(texts, values):
    for column in (pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])):
        assert narrowed(column).to_pylist() == values
