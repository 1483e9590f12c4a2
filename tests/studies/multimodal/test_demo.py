import pytest

from kinhash import load
from kinhash.datasets import load as load_dataset
from kinhash.errors import InvalidInputError
from kinhash.measures import MULTIMODAL_DEMO
from kinhash.metrics import evaluate_codes
from kinhash.studies.multimodal import demo as multimodal_demo
from kinhash.studies.multimodal.demo import digits_meant, run_multimodal_demo

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.CollapseWarning")  # few steps

DIRECTIONS = [("image", "image"), ("text", "text"), ("image", "text"), ("text", "image")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A demo of short codes, and what it reported on the way."""
    heard = []
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    result = run_multimodal_demo(out, report=lambda *said: heard.append(said), n_bits=16)
    return result, heard


def test_the_demo_leaves_a_report_and_a_model_and_nothing_else(finished):
    result, _ = finished
    folder = result.report.parent
    assert sorted(file.name for file in folder.iterdir()) == ["model.kinhash", "report.html"]
    assert result.model == folder / "model.kinhash"


def test_the_rows_cover_both_methods_in_all_directions(finished):
    rows = finished[0].rows
    assert [(row["method"], row["query"], row["database"]) for row in rows] == [
        (method, *direction)
        for method in ("CMSSH", "MultimodalSparseHash")
        for direction in DIRECTIONS
    ]
    assert all(0 < row["map"] <= 1 for row in rows)


def test_the_saved_model_gives_the_same_measures_again(finished):
    result, _ = finished
    model, data = load(result.model), load_dataset("digits-words")
    part = data.split(0)
    found = evaluate_codes(
        model.encode([data.texts[row] for row in part.query], modality="text"),
        data.labels[part.query],
        model.encode(data.vectors[part.database], modality="image"),
        data.labels[part.database],
    )
    row = result.rows[-1]
    assert (row["query"], row["database"]) == ("text", "image")
    assert row["map"] == found["map"]
    assert row["f1@r2"] == found["f1@r2"]


def test_the_report_is_self_contained_and_says_that_the_texts_are_made_up(finished):
    page = finished[0].report.read_text(encoding="utf-8")
    assert page.count("<img ") == page.count('src="data:image/') == 2
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "The texts are made up for this demo, with a fixed seed" in page
    plate, table = page.index("Words find pictures</h2>"), page.index("<table>")
    assert plate < page.index('class="facts"') < table, "the plate comes first"
    assert "Words that say nothing of a digit, such as big or thin, are left out" in page
    assert "--query-text three" in page


def test_progress_goes_from_nothing_to_all(finished):
    steps = [(done, total) for done, total, _ in finished[1]]
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_existing_files_are_kept_unless_forced(tmp_path):
    (tmp_path / "model.kinhash").write_text("precious")
    with pytest.raises(InvalidInputError, match=r"already holds model\.kinhash"):
        run_multimodal_demo(tmp_path)
    assert (tmp_path / "model.kinhash").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("three", [3]),
        ("drei odd", [3]),
        ("even prime", [2]),
        ("square loop odd", [9]),
        ("even", [0, 2, 4, 6, 8]),
        ("three even", []),
        ("paper", []),
    ],
)
def test_words_mean_the_digits_that_all_of_them_apply_to(words, digits):
    assert digits_meant(words) == digits


def test_every_name_and_every_pair_of_traits_that_means_a_digit_is_searched_for():
    found = multimodal_demo.queries()
    assert len(found) == len(set(found)) == 30 + 7
    assert all(digits_meant(words) for words in found)
    assert {"zwei", "even prime", "square loop"} <= set(found)
    assert {"even odd", "prime square", "prime loop"}.isdisjoint(found)


def test_words_are_ranked_by_how_often_they_are_found_without_those_that_say_nothing():
    marked = multimodal_demo._marked_words(["odd ink three", "three odd", "three seven"], 3)
    assert marked == [("three", True), ("odd", True), ("seven", False)]


def test_what_is_right_is_counted_by_method():
    right = {"A": [[True, False], [True]], "B": [[], [False]]}
    assert multimodal_demo._count(right) == "A 2 of 3, B 0 of 1"


def test_a_plate_has_queries_even_if_methods_never_differ():
    assert multimodal_demo._most_disputed({"A": [1, 1], "B": [1, 1]}, [0, 1], 6) == [0, 1]
    assert multimodal_demo._most_disputed({"A": [1, 1], "B": [1, 0]}, [0, 1], 6) == [1]


def row(method, query, database, **rates):
    zeros = dict.fromkeys(MULTIMODAL_DEMO, 0.5)
    return {"method": method, "query": query, "database": database, **zeros, **rates}


def test_the_report_says_where_the_rival_is_ahead():
    rows = [
        row("CMSSH", "image", "text", **{"mp@50": 0.625}),
        row("MultimodalSparseHash", "image", "text", map=0.75),
    ]
    assert multimodal_demo._rivals_sentence(rows) == (
        "CM-SSH is ahead, in percent, in precision at first 50 of image to text (62.5 against "
        "50.0); and nowhere else."
    )
    rows[0]["mp@50"] = 0.5
    assert "nowhere ahead" in multimodal_demo._rivals_sentence(rows)
