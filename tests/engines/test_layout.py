import numpy as np
import pytest

from kinhash import Codes
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError


def test_a_word_is_a_signed_integer_in_twos_complement():
    dense = np.zeros((2, 70))
    dense[0, [0, 63, 65]] = 1
    columns = Layout(70).arrays(Codes.from_dense(dense))
    assert {name: column.tolist() for name, column in columns.items()} == {
        "w0": [1 - 2**63, 0],
        "w1": [2, 0],
    }


def test_a_bucket_has_a_layout_of_its_own():
    layout = Layout(100, signed=True, n_rank_bits=30)
    assert (layout.bucket, layout.bucket.columns) == (Layout(70, signed=True), layout.words)


def test_signed_codes_have_the_plus_plane_then_the_minus_plane_then_rank_bits():
    codes = Codes.from_dense([[1, -1, 0]], signed=True, rank=[[1, 1]])
    layout = Layout.of(codes)
    assert layout.columns == ("w0", "w1", "r0")
    assert {name: column.tolist() for name, column in layout.arrays(codes).items()} == {
        "w0": [1],
        "w1": [2],
        "r0": [3],
    }
    assert layout.bits == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_rank_bits", [0, 100])
def test_columns_give_the_codes_back(rng, signed, n_rank_bits):
    dense = rng.integers(-1 if signed else 0, 2, (9, 130))
    rank = rng.integers(0, 2, (9, n_rank_bits)) if n_rank_bits else None
    codes = Codes.from_dense(dense, signed=signed, rank=rank)
    layout = Layout.of(codes)
    again = layout.codes({"id": np.arange(9), **layout.arrays(codes)})
    assert np.array_equal(again.to_dense(), dense)
    assert np.array_equal(again.rank_words, codes.rank_words)


def test_columns_that_make_no_code_are_refused():
    layout = Layout(70)
    word = np.zeros(2, np.int64)
    with pytest.raises(InvalidInputError, match="`w1` is missing among id, w0"):
        layout.codes({"id": word, "w0": word})
    with pytest.raises(InvalidInputError, match="`w0` must be one column of int64, got float64"):
        layout.codes({"w0": word.astype(float), "w1": word})
    with pytest.raises(InvalidInputError, match="beyond the 70 bits"):
        layout.codes({"w0": word, "w1": word - 1})


def test_codes_of_another_length_are_refused():
    with pytest.raises(InvalidInputError, match=r"n_bits=3.*n_bits=4"):
        Layout(4).arrays(Codes.from_dense([[1, 0, 0]]))


@pytest.mark.parametrize(
    ("n_bits", "options", "message"),
    [
        (0, {}, r"`n_bits` must be an integer in \[1, 4096\], got 0"),
        (8, {"n_rank_bits": 8}, r"`n_rank_bits` must be an integer in \[0, 7\], got 8"),
        (4000, {"signed": True}, "at most 4096 stored bits, got 8000"),
    ],
)
def test_lengths_that_make_no_code_are_refused(n_bits, options, message):
    with pytest.raises(InvalidInputError, match=message):
        Layout(n_bits, **options)


def test_metadata_of_a_table_gives_the_lengths_back():
    layout = Layout(70, signed=True, n_rank_bits=6)
    assert layout.metadata() == {
        b"kinhash.n_bits": b"70",
        b"kinhash.n_rank_bits": b"6",
        b"kinhash.signed": b"true",
    }
    assert Layout.from_metadata({b"pandas": b"{}", **layout.metadata()}) == layout
    assert Layout.from_metadata({b"pandas": b"{}"}) is None
    assert Layout.from_metadata(None) is None


@pytest.mark.parametrize("changed", [{"n_bits": "x"}, {"signed": "yes"}, {"n_rank_bits": ""}])
def test_metadata_that_makes_no_lengths_is_refused(changed):
    told = Layout(7).metadata() | {f"kinhash.{k}".encode(): v.encode() for k, v in changed.items()}
    with pytest.raises(InvalidInputError, match=r"must say how long its codes are, got \{"):
        Layout.from_metadata(told)
