import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from kinhash.datasets import Dataset
from kinhash.datasets.dataset import rows_of, vectors_of, with_modalities
from kinhash.errors import InvalidInputError


def labelled(labels):
    return Dataset("toy", np.ones((len(labels), 2), dtype=np.float32), labels=np.asarray(labels))


def test_its_length_is_the_number_of_vectors():
    assert len(labelled([0, 1, 0])) == 3


def test_it_cannot_be_reassigned():
    with pytest.raises(AttributeError):
        labelled([0, 1]).vectors = np.zeros((2, 2), dtype=np.float32)


def test_ten_classes_of_6000_give_200_training_items_and_100_queries_each():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))
    part = labelled(labels).split(seed=0)
    np.testing.assert_array_equal(np.bincount(labels[part.train]), [200] * 10)
    np.testing.assert_array_equal(np.bincount(labels[part.query]), [100] * 10)
    assert len(part.database) == 59_000


def test_a_small_class_gives_a_sixth_to_queries_and_half_to_training():
    labels = np.array([0] * 120 + [1] * 13 + [2] * 5 + [3])
    part = labelled(labels).split(n_train=50, n_query=10)
    np.testing.assert_array_equal(np.bincount(labels[part.query], minlength=4), [10, 2, 0, 0])
    np.testing.assert_array_equal(np.bincount(labels[part.train], minlength=4), [50, 6, 2, 0])


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5).filter(lambda n: max(n) >= 6),
    seed=st.integers(0, 2**32),
)
def test_parts_are_sorted_disjoint_and_cover_everything(sizes, seed):
    labels = np.random.default_rng(seed).permutation(
        np.repeat(np.arange(len(sizes)) * 7 - 3, sizes)
    )
    part = labelled(labels).split(seed=seed, n_train=9, n_query=4)
    for rows in (part.train, part.query, part.database):
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()
    assert not set(part.train) & set(part.query)
    assert set(part.train) <= set(part.database)
    assert sorted([*part.query, *part.database]) == list(range(len(labels)))


def test_the_seed_alone_decides_the_split():
    data = labelled(np.arange(300) % 3)
    first = data.split(seed=1)
    np.random.default_rng().random(10)
    again, other = data.split(seed=1), data.split(seed=2)
    np.testing.assert_array_equal(first.train, again.train)
    np.testing.assert_array_equal(first.query, again.query)
    assert not np.array_equal(first.query, other.query)


def test_every_item_of_a_class_may_become_a_query():
    data = labelled(np.zeros(12, dtype=np.int64))
    drawn = {int(row) for seed in range(80) for row in data.split(seed=seed).query}
    assert drawn == set(range(12))


def test_classes_that_are_all_too_small_are_refused():
    with pytest.raises(InvalidInputError, match=r"at least 6 items, .*'toy' has 5"):
        labelled([0] * 5 + [1] * 3).split()


def bare(n):
    return Dataset("bare", np.ones((n, 2), dtype=np.float32))


@pytest.mark.parametrize(("n", "n_query"), [(6, 1), (600, 100), (7000, 1000)])
def test_without_labels_a_sixth_at_most_are_queries_and_the_rest_is_trained_on(n, n_query):
    part = bare(n).split(seed=2)
    assert len(part.query) == n_query
    np.testing.assert_array_equal(part.train, part.database)
    np.testing.assert_array_equal(np.sort(np.append(part.query, part.database)), np.arange(n))
    assert all(np.all(np.diff(rows) > 0) for rows in (part.query, part.train))
    again, other = bare(n).split(seed=2), bare(n).split(seed=3)
    np.testing.assert_array_equal(again.query, part.query)
    assert n == 6 or not np.array_equal(other.query, part.query)


def test_without_labels_numbers_are_of_all_items():
    part = bare(100).split(n_train=20, n_query=5)
    assert (len(part.train), len(part.query), len(part.database)) == (20, 5, 95)
    assert set(part.train) <= set(part.database)
    with pytest.raises(InvalidInputError, match="at least 6 items, but data set 'bare' has 5"):
        bare(5).split()


def tagged(labels):
    labels = np.asarray(labels, dtype=np.uint8)
    return Dataset("tags", np.ones((len(labels), 2), np.float32), labels=labels)


def test_with_a_matrix_each_label_gives_its_own_queries_and_training_items():
    rng = np.random.default_rng(0)
    data = tagged(rng.random((30_000, 21)) < np.linspace(0.05, 0.4, 21))
    part = data.split(seed=0)
    assert len(part.query) == 21 * 100
    assert len(part.train) == 21 * 200
    assert len(part.database) == 30_000 - 2_100
    assert (data.labels[part.query].sum(axis=0) >= 100).all()
    assert (data.labels[part.train].sum(axis=0) >= 200).all()


def test_labels_that_exclude_one_another_are_drawn_from_as_classes_are():
    classes = np.array([0] * 120 + [1] * 13 + [2] * 5 + [3])
    part = tagged(classes[:, None] == np.arange(4)).split(n_train=50, n_query=10)
    np.testing.assert_array_equal(np.bincount(classes[part.query], minlength=4), [10, 2, 0, 0])
    np.testing.assert_array_equal(np.bincount(classes[part.train], minlength=4), [50, 6, 2, 0])


def test_a_rare_label_is_drawn_from_before_the_frequent_ones():
    labels = np.ones((60, 2), dtype=np.uint8)
    labels[12:, 1] = 0
    part = tagged(labels).split(n_query=2)
    assert labels[part.query, 1].sum() >= 2
    assert len(part.query) == 4


def test_the_limit_of_a_label_counts_what_was_drawn_for_others():
    part = tagged(np.ones((60, 5))).split()
    assert len(part.query) == 10
    assert len(part.train) == 30


@given(
    n=st.integers(30, 80),
    n_labels=st.integers(1, 6),
    share=st.floats(0.3, 0.9),
    seed=st.integers(0, 2**32),
)
def test_parts_of_a_tagged_set_are_sorted_disjoint_and_cover_everything(n, n_labels, share, seed):
    labels = np.random.default_rng(seed).random((n, n_labels)) < share
    labels[:6, 0] = True
    part = tagged(labels).split(seed=seed, n_train=9, n_query=4)
    for rows in (part.train, part.query, part.database):
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()
    assert not set(part.train) & set(part.query)
    assert set(part.train) <= set(part.database)
    assert sorted([*part.query, *part.database]) == list(range(n))
    assert labels[part.query].any(axis=1).all()
    assert labels[part.train].any(axis=1).all()


def test_the_seed_alone_decides_the_split_of_a_tagged_set():
    data = tagged(np.random.default_rng(0).random((300, 3)) < 0.5)
    first, again, other = data.split(seed=1), data.split(seed=1), data.split(seed=2)
    np.testing.assert_array_equal(first.train, again.train)
    np.testing.assert_array_equal(first.query, again.query)
    assert not np.array_equal(first.query, other.query)


def test_labels_that_are_all_too_small_are_refused():
    with pytest.raises(InvalidInputError, match=r"a label of at least 6 items, .*'tags' has 5"):
        tagged(np.ones((5, 3))).split()
    with pytest.raises(InvalidInputError, match=r"a label of at least 6 items, .*'tags' has 0"):
        tagged(np.ones((5, 0))).split()


def test_the_split_of_classes_is_that_of_the_first_release():
    """Results are compared between releases: the rows of a seed must never change."""
    part = labelled(np.arange(40) % 2).split(seed=3, n_train=4, n_query=2)
    rng = np.random.default_rng(3)
    drawn = [rng.permutation(np.arange(c, 40, 2)) for c in range(2)]
    np.testing.assert_array_equal(part.query, np.sort([*drawn[0][:2], *drawn[1][:2]]))
    np.testing.assert_array_equal(part.train, np.sort([*drawn[0][2:6], *drawn[1][2:6]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_train": 0}, "`n_train` must be an integer of at least 1, got 0"),
        ({"n_query": 2.5}, r"`n_query` must be an integer of at least 1, got 2\.5"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
    ],
)
def test_impossible_numbers_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        labelled([0] * 20).split(**options)


VECTORS = np.ones((3, 2), dtype=np.float32)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vectors": [[1.0]]}, "`vectors` must be a NumPy array, got list"),
        ({"vectors": VECTORS.astype(float)}, r"`vectors` must be float32 .* got float64"),
        ({"vectors": VECTORS[0]}, r"shape \(n, d\), got float32 of shape \(2,\)"),
        ({"vectors": VECTORS[:0]}, r"at least one row and one column, got \(0, 2\)"),
        ({"labels": np.zeros(4, np.int64)}, "`labels` has 4 items but `vectors` has 3"),
        ({"labels": np.zeros(3, np.int32)}, "`labels` must be int64 .* got int32"),
        ({"labels": [0, 1, 2]}, "`labels` must be a NumPy array, got list"),
        ({"labels": np.zeros((3, 2), np.int64)}, "`labels` must be uint8 .* got int64"),
        ({"labels": np.full((3, 2), 2, np.uint8)}, "must hold 0 and 1 only, got 2"),
        ({"labels": np.arange(3), "names": ("a", "b")}, r"in \[0, 1\] .* got 0 to 2"),
        (
            {"labels": np.ones((3, 2), np.uint8), "names": ("a",)},
            "`names` has 1 names but `labels` has 2 columns",
        ),
        ({"images": np.zeros((3, 8, 8))}, "`images` must be uint8 .* got float64"),
        ({"images": np.zeros((3, 8, 8, 4), np.uint8)}, r"\(n, h, w, 3\), got .*\(3, 8, 8, 4\)"),
        ({"images": np.zeros((2, 8, 8), np.uint8)}, "`images` has 2 items but `vectors` has 3"),
        ({"ids": np.zeros(2, np.int64)}, "`ids` has 2 items but `vectors` has 3"),
        ({"ids": np.zeros(3)}, "`ids` must be int64 .* got float64"),
        ({"texts": ("a", "b")}, "`texts` has 2 items but `vectors` has 3"),
        (
            {"attributes": {"split": np.zeros(3), "colour": np.array(["red"])}},
            r"`attributes\['colour'\]` has 1 items but `vectors` has 3",
        ),
    ],
)
def test_fields_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(InvalidInputError, match=message):
        Dataset("toy", **{"vectors": VECTORS, **fields})


def test_a_data_set_may_have_texts_or_images_and_no_vectors():
    texts = Dataset("news", texts=("a b", "c", "d"), labels=np.array([0, 1, 0]))
    assert (len(texts), texts.vectors) == (3, None)
    images = Dataset("photos", images=np.zeros((30, 2, 2), np.uint8), labels=np.arange(30) % 2)
    assert len(images) == 30
    assert images.split(seed=0).query.size == 4
    views = Dataset("views", modalities={"title": ["a", "b"], "words": scipy.sparse.eye_array(2)})
    assert len(views) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": np.zeros(3, np.int64)}, "must have `vectors`, `images`, `texts` or `modaliti"),
        ({"texts": ()}, "`texts` must have at least one item, got none"),
        (
            {"texts": ("a", "b"), "labels": np.zeros(3, np.int64)},
            "`labels` has 3 items but `texts` has 2",
        ),
        (
            {"texts": ("a", "b"), "images": np.zeros((3, 8, 8), np.uint8)},
            "`texts` has 2 items but `images` has 3",
        ),
        (
            {"modalities": {"title": ["a"], "body": ["a", "b"]}},
            r"`modalities\['body'\]` has 2 items but `modalities\['title'\]` has 1",
        ),
    ],
)
def test_without_vectors_the_other_fields_must_fit(fields, message):
    with pytest.raises(InvalidInputError, match=message):
        Dataset("toy", **fields)


def test_what_needs_vectors_says_so():
    data = Dataset("news", texts=("a",), modalities={"title": ["a"]})
    message = r"needs vectors, but data set 'news' has only `texts`, `modalities\['title'\]`\. Turn"
    with pytest.raises(InvalidInputError, match=message):
        vectors_of(data)
    with pytest.raises(InvalidInputError, match="needs vectors, but data set 'news' has only `t"):
        with_modalities(Dataset("news", texts=("a",)), ["image"])
    data = labelled([0, 1])
    assert vectors_of(data) is data.vectors


def with_views():
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Dataset("toy", vectors, modalities={"image": vectors, "text": ("a", "b", "c")})


def test_modalities_are_kept_by_name_and_in_that_order():
    assert list(with_modalities(with_views(), ["text", "image"]).modalities) == ["text", "image"]
    assert list(with_modalities(with_views(), ["text"]).modalities) == ["text"]


def test_an_unknown_modality_is_answered_with_the_known_ones():
    with pytest.raises(
        InvalidInputError, match=r"Unknown modality of toy 'txt'.*Known: image, text"
    ):
        with_modalities(with_views(), ["image", "txt"])


def test_one_modality_may_be_the_only_vectors():
    data = labelled([0, 1])
    assert with_modalities(data, ["image"]).modalities == {"image": data.vectors}
    with pytest.raises(InvalidInputError, match="'toy' has one kind of vectors, no modalities"):
        with_modalities(data, ["image", "text"])


def test_rows_are_taken_of_arrays_sparse_matrices_and_texts():
    rows = np.array([2, 0])
    dense = np.arange(6).reshape(3, 2)
    assert rows_of(dense, rows).tolist() == [[4, 5], [0, 1]]
    assert rows_of(scipy.sparse.csr_array(dense), rows).toarray().tolist() == [[4, 5], [0, 1]]
    assert rows_of(("a", "b", "c"), rows) == ["c", "a"]
