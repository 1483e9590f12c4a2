"""The report: one HTML file that needs nothing beside itself, not even a network."""

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass

from kinhash import storage
from kinhash.errors import InvalidInputError
from kinhash.show.tables import Row, html_table

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #5b6875; --line: #dfe4ea; --page: #f6f8fa;
  --card: #ffffff; --accent: #0072b2; --tint: #eaf4fb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #a3afba; --line: #37424d;
  --page: #14191e; --card: #1d242b; --accent: #63b8ea; --tint: #1c3444; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 56px 24px 40px; }
h1 { font-size: 2.3rem; line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 12px; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 8px; }
p { max-width: 84ch; margin: 0 0 12px; }
.lead { font-size: 1.15rem; color: var(--soft); margin-bottom: 28px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(230px, 1fr)); gap: 16px;
  margin: 0 0 28px; }
.fact, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.fact { padding: 18px 22px; }
.fact:first-child { border-color: var(--accent); background: var(--tint); }
.fact dt { font-weight: 600; }
.fact dd { margin: 0; color: var(--soft); font-size: 0.92rem; }
.fact .value { color: var(--ink); font-size: 1.45rem; font-weight: 650; line-height: 1.35;
  font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.fact:first-child .value { color: var(--accent); }
section { padding: 28px 32px 24px; margin: 0 0 24px; }
figure { margin: 16px 0 4px; }
figure img { display: block; width: 100%; height: auto; padding: 10px;
  background: #ffffff; border-radius: 8px; }
figcaption, .note { color: var(--soft); font-size: 0.92rem; max-width: 96ch; margin-top: 10px; }
.scroll { overflow-x: auto; margin: 16px 0 8px; }
table { border-collapse: collapse; width: 100%; font-size: 0.82rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: 7px 5px; text-align: left; white-space: nowrap; }
th { font-weight: 600; }
th small { font-weight: 400; color: var(--soft); }
th.group { text-align: center; color: var(--soft); border-bottom: 1px solid var(--line); }
thead tr:last-child th { border-bottom: 2px solid var(--line); }
tbody td { border-bottom: 1px solid var(--line); }
tbody tr.strong td { background: var(--tint); }
.dot { display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.5em;
  border-radius: 50%; }
.number { text-align: right; }
pre { background: var(--page); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 16px; overflow-x: auto; font: 0.9rem/1.6 ui-monospace, monospace; }
.pair { border-top: 1px solid var(--line); padding: 12px 0 4px; }
.pair h3 { font-size: 0.92rem; font-weight: 600; color: var(--soft); margin: 0 0 8px; }
.pair div { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.pair b { display: block; font-size: 0.85rem; color: var(--soft); overflow-wrap: anywhere; }
.pair p { white-space: pre-wrap; overflow-wrap: anywhere; margin: 2px 0 8px; }
.pair img { max-width: 100%; max-height: 240px; border-radius: 8px; }
footer { color: var(--soft); font-size: 0.88rem; padding: 4px 8px; }
@media print { body { background: none; } main { padding: 0; max-width: none; }
  section, .fact { border-color: #cccccc; break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Fact:
    """One number that the reader should take away.

    Attributes:
        name: What it is about.
        value: The number, as it is to be read.
        note: What it means.
    """

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Item:
    """One of two items that are shown side by side.

    Attributes:
        name: What it is called.
        text: Its text, if it has one.
        image: A `data:` URI of its picture, if it has one.
    """

    name: str
    text: str = ""
    image: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two items side by side, and what is said of them."""

    title: str
    left: Item
    right: Item


@dataclass(frozen=True)
class Section:
    """One part of a report; what is left empty is left out.

    Attributes:
        title: Its heading.
        paragraphs: Plain text.
        image: A `data:` URI, as `kinhash.show.plots.data_uri` makes it.
        caption: What the image shows; also its text for those who cannot see it.
        rows: A table of results.
        strong: The rows whose first value this is stand out.
        pairs: Items side by side.
        note: Small print.
        commands: Lines to paste into a shell.
    """

    title: str
    paragraphs: Sequence[str] = ()
    image: str | None = None
    caption: str = ""
    rows: Sequence[Row] = ()
    strong: str | None = None
    pairs: Sequence[Pair] = ()
    note: str = ""
    commands: Sequence[str] = ()


def write_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    lead: str,
    facts: Sequence[Fact] = (),
    sections: Sequence[Section],
    footer: str = "",
) -> None:
    """Write one self-contained HTML file; an interrupted write leaves the old file.

    All text is plain and gets escaped. The page follows the reader's light or dark setting.

    Args:
        path: The file; its folder must exist.
        title: The page's heading.
        lead: One or two sentences under it.
        facts: Large numbers, side by side below the first section; the first stands out.
        sections: The body.
        footer: The last line.

    Raises:
        InvalidInputError: An image is not a `data:` URI, or the file cannot be written.
    """
    page = _page(title, lead, facts, sections, footer)
    with storage.atomic(path) as part:
        part.write_text(page, encoding="utf-8")


def _page(
    title: str, lead: str, facts: Sequence[Fact], sections: Sequence[Section], footer: str
) -> str:
    blocks = [_element("h1", title), f'<p class="lead">{html.escape(lead)}</p>']
    blocks += map(_section, sections[:1])
    if facts:
        blocks += ['<dl class="facts">', *map(_fact, facts), "</dl>"]
    blocks += map(_section, sections[1:])
    if footer:
        blocks.append(_element("footer", footer))
    body = "\n".join(blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{_element('title', title)}\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _fact(fact: Fact) -> str:
    return (
        f'<div class="fact">{_element("dt", fact.name)}'
        f'<dd class="value">{html.escape(fact.value)}</dd>{_element("dd", fact.note)}</div>'
    )


def _section(section: Section) -> str:
    blocks = ["<section>", _element("h2", section.title)]
    blocks += [_element("p", text) for text in section.paragraphs]
    if section.image is not None:
        _check_image(section.image)
        blocks.append(
            f'<figure><img src="{html.escape(section.image)}" alt="{html.escape(section.caption)}">'
            f"{_element('figcaption', section.caption)}</figure>"
        )
    if section.rows:
        table = html_table(section.rows, strong=section.strong)
        blocks.append(f'<div class="scroll">\n{table}\n</div>')
    blocks += map(_pair, section.pairs)
    if section.note:
        blocks.append(f'<p class="note">{html.escape(section.note)}</p>')
    if section.commands:
        blocks.append(_element("pre", "\n".join(section.commands)))
    return "\n".join([*blocks, "</section>"])


def _pair(pair: Pair) -> str:
    sides = []
    for item in (pair.left, pair.right):
        parts = [_element("b", item.name)]
        if item.image is not None:
            _check_image(item.image)
            parts.append(
                f'<img src="{html.escape(item.image)}" alt="{html.escape(item.text or item.name)}">'
            )
        parts += [_element("p", item.text)] if item.text else []
        sides.append(f"<article>{''.join(parts)}</article>")
    return f'<div class="pair">{_element("h3", pair.title)}<div>{"".join(sides)}</div></div>'


def _check_image(image: str) -> None:
    if not image.startswith("data:image/"):
        raise InvalidInputError(f"`image` must be a data: URI of an image, got {image[:40]!r}.")


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{html.escape(text)}</{tag}>"
