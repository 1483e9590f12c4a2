import re
from html.parser import HTMLParser

import pytest

from kinhash.errors import InvalidInputError
from kinhash.show.html import Fact, Item, Pair, Section, write_report

PIXEL = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


def written(path, **parts):
    write_report(path, **{"title": "Title", "lead": "Lead.", "sections": [], **parts})
    return path.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every start tag, and the tags that were never closed."""

    VOID = ("meta", "img")

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


FULL = Section(
    "Section",
    paragraphs=["One.", "Two."],
    image=PIXEL,
    caption="What it shows.",
    rows=[{"method": "LSH", "map": 0.5}],
    strong="LSH",
    note="Small print.",
    commands=["kinhash info model.kinhash", "kinhash --help"],
)


def test_everything_given_is_on_the_page(path):
    page = written(path, facts=[Fact("Name", "42 %", "Note")], sections=[FULL], footer="The end.")
    for text in (
        "<h1>Title</h1>",
        "<title>Title</title>",
        "Lead.",
        "42 %",
        "<h2>Section</h2>",
        "<p>One.</p>\n<p>Two.</p>",
        f'<img src="{PIXEL}" alt="What it shows.">',
        "<figcaption>What it shows.</figcaption>",
        "50.00",
        '<tr class="strong">',
        "Small print.",
        "<pre>kinhash info model.kinhash\nkinhash --help</pre>",
        "<footer>The end.</footer>",
    ):
        assert text in page


def test_what_is_empty_is_left_out(path):
    tags = {tag for tag, _ in Elements(written(path, sections=[Section("Only")])).found}
    assert not tags & {"figure", "img", "table", "pre", "dl", "footer"}


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(path):
    page = written(path, facts=[Fact("a", "b", "c")], sections=[FULL, FULL], footer="End.")
    elements = Elements(page)
    assert not elements.open
    assert not re.search(r"https?://|//[a-z]|@import|url\(", page)
    assert not {tag for tag, _ in elements.found} & {"script", "link", "iframe", "object"}
    for _, attributes in elements.found:
        assert attributes.get("src", "data:").startswith("data:")
        assert "href" not in attributes


def test_all_text_is_escaped(path):
    evil = '"><script>alert(1)</script>&'
    section = Section(
        evil,
        paragraphs=[evil],
        image=PIXEL,
        caption=evil,
        rows=[{evil: evil}],
        note=evil,
        commands=[evil],
    )
    page = written(
        path,
        title=evil,
        lead=evil,
        facts=[Fact(evil, evil, evil)],
        sections=[section],
        footer=evil,
    )
    assert "<script" not in page
    assert '"">' not in page
    assert not Elements(page).open


@pytest.mark.parametrize("image", ["https://example.org/a.png", "/a.png", "data:text/html,x"])
def test_an_image_from_elsewhere_is_refused_and_nothing_is_written(path, image):
    with pytest.raises(InvalidInputError, match="`image` must be a data: URI of an image, got"):
        written(path, sections=[Section("S", image=image)])
    assert not path.exists()


def test_a_failed_write_leaves_the_old_report(path, monkeypatch):
    written(path, title="Old")

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(path, title="New", lead="", sections=[])
    assert "Old" in path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot write .*nowhere"):
        write_report(tmp_path / "nowhere" / "r.html", title="", lead="", sections=[])


def test_large_numbers_stand_below_the_first_section(tmp_path):
    page = written(
        tmp_path / "page.html",
        facts=[Fact("Name", "42 %", "Note")],
        sections=[Section("The first"), Section("The second")],
    )
    assert page.index("The first") < page.index("42 %") < page.index("The second")


def test_items_stand_side_by_side(tmp_path):
    pair = Pair("similarity 0.9", Item("a", "<i>text"), Item("b", image="data:image/png;base64,AA"))
    write_report(tmp_path / "p.html", title="t", lead="", sections=[Section("s", pairs=[pair])])
    page = (tmp_path / "p.html").read_text("utf-8")
    assert "<h3>similarity 0.9</h3>" in page
    assert "<b>a</b><p>&lt;i&gt;text</p>" in page
    assert '<b>b</b><img src="data:image/png;base64,AA" alt="b">' in page
    wrong = Section("s", pairs=[Pair("", Item("a", image="http://x"), Item("b"))])
    with pytest.raises(InvalidInputError, match="must be a data: URI"):
        write_report(tmp_path / "q.html", title="t", lead="", sections=[wrong])
