import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import kinhash
from kinhash import Pairs, SparseHash
from kinhash.errors import ConstantColumnWarning, FormatError, InvalidInputError
from kinhash.methods import ITQ, LSH, METHODS, ClassCode, Nested, NNHash
from kinhash.methods.nested import FLAT_METHODS
from kinhash.storage import read, write

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


@pytest.fixture(scope="module")
def data(digits):
    X, y = digits
    return X[:300], y[:300]


def test_both_parts_are_those_of_the_methods_alone(data):
    X, y = data
    model = Nested(ClassCode(C=2.0), LSH(), n_bits=30, n_rank_bits=10, seed=3).fit(X, y)
    codes = model.encode(X)
    assert codes.without_rank() == ClassCode(20, C=2.0, seed=3).fit(X, y).encode(X)
    assert np.array_equal(codes.rank_to_dense(), LSH(n_bits=10, seed=3).fit(X).encode(X).to_dense())
    assert (codes.n_bits, codes.n_rank_bits) == (30, 10)
    assert (model.bucket_.n_bits, model.rank_.n_bits) == (20, 10)


def test_the_methods_that_were_given_stay_as_they_were(data):
    bucket, rank = ClassCode(n_bits=11, seed=7), LSH(n_bits=13)
    model = Nested(bucket, rank, n_bits=30, n_rank_bits=10).fit(*data)
    assert (bucket.n_bits, bucket.seed, rank.n_bits) == (11, 7, 13)
    assert not hasattr(bucket, "encoder_")
    assert model.bucket is bucket


def test_by_default_classes_are_ordered_by_principal_components(data):
    model = Nested(n_bits=40, n_rank_bits=20).fit(*data)
    assert type(model.bucket_) is ClassCode
    assert type(model.rank_) is ITQ
    assert (model.bucket, model.rank) == (None, None)


def test_transform_gives_the_bucket(data):
    X, y = data
    model = Nested(rank=LSH(), n_bits=30, n_rank_bits=10).fit(X, y)
    S = model.transform(X)
    assert scipy.sparse.issparse(S)
    assert (S.shape, S.dtype, S.format) == ((300, 20), np.int8, "csr")
    assert np.array_equal(S.toarray(), model.encode(X).to_dense())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_signed_bucket_works(data, tmp_path):
    X, y = data
    bucket = SparseHash(recipe="paper", signed=True, max_steps=30)
    model = Nested(bucket, LSH(), n_bits=30, n_rank_bits=10).fit(X, y)
    codes = model.encode(X)
    assert codes.signed
    assert (codes.to_dense() < 0).any()
    model.save(tmp_path / "m")
    assert kinhash.load(tmp_path / "m").encode(X) == codes


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pairs_go_to_the_methods_that_take_them(data):
    X, y = data
    i, j = np.triu_indices(100, 1)
    same = y[i] == y[j]
    pairs = Pairs(i[same], j[same])
    quick = SparseHash(recipe="paper", max_steps=20)
    for rank in (LSH(), NNHash(max_steps=20, n_anchors=20)):
        model = Nested(quick, rank, n_bits=30, n_rank_bits=10).fit(X, pairs=pairs)
        assert model.encode(X).n_bits == 30
    with pytest.raises(InvalidInputError, match="the bucket, ClassCode, does not learn from pairs"):
        Nested(rank=LSH(), n_bits=30, n_rank_bits=10).fit(X, pairs=pairs)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tags_go_to_both(data):
    X, y = data
    tags = np.stack([y % 2, y > 4, y % 3 == 0], axis=1).astype(int)
    rank = NNHash(max_steps=20, n_anchors=20)
    model = Nested(ClassCode(levels=2), rank, n_bits=30, n_rank_bits=10).fit(X, tags)
    assert model.encode(X).n_unique > 2


@pytest.mark.filterwarnings("default::kinhash.errors.ConstantColumnWarning")
def test_constant_columns_are_told_once(data):
    X, y = data
    X = np.column_stack([X, np.ones(len(X))])
    with pytest.warns(ConstantColumnWarning) as caught:
        Nested(rank=LSH(), n_bits=30, n_rank_bits=10).fit(X, y)
    assert len(caught) == 1


def test_parameters_of_parts_are_set_and_cloned_as_in_scikit_learn():
    model = Nested(ClassCode(levels=3), LSH())
    assert model.get_params()["bucket__levels"] == 3
    assert clone(model).set_params(bucket__levels=2).bucket.levels == 2
    assert model.bucket.levels == 3


def test_files_hold_both_methods_and_their_parameters(data, tmp_path):
    X, y = data
    model = Nested(ClassCode(levels=2, temperature=0.5), n_bits=40, n_rank_bits=20, seed=4)
    model.fit(X, y).save(tmp_path / "m")
    loaded = kinhash.load(tmp_path / "m")
    assert type(loaded) is Nested
    assert loaded.encode(X) == model.encode(X)
    assert loaded.encoder_.fingerprint == model.encoder_.fingerprint
    assert loaded.rank is None
    assert loaded.bucket.get_params() == ClassCode(levels=2, temperature=0.5).get_params()
    for fitted, before in ((loaded.bucket_, model.bucket_), (loaded.rank_, model.rank_)):
        assert fitted.get_params() == before.get_params()
        assert fitted.encode(X) == before.encode(X)
    header, arrays = read(tmp_path / "m")
    assert header["parameters"]["bucket"]["method"] == "classcode"
    assert header["parameters"]["bucket"]["parameters"]["levels"] == 2
    assert {name.partition("/")[0] for name in arrays} == {"bucket", "rank"}


def test_what_is_wrong_in_a_file_is_said(data, tmp_path):
    Nested(rank=LSH(), n_bits=30, n_rank_bits=10).fit(*data).save(tmp_path / "m")
    header, arrays = read(tmp_path / "m")
    rank = header["rank"]
    own = {"method": "lsh", "parameters": {"n_bits": 3, "seed": 0}}
    for changed, message in [
        ({"rank": rank | {"method": "nested"}}, "a part is a 'nested'; this release knows"),
        ({"rank": 3}, "`rank` must be an object, the file has 3"),
        ({"rank": rank | {"encoder": "x"}}, "the rank: Unknown encoder 'x'"),
        (
            {"parameters": header["parameters"] | {"n_rank_bits": 9}},
            "`n_rank_bits` must be 10, as the rank has it, the file has 9",
        ),
        (
            {"parameters": header["parameters"] | {"n_bits": 31}},
            "`n_bits` must be 30, as the encoder has it, the file has 31",
        ),
        (
            {"parameters": header["parameters"] | {"bucket": own | {"more": 1}}},
            "`bucket` must be null or an object with `method` and `parameters`",
        ),
        (
            {"parameters": header["parameters"] | {"bucket": own | {"parameters": {"a": 1}}}},
            "LSH has no parameter 'a'",
        ),
        ({"encoder": "linear"}, "the entry 'encoder' is unknown"),
    ]:
        write(tmp_path / "changed", header | changed, arrays)
        with pytest.raises(FormatError, match=message):
            kinhash.load(tmp_path / "changed")
    write(tmp_path / "changed", header, arrays | {"other/W": np.zeros(3, np.float32)})
    with pytest.raises(FormatError, match="the array 'other/W' is unknown"):
        kinhash.load(tmp_path / "changed")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bits": 1}, r"`n_bits` must be an integer in \[2, 4096\], got 1"),
        ({"n_rank_bits": 0}, r"`n_rank_bits` must be an integer in \[1, 63\], got 0"),
        ({"n_rank_bits": 64}, r"`n_rank_bits` must be an integer in \[1, 63\], got 64"),
        ({"seed": -1}, "`seed` must be an integer of at least 0"),
        ({"bucket": "lsh"}, r"`bucket` must be a method .* such as ClassCode\(\), .* got 'lsh'"),
        (
            {"bucket": SparseHash(n_rank_bits=8)},
            "`bucket` must be .* of one part, got 8 as its `n_rank_bits`. Leave that out",
        ),
        ({"rank": Nested()}, r"`rank` must be a method .* such as ITQ\(\), .* another Nested"),
        (
            {"rank": SparseHash(recipe="paper", signed=True)},
            "`rank` must be a method of unsigned codes",
        ),
        (
            {"bucket": SparseHash(recipe="paper", signed=True), "n_bits": 4000},
            "at most 4096 bits are stored, got 7968",
        ),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(data, parameters, message):
    model = Nested().set_params(**parameters)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*data)
    assert not hasattr(model, "encoder_")


def test_a_rank_that_refuses_the_data_leaves_the_method_as_it_was(data):
    X, y = data
    model = Nested(rank=LSH(), n_bits=30, n_rank_bits=10).fit(X, y)
    before = model.encode(X)
    model.set_params(rank=ITQ(), n_rank_bits=20)
    with pytest.raises(InvalidInputError, match="`n_bits` must be at most 3"):
        model.fit(X[:, 2:5], y)
    model.set_params(n_rank_bits=10)
    assert model.encode(X) == before
    assert type(model.rank_) is LSH


def test_every_flat_method_is_in_the_table():
    assert {**FLAT_METHODS, "nested": Nested} == METHODS
