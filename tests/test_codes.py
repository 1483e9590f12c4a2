import copy
import doctest
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinhash.codes
from kinhash import storage
from kinhash.codes import MAX_BITS, Codes, words_per_code
from kinhash.errors import FormatError, InvalidInputError, KinhashError

EDGES = [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000, 1023, 1024, 2047, 2048]
UNSIGNED_AND_SIGNED = pytest.mark.parametrize("signed", [False, True])


@st.composite
def dense_codes(draw):
    """Draw a `(n, n_bits)` int8 array and whether it is signed, with every word boundary likely."""
    signed = draw(st.booleans())
    most = MAX_BITS // 2 if signed else MAX_BITS
    n_bits = draw(st.one_of(st.sampled_from([*EDGES, most]), st.integers(1, most)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    active = rng.random((draw(st.integers(0, 5)), n_bits)) < draw(st.sampled_from([0, 0.1, 0.5, 1]))
    return np.where(active, random_signs(rng, active.shape, signed=signed), 0).astype(
        np.int8
    ), signed


@st.composite
def nested_codes(draw):
    """Draw the dense bucket, whether it is signed, and the dense rank bits of a few codes."""
    signed = draw(st.booleans())
    n_bits = draw(st.sampled_from([1, 7, 8, 64, 65, 130]))
    n_rank_bits = draw(st.sampled_from([1, 8, 9, 63, 64, 65, 200, 2048]))
    n, rng = draw(st.integers(0, 5)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bucket = rng.integers(-1 if signed else 0, 2, (n, n_bits), np.int8)
    return bucket, signed, rng.integers(0, 2, (n, n_rank_bits), np.int8)


def random_signs(rng, shape, *, signed):
    return rng.choice([-1, 1], shape) if signed else np.ones(shape, int)


def random_codes(n, n_bits, *, signed=False, seed=0):
    return Codes.from_dense(random_dense(n, n_bits, signed=signed, seed=seed), signed=signed)


def random_dense(n, n_bits, *, signed=False, seed=0):
    return np.random.default_rng(seed).integers(-1 if signed else 0, 2, (n, n_bits), np.int8)


def naive_planes(dense, *, signed):
    return [dense == 1, dense == -1] if signed else [dense == 1]


def naive_words(dense, *, signed):
    """Pack plane by plane with NumPy: bit j of a plane is bit j % 64 of word j // 64."""
    packed = []
    for plane in naive_planes(dense, signed=signed):
        padded = np.pad(plane, [(0, 0), (0, -plane.shape[1] % 64)])
        packed.append(np.packbits(padded, axis=1, bitorder="little").view("<u8"))
    return np.concatenate(packed, axis=1)


@settings(deadline=None)
@given(dense_codes())
def test_packing_agrees_with_numpy_and_unpacks_to_the_same_array(drawn):
    dense, signed = drawn
    codes = Codes.from_dense(dense, signed=signed)
    assert codes.words.dtype == np.uint64
    np.testing.assert_array_equal(codes.words, naive_words(dense, signed=signed))
    unpacked = codes.to_dense()
    assert unpacked.dtype == np.int8
    np.testing.assert_array_equal(unpacked, dense)
    assert (len(codes), codes.n_bits, codes.signed) == (*dense.shape, signed)


@settings(deadline=None)
@given(dense_codes())
def test_bytes_follow_numpys_little_endian_bits_and_come_back(drawn):
    dense, signed = drawn
    codes = Codes.from_dense(dense, signed=signed)
    expected = np.concatenate(
        [
            np.packbits(plane, axis=1, bitorder="little")
            for plane in naive_planes(dense, signed=signed)
        ],
        axis=1,
    )
    raw = codes.to_bytes()
    assert raw.dtype == np.uint8
    np.testing.assert_array_equal(raw, expected)
    assert Codes.from_bytes(raw, codes.n_bits, signed=signed) == codes


@settings(deadline=None)
@given(dense_codes())
def test_words_pickles_and_copies_come_back_equal(drawn):
    dense, signed = drawn
    codes = Codes.from_dense(dense, signed=signed)
    for other in (
        Codes(codes.words, codes.n_bits, signed=signed),
        pickle.loads(pickle.dumps(codes)),  # noqa: S301 - our own bytes
        copy.copy(codes),
        copy.deepcopy(codes),
    ):
        assert other == codes
        assert not other.words.flags.writeable


@settings(deadline=None)
@given(dense_codes())
def test_active_and_unique_codes_are_counted(drawn):
    dense, signed = drawn
    codes = Codes.from_dense(dense, signed=signed)
    assert codes.n_active.tolist() == [int(np.sum(row != 0)) for row in dense]
    assert codes.n_unique == len({tuple(row) for row in dense.tolist()})


def test_bit_j_is_bit_j_of_its_word_and_the_minus_plane_comes_last():
    dense = np.zeros((1, 70), int)
    dense[0, [0, 3, 65]] = 1
    assert Codes.from_dense(dense).words.tolist() == [[0b1001, 0b10]]
    dense[0, 3] = -1
    assert Codes.from_dense(dense, signed=True).words.tolist() == [[0b1, 0b10, 0b1000, 0]]


def test_words_per_code_counts_both_planes():
    assert [words_per_code(n, signed=False) for n in (1, 64, 65, 1024)] == [1, 1, 2, 16]
    assert [words_per_code(n, signed=True) for n in (1, 64, 65, 1024)] == [2, 2, 4, 32]
    assert words_per_code(0, signed=False) == 0


@settings(deadline=None)
@given(nested_codes())
def test_rank_bits_are_packed_like_a_plane_of_their_own(drawn):
    bucket, signed, rank = drawn
    codes = Codes.from_dense(bucket, signed=signed, rank=rank)
    n, n_bucket_bits, n_rank_bits = *bucket.shape, rank.shape[1]
    assert (len(codes), codes.n_bits, codes.signed) == (n, n_bucket_bits + n_rank_bits, signed)
    assert (codes.n_bucket_bits, codes.n_rank_bits) == (n_bucket_bits, n_rank_bits)
    np.testing.assert_array_equal(codes.words, naive_words(bucket, signed=signed))
    np.testing.assert_array_equal(codes.rank_words, naive_words(rank, signed=False))
    assert codes.rank_words.dtype == np.uint64
    assert codes.rank_to_dense().dtype == np.int8
    np.testing.assert_array_equal(codes.to_dense(), bucket)
    np.testing.assert_array_equal(codes.rank_to_dense(), rank)
    assert codes.without_rank() == Codes.from_dense(bucket, signed=signed)
    assert codes.n_active.tolist() == np.abs(bucket).sum(axis=1).tolist()
    assert codes.n_unique == len({tuple(row) for row in bucket.tolist()})


@settings(deadline=None)
@given(nested_codes())
def test_bytes_hold_the_bucket_then_the_rank_bits_each_in_whole_bytes(drawn):
    bucket, signed, rank = drawn
    codes = Codes.from_dense(bucket, signed=signed, rank=rank)
    planes = [*naive_planes(bucket, signed=signed), rank]
    expected = [np.packbits(plane, axis=1, bitorder="little") for plane in planes]
    np.testing.assert_array_equal(codes.to_bytes(), np.concatenate(expected, axis=1))
    again = Codes.from_bytes(
        codes.to_bytes(), codes.n_bits, signed=signed, n_rank_bits=codes.n_rank_bits
    )
    assert again == codes


@settings(deadline=None)
@given(nested_codes())
def test_nested_codes_come_back_from_words_pickles_copies_and_files(tmp_path_factory, drawn):
    bucket, signed, rank = drawn
    codes = Codes.from_dense(bucket, signed=signed, rank=rank)
    ids, path = np.arange(len(codes)) - 3, tmp_path_factory.mktemp("codes") / "nested.kinhash"
    codes.save(path, ids, made_by="x")
    stored = Codes.load(path)
    assert (stored.ids.tolist(), stored.made_by) == (ids.tolist(), "x")
    for other in (
        stored.codes,
        Codes(
            codes.words,
            codes.n_bits,
            signed=signed,
            rank_words=codes.rank_words,
            n_rank_bits=codes.n_rank_bits,
        ),
        pickle.loads(pickle.dumps(codes)),  # noqa: S301 - our own bytes
        copy.copy(codes),
        copy.deepcopy(codes),
    ):
        assert other == codes
        assert not other.words.flags.writeable
        assert not other.rank_words.flags.writeable


@given(st.lists(st.text(min_size=1).filter(lambda name: "\0" not in name), unique=True))
def test_strings_come_back_from_files(tmp_path_factory, names):
    names = [name for name in names if name.isprintable()]
    path = tmp_path_factory.mktemp("codes") / "codes.kinhash"
    codes = random_codes(len(names), 70)
    codes.save(path, names)
    stored = Codes.load(path)
    assert stored.codes == codes
    assert stored.ids.tolist() == names


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([7, 8, 7], r"`ids` hold 7 twice, in rows 0 and 2\. Give each item an id of its own\."),
        (["a", "b", "b"], r"`ids` hold 'b' twice, in rows 1 and 2"),
        (["a", "b"], "`ids` must be one for each of 3 codes, got 2"),
        (["a", "b", 3], "`ids` must be all integers or all strings, got 'a' in row 0 and 3 in"),
        (["a", "b", ""], "`ids` must not be empty strings, got one in row 2"),
    ],
)
def test_ids_that_do_not_fit_are_not_stored(tmp_path, ids, message):
    with pytest.raises(InvalidInputError, match=message):
        random_codes(3, 8).save(tmp_path / "codes.kinhash", ids)
    assert not list(tmp_path.iterdir())


def test_nested_codes_by_hand():
    codes = Codes.from_dense([[1, 0, -1]], signed=True, rank=[[0, 1, 1, 0, 0, 0, 0, 0, 1]])
    assert codes.words.tolist() == [[0b001, 0b100]]
    assert codes.rank_words.tolist() == [[0b100000110]]
    assert codes.to_bytes().tolist() == [[0b001, 0b100, 0b00000110, 0b1]]
    assert repr(codes) == "Codes(n=1, n_bits=12, n_rank_bits=9, signed=True, active=2.0)"


def test_codes_without_rank_bits_have_rank_words_without_columns():
    codes = random_codes(3, 70)
    assert (codes.n_rank_bits, codes.n_bucket_bits) == (0, 70)
    assert codes.rank_words.shape == codes.rank_to_dense().shape == (3, 0)
    assert codes.without_rank() == codes
    assert Codes.from_dense(codes.to_dense(), rank=np.zeros((3, 0))) == codes


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float32, float])
def test_any_number_type_and_memory_layout_packs_alike(dtype):
    dense = random_dense(6, 70)
    expected = Codes.from_dense(dense)
    assert Codes.from_dense(dense.astype(dtype)) == expected
    assert Codes.from_dense(np.asfortranarray(dense, dtype)) == expected
    assert Codes.from_dense(np.repeat(dense, 2, axis=1).astype(dtype)[:, ::2]) == expected
    assert Codes.from_dense(dense.astype(dtype).tolist()) == expected


def test_words_in_any_memory_layout_are_taken():
    codes = random_codes(6, 130)
    assert Codes(np.asfortranarray(codes.words), 130) == codes
    assert Codes(np.repeat(codes.words, 2, axis=0)[::2], 130) == codes


@UNSIGNED_AND_SIGNED
def test_no_codes_are_codes_too(signed):
    codes = Codes.from_dense(np.empty((0, 70)), signed=signed)
    assert len(codes) == 0
    assert codes.n_unique == 0
    assert codes.n_active.shape == (0,)
    assert codes.to_dense().shape == (0, 70)
    assert list(codes) == []
    assert repr(codes) == f"Codes(n=0, n_bits=70, signed={signed}, active=-)"
    assert Codes.from_bytes(codes.to_bytes(), 70, signed=signed) == codes
    assert Codes(codes.words, 70, signed=signed) == codes


def test_words_cannot_be_written_to():
    codes = random_codes(4, 64)
    nested = Codes.from_dense(random_dense(4, 64), rank=random_dense(4, 9))
    for part in (codes, codes[1:3], codes[[0, 2]], codes[0], Codes.concatenate([codes, codes])):
        with pytest.raises(ValueError, match="read-only"):
            part.words[0, 0] = 1
    for part in (nested, nested[1:3], nested[[0, 2]], Codes.concatenate([nested, nested])):
        with pytest.raises(ValueError, match="read-only"):
            part.rank_words[0, 0] = 1


def test_later_changes_of_the_callers_arrays_do_not_reach_the_codes():
    dense, words = random_dense(4, 64, seed=1), random_codes(4, 64, seed=1).words.copy()
    raw = random_codes(4, 64, seed=1).to_bytes()
    read_only = words.view()
    read_only.flags.writeable = False
    made = [
        Codes.from_dense(dense),
        Codes(words, 64),
        Codes(read_only, 64),
        Codes.from_bytes(raw, 64),
    ]
    dense[:], words[:], raw[:] = 0, 0, 0
    assert made == [random_codes(4, 64, seed=1)] * 4
    assert dense.flags.writeable
    assert words.flags.writeable
    assert raw.flags.writeable


def test_read_only_words_are_shared_not_copied():
    codes = random_codes(4, 64)
    assert np.shares_memory(Codes(codes.words, 64).words, codes.words)
    assert np.shares_memory(codes[1:].words, codes.words)
    nested = Codes.from_dense(random_dense(4, 64), rank=random_dense(4, 9))
    assert np.shares_memory(nested[1:].rank_words, nested.rank_words)
    assert np.shares_memory(nested.without_rank().words, nested.words)


ROWS = [
    slice(None),
    slice(1, 4),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(5, 2),
    [3, 0, 3],
    [],
    np.array([-1, 1]),
    np.arange(6) % 2 == 0,
]


@UNSIGNED_AND_SIGNED
@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_rows_are_taken_as_numpy_takes_them(rows, signed):
    dense = random_dense(6, 70, signed=signed)
    taken = Codes.from_dense(dense, signed=signed)[rows]
    np.testing.assert_array_equal(taken.to_dense(), dense[rows])
    np.testing.assert_array_equal(taken.words, naive_words(dense[rows], signed=signed))
    assert Codes.from_bytes(taken.to_bytes(), 70, signed=signed) == taken
    assert (taken.n_bits, taken.signed) == (70, signed)
    rank = random_dense(6, 130, seed=1)
    nested = Codes.from_dense(dense, signed=signed, rank=rank)[rows]
    assert nested == Codes.from_dense(dense[rows], signed=signed, rank=rank[rows])


@pytest.mark.parametrize("row", [0, 5, -1, -6, np.int64(2)])
def test_one_row_is_a_batch_of_one(row):
    codes = random_codes(6, 70)
    assert len(codes[row]) == 1
    np.testing.assert_array_equal(codes[row].words[0], codes.words[row])


def test_iteration_gives_batches_of_one():
    codes = random_codes(3, 70)
    assert list(codes) == [codes[0], codes[1], codes[2]]


@pytest.mark.parametrize("row", [6, -7, np.int64(6)])
def test_a_row_out_of_range_is_an_index_error_with_both_numbers(row):
    with pytest.raises(IndexError, match=rf"There is no row {row} of 6 codes"):
        random_codes(6, 70)[row]


@pytest.mark.parametrize(
    "rows",
    [
        (0, 0),
        (slice(None), 0),
        (slice(None), slice(1)),
        (slice(None), slice(None, None, -1)),
        (slice(None), [1, 0]),
        (),
        (0,),
        None,
        Ellipsis,
        True,
        np.True_,
        1.0,
        np.float32(1),
        [0.0, 1.0],
        "0",
        ["0"],
        [[0, 1], [2, 3]],
        [[0], [1, 2]],
        np.ones((6, 2), bool),
        np.zeros((0, 2), np.int64),
        {0},
    ],
    ids=str,
)
def test_only_rows_can_be_indexed(rows):
    for codes in (random_codes(6, 70), random_codes(6, 70)[:0]):
        with pytest.raises(IndexError, match="Codes are indexed by row: an int, a slice, a mask"):
            codes[rows]


@pytest.mark.parametrize("length", [0, 1, 5, 7])
def test_a_mask_has_an_entry_for_each_code(length):
    with pytest.raises(IndexError, match=f"over 6 codes must have 6 entries, got {length}"):
        random_codes(6, 70)[np.ones(length, bool)]


@pytest.mark.parametrize("rows", [[0, 6], [-7], np.array([2**63], np.uint64)])
def test_row_numbers_out_of_range_are_named(rows):
    with pytest.raises(IndexError, match=rf"There is no row {rows[-1]} of 6 codes"):
        random_codes(6, 70)[rows]


def test_a_reversed_batch_has_whole_codes():
    codes = random_codes(6, 70)
    np.testing.assert_array_equal(codes[::-1].to_dense(), codes.to_dense()[::-1])
    assert Codes(codes[::-1].words, 70) == codes[::-1]


def test_concatenation_keeps_order():
    codes = random_codes(6, 70)
    assert Codes.concatenate([codes[:2], codes[2:2], codes[2:]]) == codes
    nested = Codes.from_dense(random_dense(6, 70), rank=random_dense(6, 9))
    assert Codes.concatenate([nested[:2], nested[2:2], nested[2:]]) == nested


def test_concatenating_needs_comparable_parts():
    with pytest.raises(InvalidInputError, match="at least one batch"):
        Codes.concatenate([])
    with pytest.raises(InvalidInputError, match=r"48 bits but .* 64-bit codes"):
        Codes.concatenate([random_codes(2, 64), random_codes(2, 48)])
    nested = Codes.from_dense(random_dense(2, 64), rank=random_dense(2, 9))
    with pytest.raises(InvalidInputError, match=r"9 rank bits but the first part .* with 0\."):
        Codes.concatenate([random_codes(2, 64), nested])


def test_equality_looks_at_kind_length_and_content():
    codes = random_codes(6, 64)
    assert codes == random_codes(6, 64)
    assert codes != codes[:5]
    assert codes != codes[::-1]
    assert Codes.from_dense(np.zeros((6, 64))) != Codes.from_dense(np.zeros((6, 63)))
    assert Codes.from_dense([[1]]) != Codes.from_dense([[1]], signed=True)
    assert codes != "codes"
    bucket, rank = random_dense(6, 64), random_dense(6, 9, seed=1)
    nested = Codes.from_dense(bucket, rank=rank)
    assert nested == Codes.from_dense(bucket, rank=rank)
    assert nested != codes
    assert nested != Codes.from_dense(bucket, rank=1 - rank)
    assert nested != Codes.from_dense(bucket, rank=rank[:, :8])
    assert nested != Codes.from_dense(1 - bucket, rank=rank)
    with pytest.raises(TypeError, match="unhashable"):
        hash(codes)


def test_repr_shows_size_kind_and_sparsity():
    codes = Codes.from_dense([[0, 1, 1], [0, 0, 0]])
    assert repr(codes) == "Codes(n=2, n_bits=3, signed=False, active=1.0)"


@pytest.mark.parametrize("n_bits", [0, -1, 4097, 64.0, "64", True])
def test_n_bits_out_of_range_is_refused_with_the_range(n_bits):
    for make in (
        lambda: Codes(np.zeros((1, 1), np.uint64), n_bits),
        lambda: Codes.from_bytes(np.zeros((1, 8), np.uint8), n_bits),
    ):
        with pytest.raises(InvalidInputError, match=rf"integer in \[1, 4096\], got {n_bits!r}"):
            make()


@pytest.mark.parametrize("n_rank_bits", [-1, 4097, 1.0, "1", None, True])
def test_n_rank_bits_out_of_range_is_refused_with_the_range(n_rank_bits):
    message = rf"`n_rank_bits` must be an integer in \[0, 4096\], got {n_rank_bits!r}"
    with pytest.raises(InvalidInputError, match=message):
        Codes(np.zeros((1, 1), np.uint64), 64, n_rank_bits=n_rank_bits)
    if n_rank_bits is not None:  # as 0, if `n_bits` need not be inferred
        with pytest.raises(InvalidInputError, match=message):
            Codes.from_bytes(np.zeros((1, 8), np.uint8), 64, n_rank_bits=n_rank_bits)


@pytest.mark.parametrize("n_rank_bits", [8, 9])
def test_a_code_has_at_least_one_bucket_bit(n_rank_bits):
    message = rf"`n_rank_bits` must be less than the 8 bits of a code, .* got {n_rank_bits}\."
    words = np.zeros((1, 1), np.uint64)
    with pytest.raises(InvalidInputError, match=message):
        Codes(words, 8, rank_words=words, n_rank_bits=n_rank_bits)
    with pytest.raises(InvalidInputError, match=message):
        Codes.from_bytes(np.zeros((1, 2), np.uint8), 8, n_rank_bits=n_rank_bits)
    with pytest.raises(InvalidInputError, match=r"less than the 3 bits of a code, .* got 3"):
        Codes.from_dense(np.zeros((1, 0)), rank=np.zeros((1, 3)))


@pytest.mark.parametrize("n_bits", [0, 4097])
def test_dense_arrays_of_too_few_or_many_bits_are_refused(n_bits):
    with pytest.raises(InvalidInputError, match=rf"\[1, 4096\], got {n_bits}"):
        Codes.from_dense(np.zeros((2, n_bits)))


def test_a_code_has_at_most_4096_stored_bits():
    assert Codes.from_dense(np.zeros((1, 2048)), signed=True).words.shape == (1, 64)
    assert (
        Codes.from_dense(np.zeros((1, 1024)), signed=True, rank=np.zeros((1, 2048))).n_bits == 3072
    )
    message = "at most 4096 stored bits, got {}: a signed entry takes two. Use shorter codes."
    with pytest.raises(InvalidInputError, match=message.format(4098)):
        Codes.from_dense(np.zeros((1, 2049)), signed=True)
    with pytest.raises(InvalidInputError, match=message.format(4097)):
        Codes.from_dense(np.zeros((1, 1024)), signed=True, rank=np.zeros((1, 2049)))
    with pytest.raises(InvalidInputError, match=r"\[1, 4096\], got 4097"):
        Codes.from_dense(np.zeros((1, 4000)), rank=np.zeros((1, 97)))


@pytest.mark.parametrize(
    ("value", "signed", "message"),
    [
        (2, False, r"only 0, 1, got 2\.$"),
        (2, True, r"only -1, 0, 1, got 2\.$"),
        (-1, False, r"only 0, 1, got -1\. Pass signed=True for -1\.$"),
        (-2, True, r"only -1, 0, 1, got -2\.$"),
        (0.5, False, r"only 0, 1, got 0\.5\.$"),
        (256, False, r"only 0, 1, got 256\.$"),
        (-255, True, r"only -1, 0, 1, got -255\.$"),
        (2.0**40, False, r"only 0, 1, got 1099511627776\.0\.$"),
        (np.nan, False, r"only 0, 1, got nan\.$"),
        (np.inf, True, r"only -1, 0, 1, got inf\.$"),
    ],
)
def test_other_values_are_refused_by_value(value, signed, message):
    with pytest.raises(InvalidInputError, match=f"`bucket` must hold {message}"):
        Codes.from_dense([[0, value, 1]], signed=signed)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("value", [-1, 2, 0.5, np.nan])
def test_rank_bits_are_0_and_1_only(value, signed):
    with pytest.raises(InvalidInputError, match=rf"^`rank` must hold only 0, 1, got {value}\.$"):
        Codes.from_dense([[0, 1]], signed=signed, rank=[[0, value]])


@pytest.mark.parametrize(
    ("rank", "message"),
    [
        ([0, 1], r"`rank` must be 2-dimensional, got shape \(2,\)"),
        ([["0"], ["1"]], "`rank` must hold numbers, got dtype <U1"),
        ([[0], [1], [1]], "`bucket` and `rank` must have as many rows, got 2 and 3"),
    ],
)
def test_rank_bits_of_another_shape_or_type_are_refused(rank, message):
    with pytest.raises(InvalidInputError, match=message):
        Codes.from_dense([[0, 1], [1, 1]], rank=rank)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([0, 1], r"2-dimensional, got shape \(2,\)"),
        (np.zeros((1, 2, 3)), r"2-dimensional, got shape \(1, 2, 3\)"),
        ([["0", "1"]], r"numbers, got dtype <U1"),
        (np.zeros((1, 2), complex), r"numbers, got dtype complex128"),
    ],
)
def test_other_shapes_and_types_are_refused_with_what_came(array, message):
    with pytest.raises(InvalidInputError, match=message):
        Codes.from_dense(array)


@pytest.mark.parametrize(
    ("words", "signed", "message"),
    [
        (
            np.zeros((2, 1), np.uint64),
            False,
            r"70-bit unsigned .* \(n, 2\), got uint64 .* \(2, 1\)",
        ),
        (np.zeros((2, 2), np.uint64), True, r"70-bit signed .* \(n, 4\), got uint64 .* \(2, 2\)"),
        (np.zeros((2, 2), np.int64), False, r"got int64 of shape \(2, 2\)"),
        (np.zeros(2, np.uint64), False, r"got uint64 of shape \(2,\)"),
        (np.zeros((2, 2), ">u8"), False, r"got >u8"),
    ],
)
def test_words_of_another_shape_or_type_are_refused_with_both(words, signed, message):
    with pytest.raises(InvalidInputError, match=message):
        Codes(words, 70, signed=signed)


def test_words_with_bits_beyond_the_code_are_refused_in_both_planes():
    with pytest.raises(InvalidInputError, match="beyond the 70 bits"):
        Codes(np.array([[0, 1 << 6]], np.uint64), 70)
    with pytest.raises(InvalidInputError, match="beyond the 70 bits"):
        Codes(np.array([[0, 1 << 6, 0, 0]], np.uint64), 70, signed=True)
    with pytest.raises(InvalidInputError, match="beyond the 3 bits"):
        Codes.from_bytes(np.array([[0b1000]], np.uint8), 3)
    assert len(Codes(np.array([[2**64 - 1]], np.uint64), 64)) == 1
    rank = np.array([[1 << 6]], np.uint64)
    with pytest.raises(InvalidInputError, match="`rank_words` set bits beyond the 6 bits"):
        Codes(np.zeros((1, 1), np.uint64), 64, rank_words=rank, n_rank_bits=6)
    with pytest.raises(InvalidInputError, match="`words` set bits beyond the 6 bits"):
        Codes(rank, 8, rank_words=np.zeros((1, 1), np.uint64), n_rank_bits=2)
    with pytest.raises(InvalidInputError, match="`rank_words` set bits beyond the 3 bits"):
        Codes.from_bytes(np.array([[0b1, 0b1000]], np.uint8), 6, n_rank_bits=3)


@pytest.mark.parametrize(
    ("rank_words", "message"),
    [
        (None, r"codes with 70 rank bits must be uint64 of shape \(n, 2\), .* shape \(2, 0\)"),
        (np.zeros((2, 1), np.uint64), r"`rank_words` of .* \(n, 2\), got uint64 .* \(2, 1\)"),
        (np.zeros((2, 2), np.int64), r"`rank_words` of .* got int64 of shape \(2, 2\)"),
        (np.zeros(2, np.uint64), r"`rank_words` of .* got uint64 of shape \(2,\)"),
        (np.zeros((3, 2), np.uint64), "`rank_words` must be as many as `words`, got 3 and 2"),
    ],
)
def test_rank_words_of_another_shape_or_type_are_refused_with_both(rank_words, message):
    with pytest.raises(InvalidInputError, match=message):
        Codes(np.zeros((2, 1), np.uint64), 80, rank_words=rank_words, n_rank_bits=70)


def test_rank_words_without_rank_bits_are_refused():
    words = np.zeros((2, 1), np.uint64)
    with pytest.raises(InvalidInputError, match=r"with 0 rank bits must be .* \(n, 0\), got"):
        Codes(words, 64, rank_words=words)


def test_an_entry_cannot_be_plus_and_minus_one():
    with pytest.raises(InvalidInputError, match=r"\+1 and -1 at once"):
        Codes(np.array([[0b10, 0b11]], np.uint64), 2, signed=True)


@pytest.mark.parametrize(
    ("array", "signed", "message"),
    [
        (np.zeros((2, 8), np.uint8), False, r"\(n, 9\) for 70 bits, got uint8 of shape \(2, 8\)"),
        (np.zeros((2, 9), np.uint8), True, r"\(n, 18\) for 70 bits, got uint8 of shape \(2, 9\)"),
        (np.zeros((2, 9), np.int16), False, r"got int16 of shape \(2, 9\)"),
    ],
)
def test_bytes_of_another_shape_or_type_are_refused_with_both(array, signed, message):
    with pytest.raises(InvalidInputError, match=message):
        Codes.from_bytes(array, 70, signed=signed)


def test_the_shape_of_bytes_with_rank_bits_is_said():
    message = r"\(n, 5\) for 30 bits, 10 of them rank, got uint8 of shape \(2, 4\)"
    with pytest.raises(InvalidInputError, match=message):
        Codes.from_bytes(np.zeros((2, 4), np.uint8), 30, n_rank_bits=10)
    with pytest.raises(InvalidInputError, match=r"\(n, 8\) for 30 bits, 10 of them rank, got"):
        Codes.from_bytes(np.zeros((2, 5), np.uint8), 30, signed=True, n_rank_bits=10)


def test_n_bits_is_inferred_only_without_signs_and_rank_bits():
    raw = random_codes(4, 72).to_bytes()
    assert Codes.from_bytes(raw) == random_codes(4, 72)
    for options in ({"signed": True}, {"n_rank_bits": 8}):
        with pytest.raises(InvalidInputError, match=r"cannot be inferred .* Pass n_bits=\."):
            Codes.from_bytes(raw, **options)
    with pytest.raises(InvalidInputError, match=r"got uint8 of shape \(36,\)"):
        Codes.from_bytes(raw.ravel())


def test_int8_means_value_plus_128_as_in_sentence_transformers():
    # quantize_embeddings(precision="binary") is np.packbits(embeddings > 0) - 128 as int8. NumPy
    # packs the first entry into the highest bit unless told otherwise; distances are the same.
    embeddings = np.random.default_rng(0).normal(size=(5, 1024))
    packed = np.packbits(embeddings > 0, axis=1)
    binary = (packed.astype(np.int16) - 128).astype(np.int8)
    assert binary.min() == -128
    assert binary.max() == 127
    codes = Codes.from_bytes(binary)
    assert codes == Codes.from_bytes(packed)
    assert codes.n_bits == 1024
    expected = (embeddings > 0).reshape(5, 128, 8)[:, :, ::-1].reshape(5, 1024)
    np.testing.assert_array_equal(codes.to_dense(), expected)
    nested = Codes.from_bytes(binary, 1024, n_rank_bits=512)
    np.testing.assert_array_equal(nested.rank_to_dense(), expected[:, 512:])


def test_incomparable_codes_are_refused_with_both_sides():
    long, short = random_codes(2, 64), random_codes(2, 48)
    with pytest.raises(
        InvalidInputError,
        match=r"`queries` have 64 bits but the index has 48-bit codes\. Encode both",
    ):
        long.check_comparable(short, "`queries`", "the index")
    with pytest.raises(
        InvalidInputError, match=r"`queries` are unsigned but the index has signed codes"
    ):
        long.check_comparable(random_codes(2, 64, signed=True), "`queries`", "the index")
    long.check_comparable(long[:0], "`queries`", "the index")
    nested = Codes.from_dense(random_dense(2, 64), rank=random_dense(2, 9))
    advice = (
        r"\. Encode both with the same encoder, or drop rank bits with codes\.without_rank\(\)\."
    )
    for queries, index, numbers in (
        (long, nested, "0 rank bits but the index has codes with 9"),
        (nested, long, "9 rank bits but the index has codes with 0"),
    ):
        with pytest.raises(InvalidInputError, match=f"^`queries` have {numbers}{advice}$"):
            queries.check_comparable(index, "`queries`", "the index")
    nested.without_rank().check_comparable(long, "`queries`", "the index")
    # Of a bucket of another length, the bucket's lengths are named: not those of both parts.
    with pytest.raises(
        InvalidInputError, match="`queries` have 64 bucket bits but the index has 73-bit buckets"
    ):
        nested.check_comparable(random_codes(2, 73), "`queries`", "the index")


def test_a_file_without_all_rank_words_is_refused(tmp_path):
    nested = Codes.from_dense(random_dense(4, 64), rank=random_dense(4, 9))
    path = tmp_path / "nested.kinhash"
    nested.save(path)
    header, arrays = storage.read(path)
    for entries, changed, message in (
        ({}, {"words": arrays["words"]}, r"codes with 9 rank bits .* \(n, 1\), .* \(4, 0\)"),
        ({}, arrays | {"rank_words": arrays["rank_words"][:3]}, "got 3 and 4"),
        ({"n_bits": 64, "n_rank_bits": 0}, arrays, r"with 0 rank bits .* \(n, 0\)"),
        ({"n_rank_bits": 70}, arrays, "`words` set bits beyond the 3 bits of a code"),
        ({"n_rank_bits": 73}, arrays, "must be less than the 73 bits of a code"),
        ({"n_rank_bits": 1.5}, arrays, "`n_rank_bits` must be an integer, the file has 1.5"),
        ({"n_rank_bits": -1}, arrays, r"in \[0, 4096\], got -1"),
    ):
        storage.write(path, header | entries, changed)
        with pytest.raises(FormatError, match=message):
            Codes.load(path)


def test_invalid_input_is_both_a_value_error_and_a_kinhash_error():
    with pytest.raises(ValueError, match="2-dimensional") as caught:
        Codes.from_dense([0])
    assert isinstance(caught.value, KinhashError)


def test_docstring_examples_run():
    result = doctest.testmod(kinhash.codes)
    assert result.attempted > 0
    assert result.failed == 0
