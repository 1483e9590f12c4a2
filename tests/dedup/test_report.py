import numpy as np

from kinhash.dedup import propose, report
from kinhash.show.html import Item


def texts():
    words = [f"w{i}" for i in range(60)]
    rng = np.random.default_rng(0)
    own = [" ".join(rng.choice(words, 12)) for _ in range(60)]
    return [*own, *(f"{text} more" for text in own[:20])]


def test_a_row_for_each_limit_names_the_proposed_one():
    proposal = propose(texts())
    rows = report.rows_of(proposal)
    assert [row["similarity"] for row in rows] == [one.limit for one in proposal.outcomes]
    assert [row["similarity"] for row in rows if row["proposed"]] == [proposal.proposed]
    assert list(rows[0])[1:5] == ["groups", "to_drop", "largest", "of 2"]


def test_the_page_shows_pairs_side_by_side(tmp_path):
    given = [*texts(), "<b>&", "<b>&"]
    proposal = propose(given)
    path = tmp_path / "page.html"
    report.write(path, proposal, "mine", shown=lambda row: Item(f"row {row}", given[row]))
    page = path.read_text("utf-8")
    assert "<h1>Duplicates in mine</h1>" in page
    assert page.count('<div class="pair">') == len(proposal.samples) > 0
    sample = proposal.samples[0]
    assert f"<b>row {sample.row}</b>" in page
    assert ", the proposed limit</h2>" in page
    assert "Nobody has said which pairs are duplicates" in page
    assert "<b>&</p>" not in page


def test_a_page_without_a_proposal_says_why(tmp_path):
    proposal = propose(np.random.default_rng(0).normal(size=(100, 200)))
    assert proposal.proposed is None
    report.write(tmp_path / "p.html", proposal, "mine", shown=lambda row: Item(str(row)))
    assert proposal.reason in (tmp_path / "p.html").read_text("utf-8")
