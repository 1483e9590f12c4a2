import csv
import io
import json
import re

import numpy as np
import pytest

import kinhash
from kinhash.cli.options import Similarity
from kinhash.reranking import SIMILARITIES


def test_the_metrics_are_those_of_the_library():
    assert {one.value for one in Similarity} == set(SIMILARITIES)


@pytest.fixture(scope="module")
def distances(codes):
    """The distance of every two items, by comparing their entries one by one."""
    dense = kinhash.load(codes).codes.to_dense()
    return (dense[:, None] != dense[None]).sum(axis=2)


def similarities(queries, vectors):
    """The cosine of every two, one by one."""
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(vectors, axis=1)
    return queries @ vectors.T / lengths


@pytest.fixture
def vectors(items, tmp_path):
    np.save(tmp_path / "vectors.npy", items[0].astype(np.float16))
    return tmp_path / "vectors.npy"


def test_rerank_puts_the_first_candidates_in_the_order_of_their_vectors(
    run, index, model, npz, distances, items, vectors
):
    words = ("--rerank", vectors, "--top-k", "3", "--candidates", "30", "--format", "json")
    done = run("search", index, "--model", model, "--queries", npz, *words)
    assert done.code == 0, done.err
    near = similarities(items[0], np.load(vectors).astype(np.float32))
    for answer, row, cosine in zip(json.loads(done.out), distances, near, strict=True):
        first = sorted(range(120), key=lambda item: (row[item], item))[:30]
        best = sorted(first, key=lambda item: -cosine[item])[:3]
        assert [match["id"] for match in answer["matches"]] == best
        assert answer["n_matches"] == 3
        for match in answer["matches"]:
            assert match["distance"] == row[match["id"]]
            assert match["similarity"] == pytest.approx(cosine[match["id"]], abs=1e-5)


@pytest.mark.parametrize("metric", ["dot", "l2"])
def test_all_within_a_radius_are_reranked_by_the_metric(
    run, index, model, npz, distances, items, vectors, metric
):
    words = ("--rerank", vectors, "--metric", metric, "--radius", "1", "--format", "csv")
    done = run("search", index, "--model", model, "--queries", npz, *words)
    assert done.code == 0, done.err
    stored = np.load(vectors).astype(np.float32)
    found = {}
    for row in csv.DictReader(io.StringIO(done.out)):
        assert list(row) == ["query", "id", "distance", "similarity"]
        found.setdefault(int(row["query"]), []).append((int(row["id"]), float(row["similarity"])))
    for query, row in enumerate(distances):
        near = {
            "dot": stored @ items[0][query],
            "l2": -np.linalg.norm(stored - items[0][query], axis=1),
        }[metric]
        within = sorted(np.flatnonzero(row <= 1).tolist(), key=lambda item: -near[item])
        assert [item for item, _ in found[query]] == within
        assert [one for _, one in found[query]] == pytest.approx(near[within], rel=1e-4, abs=1e-4)


def test_items_with_ids_are_reranked_by_data_with_ids(
    run, codes, model, csv_file, vectors, tmp_path
):
    items = tmp_path / "named.kinhash"
    assert run("encode", model, csv_file, "--out", items).code == 0
    words = ("--model", model, "--queries", csv_file, "--top-k", "1", "--format", "csv")
    done = run("search", items, *words, "--rerank", csv_file)
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["query"] for row in rows] == [row["id"] for row in rows]
    done = run("search", items, *words, "--rerank", vectors)
    assert (done.code, done.out) == (1, "")
    assert "has 120 rows without ids, so row i must be item i, but there is an item 1" in done.err
    done = run("search", codes, *words, "--rerank", csv_file)
    assert done.code == 1
    assert f"error: --rerank {csv_file} must have a vector of each item, but none has" in done.err


def test_items_with_strings_as_ids_are_reranked_too(run, model, items, vectors, tmp_path):
    rows = [f"sku {i},{','.join(map(str, vector))}" for i, vector in enumerate(items[0].tolist())]
    table = tmp_path / "items.csv"
    table.write_text("\n".join(["id,a,b,c,d,e,f", *rows]) + "\n")
    assert run("encode", model, table, "--out", tmp_path / "named.kinhash").code == 0
    words = ("search", tmp_path / "named.kinhash", "--model", model, "--queries", table)
    words = (*words, "--top-k", "1", "--format", "json", "--rerank")
    done = run(*words, table)
    assert done.code == 0, done.err
    found = {answer["query"]: answer["matches"][0]["id"] for answer in json.loads(done.out)}
    assert found == {f"sku {i}": f"sku {i}" for i in range(120)}
    done = run(*words, vectors)
    assert (done.code, done.out) == (1, "")
    assert "has 120 rows without ids, so row i must be item i, but there is an item 'sku" in (
        done.err
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--metric", "dot"), "'--metric': it says how to put matches in order"),
        (("--candidates", "9"), "'--candidates': it says how to put matches in order"),
        (("--rerank", "V", "--candidates", "2"), "must be at least --top-k, which is 3, got 2."),
        (("--rerank", "V", "--metric", "far"), "'--metric'"),
    ],
)
def test_options_of_reranking_that_do_not_go_together_are_wrong_usage(
    run, index, model, npz, vectors, words, told
):
    words = [vectors if word == "V" else word for word in words]
    done = run("search", index, "--model", model, "--queries", npz, "--top-k", "3", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_candidates_go_with_top_k(run, index, model, npz, vectors):
    words = ("--radius", "1", "--rerank", vectors, "--candidates", "9")
    done = run("search", index, "--model", model, "--queries", npz, *words)
    assert done.code == 2
    assert "'--candidates': it goes with --top-k; --radius finds its own candidates." in done.err


def test_vectors_that_cannot_rerank_are_named(run, index, model, npz, items, tmp_path):
    path = tmp_path / "bad.npy"
    words = ("search", index, "--model", model, "--queries", npz, "--top-k", "3", "--rerank", path)
    np.save(path, items[0][:, :4])
    assert run(*words).err == (
        f"error: --rerank {path} has vectors of width 4, but the queries are 6 wide. Both must be "
        "of the same kind.\n"
    )
    broken = items[0].copy()
    broken[[3, 50, 90]] = np.nan
    np.save(path, broken)
    done = run(*words)
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(
        r"error: --rerank must be finite, but row (3|50|90) holds NaN or infinity\.\n", done.err
    )


def test_vectors_of_other_types_are_converted(run, index, model, npz, items, tmp_path):
    words = ("search", index, "--model", model, "--queries", npz, "--top-k", "1", "--rerank")
    outs = []
    for kind in (np.float64, np.float32):
        np.save(tmp_path / "items.npy", items[0].astype(kind))
        outs.append(run(*words, tmp_path / "items.npy").out)
    assert outs[0] == outs[1]
    assert len(outs[0].splitlines()) == 51


def test_texts_are_not_reranked(run, picture_items, pair_model, pairs, items, tmp_path):
    np.save(tmp_path / "vectors.npy", items[0])
    rerank = ("--rerank", tmp_path / "vectors.npy", "--top-k", "3", "--format", "json")
    words = ("search", picture_items, "--model", pair_model, *rerank)
    done = run(*words, "--modality", "text", "--query-text", "red rose")
    assert done.code == 2
    assert "'--rerank': it compares vectors, so the queries must come from --queries." in done.err
    done = run(*words, "--modality", "text", "--queries", pairs)
    assert done.code == 1
    assert "error: --rerank compares vectors with vectors, but the queries are a mod" in done.err
    done = run(*words, "--modality", "image", "--queries", pairs)
    assert done.code == 0, done.err
    found = [answer["matches"][0]["id"] for answer in json.loads(done.out)]
    near = similarities(items[0], items[0])
    assert np.mean([near[q, item] > 0.99 for q, item in enumerate(found)]) > 0.9
