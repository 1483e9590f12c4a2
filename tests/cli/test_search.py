import csv
import io
import json
import re

import numpy as np
import pytest

import kinhash
from kinhash import Codes, HammingIndex
from kinhash.cli import main


@pytest.fixture(scope="module")
def distances(codes):
    """The distance of every two items, by comparing their entries one by one."""
    dense = kinhash.load(codes).codes.to_dense()
    return (dense[:, None] != dense[None]).sum(axis=2)


def test_csv_lists_every_match_within_the_radius(run, codes, model, npz, distances):
    words = ("--queries", npz, "--radius", "1", "--format", "csv")
    done = run("search", codes, "--model", model, *words)
    assert done.code == 0
    rows = list(csv.DictReader(io.StringIO(done.out)))
    found = {(int(row["query"]), int(row["id"])): int(row["distance"]) for row in rows}
    expected = {
        (int(query), int(item)): int(distances[query, item])
        for query, item in zip(*np.nonzero(distances <= 1), strict=True)
    }
    assert found == expected
    assert len(rows) == len(expected)
    assert f"120 queries, 0 without a match; {len(rows):,} matches." in done.err


def test_json_lists_the_nearest_of_each_query(run, codes, model, npz, distances):
    words = ("--queries", npz, "--top-k", "3", "--format", "json")
    done = run("search", codes, "--model", model, *words)
    assert done.code == 0
    answers = json.loads(done.out)
    assert [answer["query"] for answer in answers] == list(range(120))
    for answer, row in zip(answers, distances, strict=True):
        nearest = sorted(range(120), key=lambda item: (row[item], item))[:3]
        assert answer["n_matches"] == 3
        assert answer["matches"] == [{"id": i, "distance": row[i]} for i in nearest]


@pytest.mark.parametrize("words", [(), ("--radius", "1", "--top-k", "2")])
def test_exactly_one_of_radius_and_top_k_is_wanted(run, codes, model, npz, words):
    done = run("search", codes, "--model", model, "--queries", npz, *words)
    assert (done.code, done.out) == (2, "")
    assert "'--radius' / '--min-precision' / '--top-k': give exactly one of these." in done.err
    assert "See kinhash search --help." in done.err


@pytest.mark.parametrize(
    "words", [("--radius", "-1"), ("--top-k", "0"), ("--limit", "-1"), ("--threads", "0")]
)
def test_a_number_out_of_range_is_wrong_usage(run, codes, model, npz, words):
    done = run("search", codes, "--model", model, "--queries", npz, *words)
    assert done.code == 2
    assert f"Invalid value for '{words[0]}'" in done.err


def test_a_model_is_no_items(run, model, npz):
    done = run("search", model, "--model", model, "--queries", npz, "--radius", "1")
    assert done.code == 1
    assert (
        done.err == f"error: {model} must hold an index or codes, such as `kinhash index` or "
        "`encode` writes, but it holds a model.\n"
    )


def test_a_missing_file_is_named(run, model, npz):
    done = run("search", "nowhere", "--model", model, "--queries", npz, "--radius", "1")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: Cannot read nowhere: no such file or directory.\n"


@pytest.mark.parametrize("kept", [7, 30, 1000, -1])
def test_an_index_that_is_cut_short_is_an_error(run, index, model, npz, tmp_path, kept):
    short = tmp_path / "short.kinhash"
    short.write_bytes(index.read_bytes()[:kept])
    done = run("search", short, "--model", model, "--queries", npz, "--radius", "1")
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(rf"error: {short} is .*cut short.*\n", done.err)


def test_the_number_of_threads_changes_no_answer(run, index, model, npz):
    words = ("--queries", npz, "--radius", "4", "--format", "csv")
    answers = {
        run("search", index, "--model", model, *words, *threads).out
        for threads in ((), ("--threads", "1"), ("--threads", "3"), ("--n-threads", "2"))
    }
    assert len(answers) == 1


def test_the_threads_are_those_asked_for(run, index, model, npz, monkeypatch):
    asked = []
    search_top_k = kinhash.HammingIndex.search_top_k

    def spy(self, *arguments, **options):
        asked.append(options["n_threads"])
        return search_top_k(self, *arguments, **options)

    monkeypatch.setattr(kinhash.HammingIndex, "search_top_k", spy)
    words = ("--queries", npz, "--top-k", "1", "--threads", "3")
    assert run("search", index, "--model", model, *words).code == 0
    assert set(asked) == {3}


# Rank bits


@pytest.fixture(scope="module")
def nested(npz, tmp_path_factory):
    """A folder with a model of codes with rank bits, codes of `items` by it, and their index."""
    folder = tmp_path_factory.mktemp("nested")
    model, codes = str(folder / "model"), str(folder / "codes")
    words = ["--method", "nested", "--bits", "16", "--set", "n_rank_bits=6", "--set", "bucket=lsh"]
    assert main(["train", str(npz), "--out", model, *words]) == 0
    assert main(["encode", model, str(npz), "--out", codes]) == 0
    assert main(["index", codes, "--out", str(folder / "index")]) == 0
    return folder


@pytest.fixture(scope="module")
def ranked(nested):
    """By order: for each query, `(id, distance, rank distance)` of all items, by naive loops."""
    stored = kinhash.load(nested / "codes").codes
    bucket, rank = stored.to_dense(), stored.rank_to_dense()
    assert (bucket.shape[1], rank.shape[1]) == (10, 6)
    keys = {
        "nested": lambda match: (match[1], match[2], match[0]),
        "total": lambda match: (match[1] + match[2], match[0]),
    }
    rows = [
        [
            (i, int((bucket[q] != bucket[i]).sum()), int((rank[q] != rank[i]).sum()))
            for i in range(120)
        ]
        for q in range(120)
    ]
    return {order: [sorted(row, key=key) for row in rows] for order, key in keys.items()}


@pytest.mark.parametrize("kind", ["codes", "index"])
@pytest.mark.parametrize("words", [("--top-k", "9"), ("--radius", "3")])
@pytest.mark.parametrize("order", [None, "nested", "total"])
def test_rank_bits_order_what_is_found(run, nested, npz, ranked, kind, words, order):
    asked = ("search", nested / kind, "--model", nested / "model", "--queries", npz, *words)
    asked += ("--limit", "0", *(() if order is None else ("--order", order)))
    expected = [
        [match for match in row if match[1] <= 3] if words[0] == "--radius" else row[:9]
        for row in ranked[order or "nested"]
    ]
    flat = [[query, *match] for query, row in enumerate(expected) for match in row]
    header, *lines = run(*asked, "--format", "csv").out.splitlines()
    assert header == "query,id,distance,rank_distance"
    assert [[int(cell) for cell in line.split(",")] for line in lines] == flat
    header, *lines = run(*asked).out.splitlines()
    assert header.split() == ["query", "id", "distance", "rank_distance"]
    assert [[int(cell) for cell in line.split()] for line in lines] == flat
    names = ("id", "distance", "rank_distance")
    assert json.loads(run(*asked, "--format", "json").out) == [
        {
            "query": query,
            "n_matches": len(row),
            "matches": [dict(zip(names, match, strict=True)) for match in row],
        }
        for query, row in enumerate(expected)
    ]


def test_the_orders_differ_where_rank_bits_do(ranked):
    assert ranked["nested"] != ranked["total"]


@pytest.mark.parametrize("words", [("--top-k", "4"), ("--radius", "2")])
def test_without_rank_bits_there_is_one_order(run, index, model, npz, words):
    asked = ("search", index, "--model", model, "--queries", npz, *words, "--format", "csv")
    plain = run(*asked)
    assert plain.out.startswith("query,id,distance\n")
    assert run(*asked, "--order", "total") == run(*asked, "--order", "nested") == plain


def test_an_unknown_order_is_wrong_usage(run, index, model, npz):
    words = ("--queries", npz, "--top-k", "1", "--order", "sum")
    done = run("search", index, "--model", model, *words)
    assert (done.code, done.out) == (2, "")
    assert "Invalid value for '--order': 'sum' is not one of 'nested', 'total'." in done.err


@pytest.mark.parametrize("kind", ["codes", "index"])
def test_a_model_of_other_rank_bits_is_refused_with_both_numbers(run, request, nested, npz, kind):
    remedy = "Give the model that made them as --model, or encode the items again with this one.\n"
    words = ("--queries", npz, "--top-k", "1")
    flat, model = request.getfixturevalue(kind), request.getfixturevalue("model")
    done = run("search", nested / kind, "--model", model, *words)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {nested / kind} holds codes of 16 bits, 6 of them rank bits, but the model makes "
        f"codes of 16 bits, 0 of them rank bits. {remedy}"
    )
    done = run("search", flat, "--model", nested / "model", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {flat} holds codes of 16 bits, 0 of them rank bits, but the model makes "
        f"codes of 16 bits, 6 of them rank bits. {remedy}"
    )


@pytest.mark.parametrize("kind", ["codes", "index"])
def test_rank_bits_that_are_cut_short_are_an_error(run, nested, npz, tmp_path, kind):
    short, whole = tmp_path / "short.kinhash", (nested / kind).read_bytes()
    for lost in (1, 64, 500):
        short.write_bytes(whole[:-lost])
        words = ("--queries", npz, "--top-k", "1")
        done = run("search", short, "--model", nested / "model", *words)
        assert (done.code, done.out) == (1, "")
        assert re.fullmatch(rf"error: {short} is .*cut short.*\n", done.err)


def test_the_notes_name_both_parts(run, nested, npz, tmp_path):
    n_buckets = kinhash.load(nested / "codes").codes.n_unique
    done = run("encode", nested / "model", npz, "--out", tmp_path / "codes")
    assert done.err == (
        f"Wrote {tmp_path / 'codes'}: 120 codes of 16 bits, 6 of them rank bits, "
        f"{n_buckets} different buckets.\n"
    )
    done = run("index", tmp_path / "codes", "--out", tmp_path / "index")
    assert f" 120 items with {n_buckets} different buckets, " in done.err
    facts = json.loads(run("info", tmp_path / "index", "--format", "json").out)
    assert (facts["n_bits"], facts["n_bucket_bits"], facts["n_rank_bits"]) == (16, 10, 6)


# Models that do not fit


@pytest.mark.parametrize("n_bits", [16, 24])
@pytest.mark.parametrize("kind", ["codes", "index"])
def test_a_model_that_did_not_make_the_items_is_refused(run, request, npz, tmp_path, kind, n_bits):
    items, other = request.getfixturevalue(kind), tmp_path / "other.kinhash"
    assert run("train", npz, "--out", other, "--method", "lsh", "--n-bits", n_bits).code == 0
    done = run("search", items, "--model", other, "--queries", npz, "--radius", "1")
    assert (done.code, done.out) == (1, "")
    if n_bits == 16:
        assert re.search(r"was made by encoder \w{16}, but the model's is \w{16}\.", done.err)
    else:
        assert "holds codes of 16 bits, but the model makes codes of 24 bits." in done.err
    assert "Give the model that made them as --model, or encode the items again" in done.err


def test_a_model_of_another_length_is_refused_by_an_index_that_knows_no_encoder(
    run, model, npz, items, tmp_path
):
    index = tmp_path / "items.kinhash"
    HammingIndex(Codes.from_dense(np.eye(24, dtype=int))).save(index)
    done = run("search", index, "--model", model, "--queries", npz, "--radius", "1")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {index} holds codes of 24 bits, but the model makes codes of 16 bits. "
        "Give the model that made them as --model, or encode the items again with this one.\n"
    )


def test_an_index_of_one_modality_is_searched_with_another(
    run, picture_items, pair_model, tmp_path
):
    index = tmp_path / "items.kinhash"
    assert run("index", picture_items, "--out", index).code == 0
    words = ("--modality", "text", "--query-text", "rose", "--radius", "3")
    found = run("search", index, "--model", pair_model, *words)
    assert found.code == 0
    assert found.out == run("search", picture_items, "--model", pair_model, *words).out


def test_items_of_another_model_of_several_modalities_are_refused(
    run, picture_items, pair_model, pairs, codes, tmp_path
):
    other = tmp_path / "other.kinhash"
    other_words = ("--modalities", "image,text", "--n-bits", "16", "--seed", "7")
    assert run("train", pairs, "--out", other, *other_words).code == 0
    asked = ("--modality", "text", "--query-text", "rose", "--radius", "3")
    for items, model in ((picture_items, other), (codes, pair_model)):
        done = run("search", items, "--model", model, *asked)
        assert (done.code, done.out) == (1, "")
        assert re.search(
            r"was made by encoder \w{16}, but the model's are \w{16}, \w{16}\.", done.err
        ) or (items is codes and "holds codes of" in done.err)


def test_csv_has_a_column_of_rank_distances_also_without_a_match(run, nested, items, tmp_path):
    np.save(tmp_path / "a.npy", items[0][:1])
    np.save(tmp_path / "b.npy", items[0][-1:])
    model = nested / "model"
    assert run("encode", model, tmp_path / "a.npy", "--out", tmp_path / "codes").code == 0
    words = ("--queries", tmp_path / "b.npy", "--radius", "0", "--format", "csv")
    done = run("search", tmp_path / "codes", "--model", model, *words)
    assert (done.code, done.out) == (0, "query,id,distance,rank_distance\n")


def test_matches_are_lines_of_json(run, codes, model, npz):
    words = ("search", codes, "--model", model, "--queries", npz, "--top-k", 2, "--format")
    lines = [json.loads(line) for line in run(*words, "jsonl").out.splitlines()]
    found = json.loads(run(*words, "json").out)
    assert lines == [{"query": one["query"], **match} for one in found for match in one["matches"]]
