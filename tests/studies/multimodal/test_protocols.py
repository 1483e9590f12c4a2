import dataclasses
import itertools

import numpy as np
import pytest

from kinhash.datasets import DATASETS, Dataset
from kinhash.errors import InvalidInputError
from kinhash.methods import MULTIMODAL_METHODS
from kinhash.studies.multimodal.protocols import (
    DEFAULTS,
    OURS,
    PROTOCOLS,
    RECIPE,
    own_labels,
    plan,
    tags,
    type_or_colour_and_usage,
)


def made(n, *, split=None, tagged=False):
    """A data set of n items with nothing in it but what a protocol asks for."""
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(n, 2)).astype(np.float32)
    labels = (rng.random((n, 21)) < 0.2).astype(np.uint8)
    if not tagged:
        labels = rng.integers(0, 3, n)
    attributes = {} if split is None else {"split": np.array(split)}
    return Dataset(
        "made",
        vectors,
        labels=labels,
        attributes=attributes,
        modalities={"image": vectors, "text": vectors},
    )


def disjoint(one, other):
    return not set(one.tolist()) & set(other.tolist())


@pytest.mark.parametrize("experiment", PROTOCOLS)
def test_each_experiment_is_of_a_data_set_and_each_row_a_method(experiment):
    assert experiment in DATASETS
    rows = plan(experiment)
    assert next(iter(rows)) == "L2"
    for settings in list(rows.values())[1:]:
        kind = MULTIMODAL_METHODS[settings["method"]]
        assert settings["n_bits"] == 64
        kind(**{key: value for key, value in settings.items() if key != "method"})
    assert {row["method"] for row in rows.values()} == {"l2", *MULTIMODAL_METHODS}


def test_the_papers_recipe_is_as_it_is_described():
    about = MULTIMODAL_METHODS["multimodal-sparsehash"].__doc__
    described = " ".join(about.split()).split("MultimodalSparseHash(", 2)[1].split(")")[0]
    given = eval(f"dict({described})")  # noqa: S307 - our own words
    for experiment in PROTOCOLS:
        settings = plan(experiment)[RECIPE]
        assert settings == {"method": "multimodal-sparsehash", "n_bits": 64} | given
        assert "optimizer" not in plan(experiment)[OURS]
        assert plan(experiment)[DEFAULTS] == {"method": "multimodal-sparsehash", "n_bits": 64}


def test_an_unknown_experiment_is_refused():
    with pytest.raises(InvalidInputError, match=r"'wikipaedia'. Did you mean 'wikipedia'\?"):
        plan("wikipaedia")


def test_official_parts_are_kept():
    data = made(9, split=["train"] * 5 + ["test"] * 4)
    (protocol,) = PROTOCOLS["wikipedia"]
    parts = protocol.parts(data, 0)
    assert parts.train.tolist() == [0, 1, 2, 3, 4]
    among, learned = parts.searches["test items"], parts.searches["training items"]
    assert among.query.tolist() == among.database.tolist() == [5, 6, 7, 8]
    assert among.own.tolist() == [0, 1, 2, 3]
    assert learned.query.tolist() == [5, 6, 7, 8]
    assert learned.database.tolist() == [0, 1, 2, 3, 4]
    assert learned.own is None
    for protocol in PROTOCOLS["corel5k"]:
        learned, among = protocol.parts(data, 0).searches.values()
        assert learned.database.tolist() == [0, 1, 2, 3, 4]
        assert learned.query.tolist() == among.query.tolist() == [5, 6, 7, 8]
        assert among.own.tolist() == [0, 1, 2, 3]


def test_fashion_queries_are_2000_and_training_pairs_10000_by_seed():
    data = made(15_000)
    first, second = PROTOCOLS["fashion-products"]
    parts = first.parts(data, 0)
    (search,) = parts.searches.values()
    assert (len(parts.train), len(search.query), len(search.database)) == (10_000, 2_000, 13_000)
    assert disjoint(parts.train, search.query)
    assert disjoint(search.database, search.query)
    assert not set(parts.train) - set(search.database)
    again, other = second.parts(data, 0), first.parts(data, 1)
    assert np.array_equal(again.train, parts.train)
    assert not np.array_equal(other.train, parts.train)


@pytest.mark.parametrize("n", [300, 110_000])
def test_nus_queries_are_drawn_by_concept_and_training_pairs_at_random(n):
    data = made(n, tagged=True)
    (protocol,) = PROTOCOLS["nus-wide"]
    parts = protocol.parts(data, 3)
    (search,) = parts.searches.values()
    assert np.array_equal(search.query, data.split(3).query)
    assert disjoint(search.database, search.query)
    assert len(search.database) + len(search.query) == n
    assert len(parts.train) == min(100_000, len(search.database))
    assert not set(parts.train.tolist()) - set(search.database.tolist())
    assert len(set(parts.train.tolist())) == len(parts.train)


def test_products_are_similar_by_type_or_by_colour_and_usage(shop):
    matrix = type_or_colour_and_usage(shop)
    colours, usages = shop.attributes["baseColour"], shop.attributes["usage"]
    assert matrix.shape == (60, 3 + 4)
    assert matrix.sum(axis=1).tolist() == [2] * 60
    for i, j in itertools.combinations(range(60), 2):
        similar = shop.labels[i] == shop.labels[j] or (
            colours[i] == colours[j] and usages[i] == usages[j]
        )
        assert bool((matrix[i] & matrix[j]).any()) == similar


def test_what_a_data_set_lacks_is_named():
    data = made(5)
    bare = dataclasses.replace(data, labels=None, attributes=None)
    with pytest.raises(InvalidInputError, match="'made' does not say the split of its items"):
        PROTOCOLS["wikipedia"][0].parts(data, 0)
    with pytest.raises(InvalidInputError, match="'made' does not say the tags of its items"):
        tags(bare)
    with pytest.raises(InvalidInputError, match="'made' has no labels"):
        own_labels(bare)


@pytest.mark.data
def test_the_numbers_of_the_protocols_are_those_of_the_data(real_data):
    data = real_data("wikipedia")
    parts = PROTOCOLS["wikipedia"][0].parts(data, 0)
    assert len(parts.train) == 2_173
    assert len(parts.searches["test items"].query) == 693
    assert len(data.names) == 10
