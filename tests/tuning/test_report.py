import re

from kinhash.tuning import tune
from kinhash.tuning.report import write


def test_the_page_has_the_figure_and_all_that_was_tried(train, tmp_path):
    found = tune(*train, want="precision>=0.5, bytes<=2", methods=["itq"])
    write(tmp_path / "page.html", found, "digits <of> mine")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "Settings for digits &lt;of&gt; mine" in text
    assert str(found.goal).replace(">", "&gt;").replace("<", "&lt;") in text
    assert text.count("data:image/svg") == 1
    assert "As the collection grows" in text
    everything = text[text.index("All that was tried") :]
    assert len(re.findall("<tr", everything)) - 1 >= len(found.points)


def test_of_calibrated_methods_the_page_shows_whether_promises_are_kept(blobs, tmp_path):
    found = tune(*blobs, want="precision>=0.5, bytes<=8", methods=["sparsehash"])
    assert found.chosen.record["reliability"]
    write(tmp_path / "page.html", found, "blobs")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "How sure answers are" in text
    assert text.count("data:image/svg") == 2


def test_of_few_rows_there_is_no_growth(blobs, tmp_path):
    found = tune(*blobs, want="precision>=0.5, bytes<=2", methods=["lsh"])
    write(tmp_path / "page.html", found, "blobs")
    assert "As the collection grows" not in (tmp_path / "page.html").read_text("utf-8")
