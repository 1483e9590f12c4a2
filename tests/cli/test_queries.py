import json

import numpy as np
import pytest

import kinhash
from kinhash import HammingIndex


def test_queries_are_called_by_their_ids(run, codes, model, csv_file):
    words = ("--queries", csv_file, "--top-k", "1", "--format", "csv", "--limit", "2")
    done = run("search", codes, "--model", model, *words)
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["query", "1000", "1001"]


def test_a_text_finds_pictures_of_its_class(run, picture_items, pair_model, items):
    words = ("--modality", "text", "--query-text", "blue sky", "--query-text", "tree")
    words += ("--top-k", "5", "--format", "json")
    done = run("search", picture_items, "--model", pair_model, *words)
    assert done.code == 0
    blue, tree = json.loads(done.out)
    assert (blue["query"], tree["query"]) == ("blue sky", "tree")
    assert {items[1][match["id"]] for match in blue["matches"]} == {1}
    assert {items[1][match["id"]] for match in tree["matches"]} == {2}
    model = kinhash.load(pair_model)
    index = HammingIndex(model.encode(items[0], modality="image"))
    ids, distances = index.search_top_k(model.encode(["tree"], modality="text"), 5)[0]
    assert [match["id"] for match in tree["matches"]] == ids.tolist()
    assert [match["distance"] for match in tree["matches"]] == distances.tolist()


@pytest.mark.parametrize("modality", ["image", "text"])
def test_queries_may_be_of_any_modality(run, picture_items, pair_model, pairs, items, modality):
    words = ("--queries", pairs, "--modality", modality, "--top-k", "1", "--format", "csv")
    done = run("search", picture_items, "--model", pair_model, *words)
    assert done.code == 0
    rows = [tuple(map(int, line.split(","))) for line in done.out.splitlines()[1:]]
    assert len(rows) == 120
    assert np.mean([items[1][query] == items[1][item] for query, item, *_ in rows]) > 0.9


EMPTY = {
    "table": "",
    "csv": "query,id,distance,rank_distance\n",
    "json": '[\n{"query": "zzz", "n_matches": 0, "matches": []}\n]\n',
}


@pytest.mark.parametrize("output", EMPTY)
@pytest.mark.parametrize("words", [("--top-k", "5"), ("--radius", "16")])
def test_a_text_without_a_known_word_finds_nothing_and_says_so(
    run, picture_items, pair_model, output, words
):
    asked = ("--modality", "text", "--query-text", "zzz", *words, "--format", output)
    done = run("search", picture_items, "--model", pair_model, *asked)
    assert (done.code, done.out) == (0, EMPTY[output])
    assert done.err == (
        'The model knows none of the words of "zzz".\n1 query, 1 without a match; 0 matches.\n'
    )


def test_unknown_texts_leave_the_answers_of_others_as_they_are(run, picture_items, pair_model):
    words = ("search", picture_items, "--model", pair_model, "--modality", "text", "--top-k", "2")
    words += ("--format", "csv")
    alone = run(*words, "--query-text", "rose", "--query-text", "sky, blue").out
    mixed = run(*words, *("--query-text", "q"), *("--query-text", "rose"), "--query-text", "")
    assert mixed.out.splitlines() == alone.splitlines()[:3]
    assert alone.splitlines()[3].startswith('"sky, blue",')
    assert mixed.err.count("The model knows none of the words of") == 2


def test_rows_without_a_known_word_are_counted(run, picture_items, pair_model, tmp_path):
    (tmp_path / "asked.csv").write_text("id,text\n5,rose\n6,zzz\n")
    words = ("--queries", tmp_path / "asked.csv", "--modality", "text", "--top-k", "1")
    done = run("search", picture_items, "--model", pair_model, *words, "--format", "json")
    assert done.code == 0
    assert [(one["query"], one["n_matches"]) for one in json.loads(done.out)] == [(5, 1), (6, 0)]
    assert "1 query without a known word or entry: no match." in done.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--query-text", "rose"), 1, "has the modalities image, text. Say which one is meant"),
        (("--query-text", "rose", "--modality", "txt"), 1, "Did you mean 'text'?"),
        (
            ("--query-text", "rose", "--modality", "image"),
            1,
            "Modality 'image' was fitted on vectors of 6 numbers, not on texts.",
        ),
        (
            ("--modality", "text"),
            2,
            "'--queries' / '--query-text' / '--codes' / '--like': give exactly one of these.",
        ),
        (
            ("--queries", "digits", "--query-text", "rose", "--modality", "text"),
            2,
            "'--queries' / '--query-text' / '--codes' / '--like': give exactly one of these.",
        ),
    ],
)
def test_a_bad_query_text_is_one_sentence(run, picture_items, pair_model, words, code, message):
    done = run("search", picture_items, "--model", pair_model, *words, "--top-k", "1")
    assert (done.code, done.out) == (code, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_a_model_of_vectors_knows_no_words(run, codes, model):
    words = ("--query-text", "rose", "--top-k", "1")
    done = run("search", codes, "--model", model, *words)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: --query-text needs a model that was trained on texts, but {model} holds a "
        "sparsehash of vectors. Search with --queries.\n"
    )


def test_codes_of_a_file_are_searched_for_as_they_are(run, index, codes, model, npz):
    """What their own model finds, their codes find."""
    words = ("--radius", "2", "--format", "csv")
    done = run("search", index, "--codes", codes, *words)
    assert done.code == 0, done.err
    assert done.out == run("search", index, "--model", model, "--queries", npz, *words).out
    assert len(done.out.splitlines()) > 120


def test_codes_of_other_lengths_are_refused(run, index, tmp_path):
    asked = tmp_path / "asked.npy"
    np.save(asked, np.full((3, 4), 7, np.uint8))
    done = run("search", index, "--codes", asked, "--radius", "2")
    assert (done.code, done.out) == (1, "")
    assert f"error: {asked} must have 2 bytes for each code of 16 bits, got 4, which" in done.err
    kinhash.Codes.from_dense(np.eye(3, 24, dtype=int)).save(tmp_path / "asked.kinhash")
    done = run("search", index, "--codes", tmp_path / "asked.kinhash", "--radius", "2")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {tmp_path / 'asked.kinhash'} holds codes of 24 bits, 0 of them rank bits, but the "
        "items have codes of 16 bits, 0 of them rank bits.\n"
    )


def test_codes_of_another_encoder_are_doubted(run, index, codes, tmp_path):
    stored = kinhash.load(codes)
    stored.codes.save(tmp_path / "asked.kinhash", made_by="someone else")
    done = run("search", index, "--codes", tmp_path / "asked.kinhash", "--radius", "0")
    assert done.code == 0
    assert "warning: " in done.err
    assert "was made by encoder someone else, but the items by " in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--codes", "C", "--model", "M"), "'--model': leave it out: --codes are searched for as"),
        (("--codes", "C", "--modality", "text"), "'--modality': leave it out"),
        (
            ("--codes", "C", "--queries", "C"),
            "'--queries' / '--query-text' / '--codes' / '--like': give",
        ),
        (("--queries", "C"), "'--model': is missing: --queries and --query-text are encoded by it"),
        (("--queries", "C", "--model", "M", "--column", "c"), "'--column': it names what holds"),
        (("--codes", "C", "--rerank", "C"), "'--rerank': it compares vectors, so the queries must"),
    ],
)
def test_options_that_do_not_go_with_the_queries_are_wrong_usage(
    run, index, codes, model, words, told
):
    words = [{"C": codes, "M": model}.get(word, word) for word in words]
    done = run("search", index, "--radius", "1", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
