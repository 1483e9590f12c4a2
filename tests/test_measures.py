import doctest

import numpy as np
import pytest

import kinhash.measures
from kinhash import Codes
from kinhash.measures import MEASURES, is_rate, measure_of, scores, within
from kinhash.metrics import evaluate_codes, evaluate_neighbours, evaluate_pairs

COLUMNS = {
    name: value for name, value in vars(kinhash.measures).items() if isinstance(value, tuple)
}


def test_examples_run():
    assert doctest.testmod(kinhash.measures).failed == 0


@pytest.fixture
def found(rng):
    dense, labels = rng.integers(0, 2, (30, 8)), np.arange(30) % 3
    codes = Codes.from_dense(dense)
    return (
        evaluate_neighbours(codes, codes, np.arange(30)[:, None])
        | evaluate_codes(codes, labels, codes, labels, radii=(0, 2), at=(10, 50))
        | evaluate_pairs(codes, labels)
    )


def test_every_measure_that_is_taken_is_in_the_table(found):
    taken = {key.partition("@")[0] for key in found}
    assert taken | {"reranked_recall"} == set(MEASURES)  # this one with vectors beside the codes


def test_every_column_of_every_table_is_measured(found):
    assert {"COMPARISON", "DEMO", "MULTIMODAL_DEMO", "NEIGHBOURS", "NESTED"} <= COLUMNS.keys()
    assert {"PAPER", "RESULTS"} <= COLUMNS.keys()
    for name, columns in COLUMNS.items():
        known = MEASURES if name == "BRIEF" else found
        assert set(columns) <= set(known), name
        assert len(set(columns)) == len(columns), name


def test_f1_stands_beside_map():
    """One code for everything has the F1 of guessing."""
    for name, columns in COLUMNS.items():
        if name != "F1" and any(key.startswith("f1") for key in columns):
            assert "map" in columns, name


def test_rates_and_scores_are_told_apart():
    assert is_rate("empty@r0")
    assert not is_rate("mean_matches@r0")
    assert not is_rate("n_bits")
    assert measure_of("unique_codes").unit == "count"
    assert scores(within(0)) == ("precision@r0", "recall@r0", "f1@r0")
