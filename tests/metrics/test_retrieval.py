import doctest
import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.metrics import (
    average_precision,
    average_precision_of_ranking,
    distance_table,
    evaluate_codes,
    evaluate_vectors,
    pair_tables,
    precision_at_k,
    precision_recall_at_radius,
    precision_recall_curve,
    radius_aware_precision,
    ranking_curve,
    retrieval,
)

# Each item of a tiny database as (distance to the query, is relevant); 6! = 720 orders at most.
TIED_ITEMS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def tables(*queries):
    """Turn one list of (distance, is relevant) per query into both count tables."""
    farthest = max((d for items in queries for d, _ in items), default=0)
    n_all = np.zeros((len(queries), farthest + 1), np.int64)
    n_relevant = np.zeros_like(n_all)
    for row, items in enumerate(queries):
        for distance, is_relevant in items:
            n_all[row, distance] += 1
            n_relevant[row, distance] += is_relevant
    return n_all, n_relevant


def naive_average_precision(relevant, at=None):
    n_hits, total = 0, 0.0
    for position, is_relevant in enumerate(relevant[:at], start=1):
        if is_relevant:
            n_hits += 1
            total += n_hits / position
    return total / min(sum(relevant), at or len(relevant))


def mean_over_all_orders(items, measure):
    """Shuffle the items in every way, rank them by distance, and average the measure."""
    values = [
        measure([is_relevant for _, is_relevant in sorted(order, key=lambda item: item[0])])
        for order in itertools.permutations(items)
    ]
    return math.fsum(values) / len(values)


def naive_evaluation(queries, related, database, radius):
    """Measure what lies within the radius with plain loops."""
    precisions, recalls, counts = [], [], []
    for query, row in zip(queries, related, strict=True):
        within = [
            sum(a != b for a, b in zip(query, item, strict=True)) <= radius for item in database
        ]
        n_hits = sum(w and r for w, r in zip(within, row, strict=True))
        counts.append(sum(within))
        precisions.append(n_hits / counts[-1] if counts[-1] else 0.0)
        if any(row):
            recalls.append(n_hits / sum(row))
    precision, recall = math.fsum(precisions) / len(precisions), math.fsum(recalls) / len(recalls)
    return {
        f"precision@r{radius}": precision,
        f"recall@r{radius}": recall,
        f"f1@r{radius}": 2 * precision * recall / (precision + recall) if precision else 0.0,
        f"empty@r{radius}": counts.count(0) / len(counts),
        f"mean_matches@r{radius}": sum(counts) / len(counts),
    }


def random_problem(seed, *, n_queries=7, n=40, n_bits=6, n_classes=3, signed=False):
    rng = np.random.default_rng(seed)
    low = -1 if signed else 0
    queries, database = (rng.integers(low, 2, (m, n_bits)) for m in (n_queries, n))
    return queries, rng.integers(0, n_classes, n_queries), database, rng.integers(0, n_classes, n)


def nested_problem(seed, *, n_queries=3, n=6, n_bits=2, n_rank_bits=2, signed=False):
    """Draw codes with rank bits, few enough for many ties, and labels of both sides."""
    rng = np.random.default_rng(seed)
    low = -1 if signed else 0
    codes = [
        Codes.from_dense(
            rng.integers(low, 2, (m, n_bits)),
            signed=signed,
            rank=rng.integers(0, 2, (m, n_rank_bits)),
        )
        for m in (n_queries, n)
    ]
    db_labels = rng.integers(0, 2, n)
    db_labels[:4] = [0, 0, 1, 1]  # every query has a relevant item, also beside its own
    return codes[0], rng.integers(0, 2, n_queries), codes[1], db_labels


def naive_places(problem, order, own=None):
    """Return each query's items as (place in the order, bucket distance, is relevant)."""
    queries, query_labels, database, db_labels = problem
    rows = []
    for i, (bucket, rank) in enumerate(
        zip(queries.to_dense(), queries.rank_to_dense(), strict=True)
    ):
        row = []
        for j, (other, other_rank) in enumerate(
            zip(database.to_dense(), database.rank_to_dense(), strict=True)
        ):
            if own is not None and own[i] == j:
                continue
            distance = sum(abs(int(a) - int(b)) for a, b in zip(bucket, other, strict=True))
            rank_distance = sum(a != b for a, b in zip(rank, other_rank, strict=True))
            place = (distance, rank_distance) if order == "nested" else distance + rank_distance
            row.append((place, distance, bool(query_labels[i] == db_labels[j])))
        rows.append(row)
    return rows


def packed(queries, query_labels, database, db_labels, *, signed=False):
    return (
        Codes.from_dense(queries, signed=signed),
        query_labels,
        Codes.from_dense(database, signed=signed),
        db_labels,
    )


@settings(deadline=None)
@given(TIED_ITEMS.filter(lambda items: any(r for _, r in items)))
def test_average_precision_is_the_mean_over_all_tie_orders(items):
    expected = mean_over_all_orders(items, naive_average_precision)
    assert average_precision(*tables(items)) == pytest.approx([expected], rel=1e-12)


@settings(deadline=None)
@given(TIED_ITEMS.filter(lambda items: any(r for _, r in items)), st.integers(1, 8))
def test_average_precision_at_k_is_the_mean_over_all_tie_orders(items, k):
    expected = mean_over_all_orders(items, lambda order: naive_average_precision(order, k))
    assert average_precision(*tables(items), at=k) == pytest.approx([expected], rel=1e-12)


@settings(deadline=None)
@given(TIED_ITEMS, st.integers(1, 8))
def test_precision_at_k_is_the_mean_over_all_tie_orders(items, k):
    expected = mean_over_all_orders(items, lambda order: sum(order[:k]) / min(k, len(order)))
    assert precision_at_k(*tables(items), k) == pytest.approx([expected], rel=1e-12)


def test_average_precision_by_hand():
    # Relevant at ranks 1 and 3 of three: (1/1 + 2/3) / 2.
    strict = [(0, True), (1, False), (2, True)]
    # One relevant of two tied: half the time at rank 1, half at rank 2: (1 + 1/2) / 2.
    tied = [(1, True), (1, False)]
    assert average_precision(*tables(strict, tied)) == pytest.approx([5 / 6, 3 / 4])
    assert average_precision(*tables(strict, tied), at=1) == pytest.approx([1, 1 / 2])


def test_average_precision_at_k_is_divided_by_k_or_by_the_relevant_items_if_fewer():
    many, few = [(d, True) for d in range(5)], [(0, True), *((d, False) for d in range(1, 5))]
    assert average_precision(*tables(many, few), at=2) == pytest.approx([1, 1])
    missed = [(0, True), (1, False), (2, True)]
    assert average_precision(*tables(missed), at=2) == pytest.approx([1 / 2])


def test_without_ties_average_precision_is_scikit_learns():
    rng = np.random.default_rng(0)
    for _ in range(20):
        relevant = rng.random(30) < 0.3
        relevant[rng.integers(30)] = True
        items = list(enumerate(relevant.tolist()))
        expected = average_precision_score(relevant, -np.arange(30))
        assert average_precision(*tables(items)) == pytest.approx([expected])
        assert average_precision_of_ranking(relevant[None]) == pytest.approx([expected])


@settings(deadline=None)
@given(
    st.lists(st.booleans(), min_size=1, max_size=12).filter(any),
    st.one_of(st.none(), st.integers(1, 14)),
)
def test_a_strict_ranking_is_the_case_without_ties(relevant, at):
    expected = pytest.approx([naive_average_precision(relevant, at)])
    assert average_precision_of_ranking(np.array([relevant]), at=at) == expected
    assert average_precision(*tables(list(enumerate(relevant))), at=at) == expected


def test_the_closed_form_stays_accurate_behind_a_million_items():
    n_all = np.array([[10**6, 3, 1, 2000]])
    n_relevant = np.array([[5, 2, 1, 900]])
    total, before, hits = [], 0, 0
    for n, r in zip(n_all[0].tolist(), n_relevant[0].tolist(), strict=True):
        k = np.arange(1, n + 1)
        share = (r - 1) / (n - 1) if n > 1 else 0
        total.append(r / n * math.fsum((hits + 1 + (k - 1) * share) / (before + k)))
        before, hits = before + n, hits + r
    expected = math.fsum(total) / hits
    assert average_precision(n_all, n_relevant) == pytest.approx([expected], abs=1e-11)


def test_a_query_without_relevant_items_has_no_average_precision_or_recall():
    counts = tables([(0, False), (1, False)], [(0, True)])
    assert np.isnan(average_precision(*counts)).tolist() == [True, False]
    assert np.isnan(average_precision(*counts, at=1)).tolist() == [True, False]
    assert precision_at_k(*counts, 1).tolist() == [0, 1]
    precision, recall = precision_recall_at_radius(*counts, 0)
    assert precision.tolist() == [0, 1]
    assert np.isnan(recall).tolist() == [True, False]
    assert np.isnan(average_precision_of_ranking(np.array([[False], [True]]))).tolist() == [
        True,
        False,
    ]


def test_precision_and_recall_by_hand():
    counts = tables([(0, True), (1, False), (1, True), (3, True)], [(2, True)])
    precision, recall = precision_recall_at_radius(*counts, 1)
    assert precision.tolist() == pytest.approx([2 / 3, 0])
    assert recall.tolist() == pytest.approx([2 / 3, 0])
    precision, recall = precision_recall_at_radius(*counts, 99)
    assert precision.tolist() == pytest.approx([3 / 4, 1])
    assert recall.tolist() == [1, 1]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_bits", [3, 70])
def test_the_distance_table_counts_every_pair_once(n_bits, signed):
    problem = random_problem(0, n_bits=n_bits, signed=signed)
    queries, query_labels, database, db_labels = problem
    n_all, n_relevant = distance_table(*packed(*problem, signed=signed))
    assert n_all.dtype == n_relevant.dtype == np.int64
    assert n_all.shape == n_relevant.shape == (7, n_bits * (1 + signed) + 1)
    expected, expected_relevant = np.zeros_like(n_all), np.zeros_like(n_all)
    for i, query in enumerate(queries):
        for j, item in enumerate(database):
            distance = np.abs(query - item).sum()
            expected[i, distance] += 1
            expected_relevant[i, distance] += query_labels[i] == db_labels[j]
    np.testing.assert_array_equal(n_all, expected)
    np.testing.assert_array_equal(n_relevant, expected_relevant)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 7), st.booleans())
def test_evaluation_agrees_with_plain_loops(seed, radius, multi_label):
    queries, query_labels, database, db_labels = random_problem(seed)
    if multi_label:
        rng = np.random.default_rng(seed)
        query_labels, db_labels = rng.random((7, 5)) < 0.3, rng.random((40, 5)) < 0.3
        query_labels[:, 0] = db_labels[0, 0] = True  # every query has a relevant item
        related = [[bool((q & d).any()) for d in db_labels] for q in query_labels]
    else:
        related = [[q == d for d in db_labels] for q in query_labels]
    result = evaluate_codes(*packed(queries, query_labels, database, db_labels), radii=[radius])
    expected = naive_evaluation(queries.tolist(), related, database.tolist(), radius)
    expected["unique_codes"] = len({tuple(code) for code in database.tolist()})
    expected["mean_active"] = np.mean(database.sum(axis=1))
    expected["sd_active"] = math.sqrt(
        np.mean((database.sum(axis=1) - expected["mean_active"]) ** 2)
    )
    assert {key: result[key] for key in expected} == pytest.approx(expected)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_map_and_mp_are_means_over_queries_and_database_orders(seed, k):
    queries, query_labels, database, db_labels = random_problem(
        seed, n_queries=2, n=5, n_bits=2, n_classes=2
    )
    db_labels[:2] = [0, 1]  # every query has a relevant item
    rows = [
        [
            (int(np.sum(query != item)), bool(label == other))
            for item, other in zip(database, db_labels, strict=True)
        ]
        for query, label in zip(queries, query_labels, strict=True)
    ]
    measures = {
        "map": naive_average_precision,
        f"map@{k}": lambda order: naive_average_precision(order, k),
        f"mp@{k}": lambda order: sum(order[:k]) / min(k, len(order)),
    }
    expected = {
        key: np.mean([mean_over_all_orders(row, measure) for row in rows])
        for key, measure in measures.items()
    }
    result = evaluate_codes(*packed(queries, query_labels, database, db_labels), at=[k])
    assert {key: result[key] for key in expected} == pytest.approx(expected)


@pytest.mark.parametrize("order", ["nested", "total"])
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 7),
    signed=st.booleans(),
    leave_out=st.booleans(),
)
def test_rankings_by_both_parts_are_means_over_all_tie_orders(order, seed, k, signed, leave_out):
    problem = nested_problem(seed, signed=signed)
    own = np.random.default_rng(seed).integers(0, 6, 3) if leave_out else None
    rows = [
        [(place, is_relevant) for place, _, is_relevant in row]
        for row in naive_places(problem, order, own)
    ]
    measures = {
        "map": naive_average_precision,
        f"map@{k}": lambda ranked: naive_average_precision(ranked, k),
        f"mp@{k}": lambda ranked: sum(ranked[:k]) / min(k, len(ranked)),
    }
    expected = {
        key: np.mean([mean_over_all_orders(row, measure) for row in rows])
        for key, measure in measures.items()
    }
    for key, best in (("map_best", max), ("map_worst", min)):
        expected[key] = np.mean(
            [
                best(
                    naive_average_precision([r for _, r in sorted(items, key=lambda item: item[0])])
                    for items in itertools.permutations(row)
                )
                for row in rows
            ]
        )
    result = evaluate_codes(*problem, at=[k], own=own, order=order)
    assert {key: result[key] for key in expected} == pytest.approx(expected)


@pytest.mark.parametrize("order", ["nested", "total"])
@pytest.mark.parametrize("signed", [False, True])
def test_radii_and_active_bits_are_of_the_buckets(order, signed):
    queries, query_labels, database, db_labels = nested_problem(
        1, n_queries=20, n=60, n_bits=7, n_rank_bits=70, signed=signed
    )
    found = evaluate_codes(queries, query_labels, database, db_labels, order=order)
    flat = evaluate_codes(queries.without_rank(), query_labels, database.without_rank(), db_labels)
    ranked = {"map", "map_best", "map_worst", "map@10", "map@5000", "mp@10"}  # not mp@5000: of all
    assert {key for key in flat if found[key] != pytest.approx(flat[key])} == ranked


@pytest.mark.parametrize("order", ["nested", "total"])
@pytest.mark.parametrize("own", [None, np.arange(5)])
def test_pairs_of_distances_are_counted_a_few_queries_at_a_time(order, own, monkeypatch):
    problem = nested_problem(2, n_queries=40, n=300, n_bits=70, n_rank_bits=130)
    if own is not None:
        own = np.tile(own, 8)
    whole = evaluate_codes(*problem, own=own, order=order)
    monkeypatch.setattr(retrieval, "CHUNK_BYTES", 20 * 300 * 3)
    tables = list(pair_tables(*problem, own=own))
    assert max(len(table.queries) for table in tables) == 3
    assert sorted(np.concatenate([table.queries for table in tables])) == list(range(40))
    places = naive_places(problem, "nested", own)
    for table in tables:
        for row, query in enumerate(table.queries):
            used = table.n_all[row] > 0
            found = zip(
                zip(table.distances[row, used], table.rank_distances[row, used], strict=True),
                table.n_all[row, used],
                table.n_relevant[row, used],
                strict=True,
            )
            expected = {}
            for place, _, is_relevant in sorted(places[query]):
                n, hits = expected.get(place, (0, 0))
                expected[place] = n + 1, hits + is_relevant
            assert [(pair, (n, hits)) for pair, n, hits in found] == list(expected.items())
    assert evaluate_codes(*problem, own=own, order=order) == whole


def test_codes_without_rank_bits_have_one_order():
    problem = packed(*random_problem(3))
    assert evaluate_codes(*problem, order="total") == evaluate_codes(*problem)
    n_all, n_relevant = distance_table(*problem)
    for radius in (None, 0, 2, 99):
        expected = precision_recall_curve(n_all, n_relevant, max_radius=radius)
        for order in ("nested", "total"):
            found = ranking_curve(*problem, max_radius=radius, order=order)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", ["nested", "total"])
@pytest.mark.parametrize("max_radius", [None, 0, 1, 99])
@pytest.mark.parametrize("signed", [False, True])
def test_a_curve_takes_the_order_of_both_parts(order, max_radius, signed):
    problem = nested_problem(4, n_queries=5, n=30, n_bits=3, signed=signed)
    own = np.arange(5)
    precisions = np.zeros((5, 4))
    for i, row in enumerate(naive_places(problem, order, own)):
        n_relevant = sum(is_relevant for *_, is_relevant in row)
        near = [item for item in row if max_radius is None or item[1] <= max_radius]
        for j, level in enumerate((0.25, 0.5, 0.75, 1)):
            wanted, before, hits = level * n_relevant, 0, 0
            for place in sorted({item[0] for item in near}):
                tie = [item[2] for item in near if item[0] == place]
                if hits + sum(tie) >= wanted - 1e-9:
                    share = (wanted - hits) / sum(tie)
                    precisions[i, j] = wanted / (before + share * len(tie))
                    break
                before, hits = before + len(tie), hits + sum(tie)
    levels, found = ranking_curve(*problem, max_radius=max_radius, n_levels=4, own=own, order=order)
    assert levels.tolist() == [0.25, 0.5, 0.75, 1]
    assert found == pytest.approx(precisions.mean(axis=0))


def test_tags_rank_by_both_parts_too():
    queries, _, database, _ = nested_problem(5, n_queries=4, n=20, n_bits=3)
    rng = np.random.default_rng(5)
    query_tags, tags = rng.random((4, 3)) < 0.5, rng.random((20, 3)) < 0.5
    query_tags[:, 0] = tags[0, 0] = True
    related = (query_tags[:, None] & tags[None]).any(axis=2)
    expected = [
        evaluate_codes(queries[i], [1], database, related[i].astype(int))["map"] for i in range(4)
    ]
    assert evaluate_codes(queries, query_tags, database, tags)["map"] == pytest.approx(
        np.mean(expected)
    )


def test_an_unknown_order_is_refused():
    problem = nested_problem(0)
    for call in (evaluate_codes, ranking_curve):
        with pytest.raises(InvalidInputError, match=r"Unknown order 'sum'. .*nested, total"):
            call(*problem, order="sum")


def test_queries_without_rank_bits_are_refused_with_both_numbers():
    queries, query_labels, database, db_labels = nested_problem(0)
    message = (
        r"`query_codes` have 0 rank bits but the database has codes with 2\..*without_rank\(\)"
    )
    with pytest.raises(InvalidInputError, match=message):
        evaluate_codes(queries.without_rank(), query_labels, database, db_labels)


def test_keys_are_flat_and_values_plain_floats():
    result = evaluate_codes(*packed(*random_problem(0)), radii=(0, np.int64(2)), at=(10, 5000))
    assert list(result) == [
        *("map", "map_best", "map_worst", "ramap"),
        *(f"{name}@{k}" for k in (10, 5000) for name in ("map", "mp")),
        *(
            f"{name}@r{r}"
            for r in (0, 2)
            for name in ("precision", "recall", "f1", "empty", "mean_matches")
        ),
        "unique_codes",
        "mean_active",
        "sd_active",
    ]
    assert {type(value) for value in result.values()} == {float}


@given(items=TIED_ITEMS, at=st.one_of(st.none(), st.integers(1, 8)))
def test_best_and_worst_are_those_of_all_orders(items, at):
    orders = [
        [is_relevant for _, is_relevant in sorted(order, key=lambda item: item[0])]
        for order in itertools.permutations(items)
    ]
    if not any(is_relevant for _, is_relevant in items):
        assert np.isnan(average_precision(*tables(items), at=at, ties="best")).all()
        return
    values = [naive_average_precision(order, at) for order in orders]
    for ties, value in (("best", max(values)), ("worst", min(values))):
        assert average_precision(*tables(items), at=at, ties=ties) == pytest.approx([value])


def test_unknown_ties_are_refused():
    with pytest.raises(InvalidInputError, match="kind of ties"):
        average_precision(*tables([(0, True)]), ties="random")


@given(items=TIED_ITEMS)
def test_radius_aware_precision_is_the_mean_over_radii(items):
    farthest = max(d for d, _ in items)
    precisions = []
    for radius in range(farthest + 1):
        near = [is_relevant for d, is_relevant in items if d <= radius]
        precisions.append(sum(near) / len(near) if near else 0.0)
    assert radius_aware_precision(*tables(items)) == pytest.approx([np.mean(precisions)])


def test_a_curve_by_hand():
    # Two at distance 0, one of them relevant; one at 1, relevant; two at 3, both relevant.
    items = [(0, True), (0, False), (1, True), (3, True), (3, True)]
    levels, precision = precision_recall_curve(*tables(items), n_levels=4)
    assert levels.tolist() == [0.25, 0.5, 0.75, 1]
    assert precision == pytest.approx([1 / 2, 2 / 3, 3 / 4, 4 / 5])
    _, near = precision_recall_curve(*tables(items), max_radius=1, n_levels=4)
    assert near == pytest.approx([1 / 2, 2 / 3, 0, 0])
    # Within a tie the relevant ones are spread evenly.
    _, fine = precision_recall_curve(*tables([(0, True), (0, False)]), n_levels=2)
    assert fine == pytest.approx([1 / 2, 1 / 2])


def test_a_curve_is_a_mean_over_queries_with_something_to_find():
    nothing, one, other = [(0, False)], [(0, True)], [(0, False), (1, True)]
    _, precision = precision_recall_curve(*tables(nothing, one, other), n_levels=1)
    assert precision == pytest.approx([(1 + 1 / 2) / 2])
    _, none = precision_recall_curve(*tables(nothing), n_levels=2)
    assert none.tolist() == [0, 0]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("tagged", [False, True])
def test_a_querys_own_item_is_left_out_as_if_deleted(tagged, signed):
    rng = np.random.default_rng(5)
    dense = rng.integers(-1 if signed else 0, 2, (25, 6))
    labels = rng.random((25, 4)) < 0.4 if tagged else rng.integers(0, 3, 25)
    labels[:2] = labels[0]  # somebody has company
    chosen = np.array([3, 0, 24, 11, 7])
    codes = Codes.from_dense(dense, signed=signed)
    # The other modality of the same items: here, too, a query's own item does not count.
    queries = Codes.from_dense(rng.permuted(dense, axis=1)[chosen], signed=signed)
    options = {"radii": [0, 2], "at": [1, 5, 100]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have nothing to find
        result = evaluate_codes(queries, labels[chosen], codes, labels, own=chosen, **options)
        alone = [
            evaluate_codes(
                queries[[i]],
                labels[chosen[[i]]],
                Codes.from_dense(np.delete(dense, row, axis=0), signed=signed),
                np.delete(labels, row, axis=0),
                **options,
            )
            for i, row in enumerate(chosen)
        ]
    for name, value in result.items():
        if name.startswith("f1") or "active" in name or name == "unique_codes":
            continue  # of means; of the database
        assert value == pytest.approx(np.nanmean([one[name] for one in alone])), name
    assert result["unique_codes"] == codes.n_unique


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ([0], r"`own` must hold a row number for each of the 2 queries, got int64 .*\(1,\)"),
        ([0.0, 1.0], "`own` must hold a row number .* got float64"),
        ([0, 3], "`own` must hold rows of the database, 0 to 2, got 0 to 3"),
        ([-1, 1], "0 to 2, got -1 to 1"),
    ],
)
def test_an_own_item_must_be_a_row_of_the_database(own, message):
    codes = Codes.from_dense([[0, 1], [1, 1], [1, 0]])
    with pytest.raises(InvalidInputError, match=message):
        evaluate_codes(codes[:2], [0, 1], codes, [0, 1, 1], own=own)
    with pytest.raises(InvalidInputError, match=message):
        evaluate_vectors(np.eye(3)[:2], [0, 1], np.eye(3), [0, 1, 1], own=own)


def test_an_own_item_must_leave_something_to_search():
    codes = Codes.from_dense([[0, 1]])
    with pytest.raises(InvalidInputError, match="`own` leaves nothing to search"):
        evaluate_codes(codes, [0], codes, [0], own=[0])


def test_default_radii_and_lengths_are_the_papers():
    problem = packed(*random_problem(0))
    assert evaluate_codes(*problem) == evaluate_codes(*problem, radii=(0, 2), at=(10, 5000))


def test_a_length_beyond_the_database_means_the_whole_ranking():
    result = evaluate_codes(*packed(*random_problem(0)), at=[40, 10**6])
    assert result["map@1000000"] == pytest.approx(result["map"])
    assert result["mp@1000000"] == pytest.approx(result["mp@40"])


def test_one_code_for_everything_scores_an_f1_of_18_percent_on_ten_classes():
    labels = np.repeat(np.arange(10), 20)
    codes = Codes.from_dense(np.ones((200, 8)))
    result = evaluate_codes(codes, labels, codes, labels, radii=[0])
    assert result["precision@r0"] == pytest.approx(0.1)
    assert result["recall@r0"] == 1
    assert result["f1@r0"] == pytest.approx(2 * 0.1 * 1 / 1.1)
    assert result["unique_codes"] == 1
    assert result["mean_matches@r0"] == 200


def test_one_code_for_each_class_is_perfect():
    labels = np.repeat(np.arange(8), 5)
    codes = Codes.from_dense(np.eye(8, dtype=int)[labels])
    result = evaluate_codes(codes, labels, codes, labels, radii=[0], at=[3, 5])
    perfect = ["map", "map@3", "map@5", "mp@3", "mp@5", "precision@r0", "recall@r0", "f1@r0"]
    assert [result[key] for key in perfect] == pytest.approx([1] * 8)
    assert (result["unique_codes"], result["mean_active"], result["sd_active"]) == (8, 1, 0)


def test_empty_answers_have_precision_0_and_their_share_is_reported():
    database = Codes.from_dense([[1, 0, 0, 0], [1, 0, 0, 0]])
    queries = Codes.from_dense([[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]])
    result = evaluate_codes(queries, np.zeros(4), database, np.zeros(2), radii=[0])
    assert result["precision@r0"] == 1 / 4
    assert result["recall@r0"] == 1 / 4
    assert result["empty@r0"] == 3 / 4
    assert result["mean_matches@r0"] == 2 / 4


def test_f1_is_0_where_nothing_is_found():
    result = evaluate_codes(
        Codes.from_dense([[1, 1]]), [0], Codes.from_dense([[0, 0]]), [0], radii=[0]
    )
    assert (result["precision@r0"], result["recall@r0"], result["f1@r0"]) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_shuffling_the_database_changes_nothing(seed):
    queries, query_labels, database, db_labels = random_problem(seed)
    order = np.random.default_rng(seed).permutation(len(database))
    before = evaluate_codes(*packed(queries, query_labels, database, db_labels), at=[3])
    after = evaluate_codes(
        *packed(queries, query_labels, database[order], db_labels[order]), at=[3]
    )
    # NumPy's own standard deviation depends on the order in its last digit; nothing else does.
    assert after.pop("sd_active") == pytest.approx(before.pop("sd_active"), rel=1e-14)
    assert after == before


NAMES = np.array(["cat", "dog", "emu"])


@pytest.mark.parametrize(
    "rename",
    [
        lambda labels: NAMES[labels],
        lambda labels: NAMES[labels].tolist(),
        lambda labels: NAMES[labels].astype(object),
        lambda labels: NAMES[labels].astype("S"),
        lambda labels: labels.astype(np.uint8),
        lambda labels: labels - 0.5,
        lambda labels: np.eye(3, dtype=int)[labels],
        lambda labels: np.eye(3, dtype=bool)[labels],
        lambda labels: np.eye(3)[labels],
    ],
    ids=["str", "list", "object", "bytes", "uint8", "float", "one-hot", "bool", "one-hot float"],
)
def test_what_labels_are_called_changes_nothing(rename):
    queries, query_labels, database, db_labels = random_problem(0)
    expected = evaluate_codes(*packed(queries, query_labels, database, db_labels))
    assert (
        evaluate_codes(*packed(queries, rename(query_labels), database, rename(db_labels)))
        == expected
    )


def test_label_arrays_may_differ_in_type_within_a_kind():
    queries, query_labels, database, db_labels = random_problem(0)
    expected = evaluate_codes(*packed(queries, query_labels, database, db_labels))
    for other in (db_labels.astype(float), db_labels.astype(np.uint8), db_labels.astype(object)):
        assert evaluate_codes(*packed(queries, query_labels, database, other)) == expected
    longer = np.array(["cat", "dog", "emu", "elephant"])[db_labels]
    assert evaluate_codes(*packed(queries, NAMES[query_labels], database, longer)) == expected


def test_queries_without_a_relevant_item_are_left_out_with_a_warning():
    queries, query_labels, database, db_labels = random_problem(0)
    known = query_labels != 2
    kept = db_labels != 2
    n_stranded = int(np.sum(~known))
    assert 0 < n_stranded < len(queries)
    with pytest.warns(UserWarning, match=rf"^{n_stranded} of 7 queries have no relevant item"):
        result = evaluate_codes(*packed(queries, query_labels, database[kept], db_labels[kept]))
    alone = evaluate_codes(
        *packed(queries[known], query_labels[known], database[kept], db_labels[kept])
    )
    for key in ("map", "map@10", "recall@r0", "recall@r2"):
        assert result[key] == alone[key]
    for key in ("mp@10", "precision@r2"):  # finding nothing relevant is a failure to be precise
        assert result[key] == pytest.approx(alone[key] * known.mean())


def test_if_no_query_has_a_relevant_item_their_measures_are_nan():
    queries, query_labels, database, db_labels = random_problem(0)
    with pytest.warns(UserWarning, match="7 of 7 queries"):
        result = evaluate_codes(*packed(queries, query_labels + 10, database, db_labels))
    unknown = {key for key, value in result.items() if math.isnan(value)}
    rates = {"recall@r0", "recall@r2", "f1@r0", "f1@r2"}
    assert unknown == {"map", "map_best", "map_worst", "map@10", "map@5000", *rates}
    assert result["precision@r2"] == 0


def test_an_item_without_any_label_is_relevant_to_nobody():
    codes = Codes.from_dense([[1, 0], [1, 0]])
    _, n_relevant = distance_table(codes[:1], [[1, 0]], codes, [[0, 0], [1, 1]])
    assert n_relevant.tolist() == [[1, 0, 0]]
    _, n_relevant = distance_table(codes[:1], [[0, 0]], codes, [[0, 0], [1, 1]])
    assert n_relevant.tolist() == [[0, 0, 0]]


def test_arguments_are_left_as_they_were():
    problem = packed(*random_problem(0))
    labels = problem[1].copy(), problem[3].copy()
    evaluate_codes(*problem)
    np.testing.assert_array_equal(problem[1], labels[0])
    np.testing.assert_array_equal(problem[3], labels[1])


CODES = Codes.from_dense(np.eye(3, dtype=int))
MATRIX = np.eye(3, dtype=int)


@pytest.mark.parametrize(
    ("query_labels", "db_labels", "message"),
    [
        ([0, 1], [0, 1, 2], r"`query_labels` have 2 rows but `query_codes` have 3 codes"),
        ([0, 1, 2], [0, 1, 2, 3], r"`db_labels` have 4 rows but `db_codes` have 3 codes"),
        (MATRIX[:2], MATRIX, r"`query_labels` have 2 rows but `query_codes` have 3"),
        (MATRIX, [0, 1, 2], r"have shape \(3, 3\) but `db_labels` have shape \(3,\)"),
        ([0, 1, 2], MATRIX, r"have shape \(3,\) but `db_labels` have shape \(3, 3\)"),
        (MATRIX, MATRIX[:, :2], r"have shape \(3, 3\) but `db_labels` have shape \(3, 2\)"),
        (MATRIX[None], MATRIX, r"`query_labels` must have shape .*, got shape \(1, 3, 3\)"),
        (MATRIX, 5, r"`db_labels` must have shape .*, got shape \(\)"),
        (MATRIX, MATRIX * 2, r"`db_labels` of shape \(3, 3\) must hold only 0 and 1, got 2"),
        (MATRIX - 0.5, MATRIX, r"`query_labels` .* only 0 and 1, got 0\.5"),
        ([0, 1, np.nan], [0, 1, 2], "`query_labels` .* missing: in row 2 .* the queries"),
        (MATRIX, np.full((3, 3), np.nan), "`db_labels` .* 3 of 3 are missing: .* the database"),
        (["a", None, "c"], ["a", "b", "c"], "`query_labels` .* 1 of 3 are missing: in row 1 "),
        (["a", "b", "c"], ["a", "b", np.nan], "`db_labels` .* 1 of 3 are missing: in row 2 "),
        (MATRIX, scipy.sparse.csr_array(MATRIX), "`db_labels` must be dense, got a sparse matrix"),
        (["0", "1", "2"], [0, 1, 2], r"`query_labels` are strings but `db_labels` are numbers"),
        (["0", "1", "2"], [b"0", b"1", b"2"], r"are strings but `db_labels` are bytes"),
    ],
)
def test_labels_that_do_not_fit_are_refused_with_both_sides(query_labels, db_labels, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluate_codes(CODES, query_labels, CODES, db_labels)


def test_labels_of_different_types_are_different_classes():
    codes = Codes.from_dense([[1, 0]] * 4)
    labels = [1, "1", 1, "a"]
    expected = [[2], [1], [2], [1]]
    n_relevant = distance_table(codes, labels, codes, labels)[1]
    assert n_relevant[:, :1].tolist() == expected
    vectors = np.eye(4)
    found = evaluate_vectors(vectors, labels, vectors, np.array(labels, dtype=object), at=[1])
    assert found["mp@1"] == 1  # each finds itself first
    n_relevant = distance_table(codes, np.array(labels, dtype=object), codes, [1, 1, 2, 3])[1]
    assert n_relevant[:, 0].tolist() == [2, 0, 2, 0]


def test_empty_sides_are_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"`query_codes` must hold at least one code"):
        evaluate_codes(CODES[:0], [], CODES, [0, 1, 2])
    with pytest.raises(InvalidInputError, match=r"`db_codes` must hold at least one code"):
        evaluate_codes(CODES, [0, 1, 2], CODES[:0], [])


def test_incomparable_codes_are_refused_with_both_numbers():
    other = Codes.from_dense(np.zeros((3, 5)))
    with pytest.raises(InvalidInputError, match=r"`query_codes` have 5 bits but .* 3-bit codes"):
        evaluate_codes(other, [0, 1, 2], CODES, [0, 1, 2])
    signed = Codes.from_dense(MATRIX, signed=True)
    with pytest.raises(InvalidInputError, match=r"`query_codes` are signed but .* unsigned"):
        evaluate_codes(signed, [0, 1, 2], CODES, [0, 1, 2])


@pytest.mark.parametrize("radii", [[-1], [0, 1.0], [True], 2, ["2"]], ids=str)
def test_radii_must_be_integers_from_0(radii):
    with pytest.raises(InvalidInputError, match=r"`radii` must be .* of at least 0, got "):
        evaluate_codes(CODES, [0, 1, 2], CODES, [0, 1, 2], radii=radii)


@pytest.mark.parametrize("at", [[0], [-1], [1.0], [True], 10, ["10"]], ids=str)
def test_ranking_lengths_must_be_integers_from_1(at):
    with pytest.raises(InvalidInputError, match=r"`at` must be .* of at least 1, got "):
        evaluate_codes(CODES, [0, 1, 2], CODES, [0, 1, 2], at=at)


def test_no_radii_and_no_lengths_leave_the_rest():
    result = evaluate_codes(CODES, [0, 1, 2], CODES, [0, 1, 2], radii=(), at=())
    content = ["unique_codes", "mean_active", "sd_active"]
    assert list(result) == ["map", "map_best", "map_worst", "ramap", *content]


@pytest.mark.parametrize("relevant", [[True, False], [[1, 0]]], ids=str)
def test_a_ranking_must_be_a_bool_matrix(relevant):
    with pytest.raises(InvalidInputError, match=r"bool of shape \(n_queries, n\), got "):
        average_precision_of_ranking(relevant)


def test_docstring_examples_run():
    result = doctest.testmod(retrieval)
    assert result.attempted > 0
    assert result.failed == 0
