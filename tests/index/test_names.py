import doctest
import itertools
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinhash.ids import Texts
from kinhash.index import names as module
from kinhash.index.names import Names

BATCHES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "dé", "f" * 20]), max_size=5))


def named(batches):
    """Add one batch after the other."""
    names = Names([])
    for batch in batches:
        names = names.with_more(Texts.encoded(batch))
    return names


@given(BATCHES)
def test_numbers_go_up_in_the_order_of_adding_and_the_last_of_equal_ones_counts(batches):
    names, plain = named(batches), [name for batch in batches for name in batch]
    assert len(names) == len(plain)
    assert names.strings(np.arange(len(plain))).tolist() == plain
    last = {name: number for number, name in enumerate(plain)}
    asked = ["a", "x", "dé", "b", "", "f" * 20]
    expected = [last.get(name, -1) for name in asked]
    assert names.numbers_of(Texts.encoded(asked)).tolist() == expected
    assert [int(names.number_of(name)[0]) for name in asked] == expected


@given(BATCHES, st.data())
def test_kept_names_are_one_table(batches, data):
    names, plain = named(batches), [name for batch in batches for name in batch]
    rows = sorted(data.draw(st.sets(st.integers(0, len(plain) - 1)))) if plain else []
    assert names.kept(np.array(rows, np.int64)).decoded().tolist() == [plain[row] for row in rows]


def test_many_additions_leave_few_parts():
    names = named([[f"id {i}"] for i in range(300)])
    sizes = [len(part) for part in names.parts]
    assert all(first >= 2 * second for first, second in itertools.pairwise(sizes))
    assert len(sizes) <= 9
    assert names.strings(np.array([299, 0, -1, 300])).tolist() == ["id 299", "id 0", "", ""]


def test_what_is_no_string_has_no_number():
    names = named([["1", "a"]])
    for item in (1, None, b"a", 1.0, "\ud800", ["a"]):
        assert names.number_of(item).tolist() == [-1]


def test_names_are_pickled():
    names = named([["a", "b"], ["c"]])
    again = pickle.loads(pickle.dumps(names))  # noqa: S301 - our own
    assert again.strings(np.arange(3)).tolist() == ["a", "b", "c"]
    assert again.n_bytes == names.n_bytes == 3 + 8 * sum(len(part) + 1 for part in names.parts)


def test_docstring_examples_run():
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
