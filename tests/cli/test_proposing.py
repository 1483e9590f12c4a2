import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """A CSV file of 60 texts, and of 20 of them again with a word more."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(300)]
    own = [" ".join(rng.choice(words, 12)) for _ in range(60)]
    lines = [f"{i},{text}" for i, text in enumerate([*own, *(f"{one} more" for one in own[:20])])]
    path = tmp_path / "items.csv"
    path.write_text("\n".join(["id,title", *lines]) + "\n")
    return path


def test_without_a_limit_one_is_proposed_and_nothing_written(run, table, tmp_path):
    page, out = tmp_path / "page.html", tmp_path / "groups.csv"
    done = run("dedup", table, "--text", "title", "--report", page)
    assert done.code == 0
    assert done.out.startswith("similarity  groups  to_drop  largest  of 2")
    assert "Pairs near some of these limits:" in done.out
    assert "copies seem to end there" in done.err
    assert "This rests on all 80 rows" in done.err
    assert "No groups were made: no limit was chosen. Proposed: --similarity 0." in done.err
    assert done.err.splitlines()[-1] == f"Wrote {page}."
    assert "<h1>Duplicates in items</h1>" in page.read_text("utf-8")
    refused = run("dedup", table, "--text", "title", "--out", out)
    assert refused.code == 1
    assert refused.err.splitlines()[-1] == (
        f"error: {out} was not written: no limit was chosen. Run this again with --similarity."
    )
    assert not out.exists()
    assert run("dedup", table, "--text", "title", "--report", page).code == 1  # it is there


def test_formats_have_raw_values(run, table):
    found = json.loads(run("dedup", table, "--text", "title", "--format", "json").out)
    assert list(found) == ["proposed", "reason", "basis", "limits", "samples"]
    assert found["limits"][0]["similarity"] == 0.99
    assert found["samples"][0]["text"].count("word") == 12
    assert found["samples"][0]["linked"] is True
    csv = run("dedup", table, "--text", "title", "--format", "csv").out
    assert csv.startswith("similarity,groups,to_drop,largest,")


def test_pictures_are_on_the_page(run, tmp_path):
    done = run("dedup", "digits", "--report", tmp_path / "page.html")
    assert done.code == 0
    assert "data:image/jpeg;base64," in (tmp_path / "page.html").read_text("utf-8")


def test_long_texts_are_shown_where_they_differ():
    from kinhash.cli import proposing

    same = "the same words over and over again " * 4
    pair = {"limit": 0.9, "linked": True, "similarity": 0.95, "id": "a", "other": "bcd"}
    pair |= {"text": f"{same}, one", "other text": f"{same}, two and a long end {same}"}
    title, one, other = proposing._side_by_side([pair]).splitlines()
    assert title == "similarity 0.95, linked at 0.9"
    assert one.startswith("    a  ...")
    assert one.endswith(", one")
    assert other.startswith("  bcd  ...")
    assert ", two and" in other
    assert max(len(one), len(other)) == 7 + proposing.WIDTH
    short = pair | {"linked": False, "text": "red hat", "other text": "red hats"}
    assert proposing._side_by_side([short]) == (
        "similarity 0.95, not linked at 0.9\n    a  red hat\n  bcd  red hats"
    )


def test_against_another_table(run, table, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("id,title\n" + "".join(table.read_text().splitlines(keepends=True)[70:]))
    done = run("dedup", new, "--against", table, "--text", "title")
    assert done.code == 0
    assert "to_drop" in done.out
