import doctest
import itertools

import numpy as np

from kinhash.studies import disputed
from kinhash.studies.disputed import most_disputed


def test_the_most_disputed_query_of_each_group_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    n_right = {name: rng.integers(0, 4, 60) for name in "abc"}
    groups = rng.integers(0, 5, 60)
    variances = [np.var([float(n_right[name][query]) for name in "abc"]) for query in range(60)]
    expected = []
    for query in sorted(range(60), key=lambda query: (-variances[query], query)):
        if all(groups[query] != groups[other] for other in expected):
            expected.append(query)
    assert most_disputed(n_right, groups, 3) == expected[:3]
    assert most_disputed(n_right, groups, 99) == expected


def test_no_method_is_favoured():
    orders = itertools.permutations(([9, 0, 5], [1, 8, 5]))
    found = [most_disputed(dict(zip("ab", order, strict=True)), [0, 1, 2], 9) for order in orders]
    assert found == [[0, 1], [0, 1]]


def test_queries_on_which_all_agree_and_excluded_ones_are_left_out():
    n_right = {"a": [1, 1, 5], "b": [1, 0, 0]}
    assert most_disputed(n_right, [0, 1, 2], 3) == [2, 1]
    assert most_disputed(n_right, [0, 1, 2], 3, but=[2]) == [1]
    assert most_disputed({"a": [1], "b": [1]}, [0], 3) == []


def test_docstring_examples_run():
    assert doctest.testmod(disputed).failed == 0
