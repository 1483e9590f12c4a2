import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kinhash.datasets.pickles import read_pickle
from kinhash.errors import InvalidInputError

DATA = {
    b"batch_label": b"training batch 1 of 5",
    b"labels": [3, 0, 300, -1, 70_000] * 300,
    b"data": np.arange(600, dtype=np.uint8).reshape(20, 30),
    b"filenames": [b"camion_s_000148.png"] * 3,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data_batch_1"


def check(found):
    assert list(found) == ["batch_label", "labels", "data", "filenames"]
    assert found["batch_label"] == b"training batch 1 of 5"
    assert found["labels"] == DATA[b"labels"]
    assert found["filenames"] == DATA[b"filenames"]
    np.testing.assert_array_equal(found["data"], DATA[b"data"])
    assert found["data"].dtype == np.uint8


def test_what_python_2_wrote_is_read(path, python2_pickle):
    content = python2_pickle(DATA)
    # The writer of these tests writes what Python itself understands.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        own = pickle.loads(content, encoding="bytes")  # noqa: S301
    np.testing.assert_array_equal(own[b"data"], DATA[b"data"])
    path.write_bytes(content)
    check(read_pickle(path))


@pytest.mark.parametrize("protocol", [2, 3])
def test_what_python_3_writes_in_its_place_is_read(path, protocol):
    path.write_bytes(pickle.dumps(DATA, protocol=protocol))
    check(read_pickle(path))


def test_an_array_in_fortran_order_is_read(path):
    array = np.asfortranarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    path.write_bytes(pickle.dumps({"data": array}, protocol=2))
    np.testing.assert_array_equal(read_pickle(path)["data"], array)


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(tmp_path, path, protocol):
    trace = tmp_path / "trace"
    content = pickle.dumps({"data": Attack(trace)}, protocol=protocol)
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"data_batch_1 is refused: it asks for '.*could"):
        read_pickle(path)
    assert not trace.exists()
    pickle.loads(content)  # noqa: S301  (it was no blank shot)
    assert trace.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02cbuiltins\neval\n(U\x041+1\x74R.",
        b"\x80\x02cnumpy\nload\n.",
        b"\x80\x02cnumpy.core.multiarray\nscalar\n.",
        b"(ios\nsystem\n(dp0\n.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02Pname\n.",
        b"\x80\x02cnumpy\nndarray\n)\x81.",
    ],
)
def test_every_other_way_to_name_code_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="is refused: it asks for"):
        read_pickle(path)


def test_a_message_stays_short(path):
    path.write_bytes(b"\x80\x02c" + b"x" * 10_000 + b"\ny\n.")
    with pytest.raises(InvalidInputError) as caught:
        read_pickle(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "pickle exhausted"),
        (b"\x80\x02}", "pickle exhausted"),
        (b"\xff", "unknown"),
        (b"\x80\x02K\x01.", "it holds no dictionary"),
        (b"\x80\x02.", "pop from empty list"),
        (b"\x80\x02}K\x01K\x02s.", "a key of its dictionary is no text"),
        (b"\x80\x02})" + b"\x85" * 100_000 + b"K\x01s.", "a key of its dictionary is no text"),
        (b"\x80\x02}U\x01a(K\x01u.", "a key|argument|mark|shorter|longer"),
        (b"\x80\x02}U\x01aK\x01)Rs.", "it calls what is no function"),
        (b"\x80\x02h\x05.", "5"),
    ],
)
def test_a_damaged_pickle_is_named(path, content, message):
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"data_batch_1 cannot be read: .*({message})"):
        read_pickle(path)


def test_arrays_of_anything_but_bytes_are_refused(path):
    for array in (np.zeros(3), np.array([None, 1]), np.zeros(3, np.int64)):
        path.write_bytes(pickle.dumps({"data": array}, protocol=2))
        with pytest.raises(InvalidInputError, match="cannot be read: its array is not one of byte"):
            read_pickle(path)


def test_a_missing_file_is_named(path):
    with pytest.raises(InvalidInputError, match=r"data_batch_1 cannot be read: .*No such file"):
        read_pickle(path)


@example(changes=[(329, 92)])  # an escape that there is not
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8))
def test_whatever_the_bytes_there_is_a_dictionary_or_one_error(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("fuzz") / "batch"
    small = {b"labels": [1, 2, 3], b"data": np.zeros((2, 3), np.uint8), b"names": [b"a", b"b"]}
    content = bytearray(pickle.dumps(small, protocol=2))
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(content)
    try:
        assert isinstance(read_pickle(path), dict)
    except InvalidInputError as error:
        assert str(path) in str(error)  # noqa: PT017
