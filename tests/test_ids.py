import doctest
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinhash.ids
from kinhash.errors import InvalidInputError
from kinhash.ids import MAX_BYTES, Texts, as_ids, as_new_ids, check_distinct, check_table

# Of one to four bytes in UTF-8, with what is equal only to careless eyes.
LETTERS = st.text(st.sampled_from("aAb0 \n,'é\u0065\u0301ßΩ中🙂\ufeff\U0010ffff"), max_size=12)
NAMES = ["sku-1", "ß", "", "中文", "🙂" * 5, "a" * 40]


# The table


@given(st.lists(LETTERS), st.lists(LETTERS))
def test_a_table_gives_back_its_strings_and_finds_their_numbers(stored, asked):
    texts = Texts.encoded(stored)
    assert len(texts) == len(stored)
    assert texts.decoded().tolist() == stored
    last = {text: number for number, text in enumerate(stored)}
    for some in (asked, stored, stored[::-1]):
        expected = [last.get(text, -1) for text in some]
        assert texts.numbers_of(Texts.encoded(some)).tolist() == expected


@given(st.lists(LETTERS, min_size=1), st.data())
def test_some_strings_of_a_table_are_a_table(stored, data):
    rows = data.draw(st.lists(st.integers(0, len(stored) - 1)))
    some = Texts.encoded(stored)[np.array(rows, np.int64)]
    assert some.decoded().tolist() == [stored[row] for row in rows]
    assert (
        Texts.encoded(stored).decoded(np.array(rows, np.int64)).tolist() == some.decoded().tolist()
    )


@given(st.lists(st.lists(LETTERS)))
def test_tables_are_joined_one_after_the_other(parts):
    joined = Texts.joined([Texts.encoded(part) for part in parts])
    assert joined.decoded().tolist() == [text for part in parts for text in part]


@given(st.lists(st.integers(0, 30), max_size=40))
def test_of_equal_ids_the_first_that_repeats_is_found(numbers):
    seen, expected = {}, None
    for row, number in enumerate(numbers):
        if number in seen and expected is None:
            expected = seen[number], row
        seen.setdefault(number, row)
    for ids in (Texts.encoded([f"id {number}" for number in numbers]), np.array(numbers, np.int64)):
        if expected is None:
            check_distinct(ids)
        else:
            message = rf"twice, in rows {expected[0]} and {expected[1]}\."
            with pytest.raises(InvalidInputError, match=message):
                check_distinct(ids)


def test_a_million_strings_are_found():
    names = [f"https://example.org/items/{i:x}" for i in range(10**6)]
    texts = Texts.encoded(names)
    assert texts.numbers_of(texts).tolist() == list(range(10**6))
    assert texts.twice() is None
    assert texts.n_bytes == sum(map(len, names)) + 8 * (10**6 + 1)


def test_a_table_is_pickled_and_cannot_be_written_to():
    texts = Texts.encoded(NAMES)
    texts.twice()
    again = pickle.loads(pickle.dumps(texts))  # noqa: S301 - our own
    assert again.decoded().tolist() == NAMES
    for array in (texts.texts, texts.starts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    "starts",
    [
        [0, 2**63, 2**64 - 1, 4],
        [9, 3, 0, 5],
        [2**64 - 1] * 4,
        [0, 1, 2, 100],
    ],
)
def test_a_damaged_table_gives_empty_strings_and_never_reads_beyond(starts):
    texts = Texts(np.frombuffer(b"abcde", np.uint8), np.array(starts, np.uint64))
    found = texts.decoded(np.array([-1, 0, 1, 2, 3, 2**62])).tolist()
    assert found[0] == found[-1] == found[-2] == ""
    assert all(len(text) <= 5 for text in found)
    assert len(texts[np.arange(5)]) == 5
    assert texts.numbers_of(Texts.encoded(["zzz"])).tolist() == [-1]
    with pytest.raises(ValueError, match="`id_starts` do not ascend from 0 to 5"):
        check_table(texts)


@pytest.mark.parametrize(
    ("raw", "starts", "message"),
    [
        (b"ab\xffc", [0, 2, 3, 4], "`id_texts` in row 1 are not UTF-8"),
        (b"a\xc3\xa9b", [0, 2, 4], "`id_texts` in row 1 are not UTF-8"),  # within a character
        (b"a\xc3", [0, 1, 2], "`id_texts` in row 1 are not UTF-8"),
        (b"\xed\xa0\x80", [0, 3], "`id_texts` in row 0 are not UTF-8"),  # a lone surrogate
        (b"ab\0c", [0, 1, 4], "`id_texts` in row 1 are not UTF-8 without zero bytes"),
        (b"abab", [0, 1, 2, 3, 4], "`id_texts` hold 'a' twice, in rows 0 and 2"),
        (b"abab", [0, 2, 2, 4], "`id_starts` do not ascend"),  # an empty id
        (b"abab", [0, 2, 3], "`id_starts` do not ascend from 0 to 4"),
        (b"abab", [1, 2, 4], "`id_starts` do not ascend from 0 to 4"),
        (b"a" * 65536, [0, 65536], "`id_texts` have 65536 bytes in row 0, at most 65535"),
    ],
)
def test_an_unsound_table_is_refused(raw, starts, message):
    texts = Texts(np.frombuffer(raw, np.uint8), np.array(starts, np.uint64))
    with pytest.raises(ValueError, match=message):
        check_table(texts)


def test_a_sound_table_is_not_refused():
    for names in ([], ["a"], ["é", "a", "🙂b"], [f"{i}é" for i in range(70_000)]):
        check_table(Texts.encoded(names))
    texts = Texts.encoded([f"{i}é" for i in range(70_000)])
    raw = texts.texts.copy()
    raw[int(texts.starts[66_000]) + 2] = 0xFF  # in the second piece that is looked at
    with pytest.raises(ValueError, match="in row 66000 are not UTF-8"):
        check_table(Texts(raw, texts.starts))


# What users have


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "é"],
        ("b", "a", "é"),
        np.array(["b", "a", "é"]),
        np.array(["b", "a", "é"], object),
        np.array(["b", "a", "é"], np.dtypes.StringDType()),
        [np.str_("b"), np.str_("a"), "é"],
        pd.Series(["b", "a", "é"]),
        pd.Series(["b", "a", "é"], dtype="category"),
        pd.Series(["b", "a", "é"], dtype="string"),
        pl.Series(["b", "a", "é"]),
        pa.array(["b", "a", "é"]),
        pa.chunked_array([["b"], ["a", "é"]]),
        pa.array(["b", "a", "é"]).dictionary_encode(),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_strings_of_every_library_are_the_same(ids):
    found = as_ids(ids)
    assert isinstance(found, Texts)
    assert found.decoded().tolist() == ["b", "a", "é"]


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 2],
        (3, 1, 2),
        np.array([3, 1, 2], np.uint8),
        np.array([3, 1, 2], object),
        [np.int8(3), 1, np.uint64(2)],
        pd.Series([3, 1, 2]),
        pd.Series([3, 1, 2], dtype="Int64"),
        pl.Series([3, 1, 2]),
        pa.array([3, 1, 2]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_integers_of_every_library_are_the_same(ids):
    found = as_ids(ids)
    assert found.dtype == np.int64
    assert found.tolist() == [3, 1, 2]


def test_no_ids_are_no_strings():
    for none in ([], (), np.zeros(0), np.array([], object), np.array([], np.str_)):
        assert as_ids(none).dtype == np.int64
        assert len(as_new_ids(none, 0)) == 0


LONG = 2**63
KINDS = [
    (["a", 1], "`ids` must be all integers or all strings, got 'a' in row 0 and 1 in row 1."),
    ([1, "a"], "`ids` must be all integers or all strings, got 1 in row 0 and 'a' in row 1."),
    (["a", None], "`ids` must have an id in each row, got None in row 1. Give that item an id, or"),
    (["a", float("nan")], "`ids` must have an id in each row, got nan in row 1."),
    (pd.Series(["a", None, "b"]), "must have an id in each row, got "),
    (pd.Series(["a", None], dtype="string"), "must have an id in each row, got <NA> in row 1."),
    (pd.Series([1, None], dtype="Int64"), "must have an id in each row, got "),
    (pd.Series([1, None]), "`ids` must have an id in each row, got NaN in row 1."),
    (pa.array(["a", None]), "`ids` must have an id in each row, got None in row 1."),
    ([None, "a"], "`ids` must have an id in each row, got None in row 0."),
    ([1, 2, 3.5], "`ids` must be integers or strings, got 3.5 of type float in row 2."),
    (np.array([1, 3.5]), "must be integers or strings, one per item, got float64 of shape (2,)."),
    (["a", 3.5], "`ids` must be integers or strings, got 3.5 of type float in row 1."),
    (["a", b"a"], "`ids` must be integers or strings, got b'a' of type bytes in row 1."),
    ([b"a", "a"], "`ids` must be integers or strings, got b'a' of type bytes in row 0."),
    (np.array([b"a"]), "`ids` must be integers or strings, one per item, got |S1 of shape (1,)."),
    (["a", ["b"]], "`ids` must be integers or strings, got ['b'] of type list in row 1."),
    ([[1], [2, 3]], "one per item, got lists of several lengths."),
    ([["a"]], "`ids` must be integers or strings, one per item, got <U1 of shape (1, 1)."),
    ("abc", "`ids` must be integers or strings, one per item, got <U3 of shape ()."),
    ([True, False], "`ids` must be integers or strings, one per item, got bool of shape (2,)."),
    (np.array([1, True], object), "got True of type bool in row 1."),
    ([1, LONG], f"`ids` must fit into int64, got {LONG} in row 1."),
    ([-1, LONG], f"`ids` must fit into int64, got {LONG} in row 1."),
    ([0, -LONG - 1], f"`ids` must fit into int64, got {-LONG - 1} in row 1."),
    (["a", "\ud800"], r"`ids` must be valid Unicode, got '\ud800' in row 1."),
]


@pytest.mark.parametrize(("ids", "message"), KINDS, ids=str)
def test_what_is_no_id_is_named_with_its_row(ids, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        as_ids(ids)


NEW = [
    (["a", "b", "a"], "`ids` hold 'a' twice, in rows 0 and 2. Give each item an id of its own."),
    ([7, 5, 5], "`ids` hold 5 twice, in rows 1 and 2. Give each item an id of its own."),
    (["a", "b"], "`ids` must be one for each of 3 codes, got 2."),
    (["a", "", "b"], "`ids` must not be empty strings, got one in row 1."),
    (["a", "b", "x" * 65536], "`ids` must have at most 65,535 bytes in UTF-8, got 65,536 in row 2"),
    (["a", "é" * 32768, "b"], "`ids` must have at most 65,535 bytes in UTF-8, got 65,536 in row 1"),
    (["a", "b\0", "c"], r"`ids` must not have a zero byte, which databases refuse, got 'b\x00' in"),
]


@pytest.mark.parametrize(("ids", "message"), NEW, ids=lambda value: str(value)[:30])
def test_new_ids_are_within_the_limits_and_each_once(ids, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        as_new_ids(ids, 3)


def test_an_id_may_be_as_long_as_the_limit():
    names = ["x" * MAX_BYTES, "é" * (MAX_BYTES // 2), " ", "\n"]
    assert as_new_ids(names, 4).decoded().tolist() == names
    check_table(as_new_ids(names, 4))


def test_strings_that_only_look_alike_are_two():
    names = ["e\u0301", "é", "E", "e", " e", "e "]
    assert len(as_new_ids(names, 6)) == 6


def test_docstring_examples_run():
    result = doctest.testmod(kinhash.ids)
    assert result.attempted > 0
    assert result.failed == 0
