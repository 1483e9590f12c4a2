"""Rows of results as text, JSON, CSV and HTML; how a number is shown is decided here alone."""

import csv
import html
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from kinhash.errors import unknown_name
from kinhash.measures import Unit, is_rate, measure_of
from kinhash.show.looks import look_of

Row = dict[str, Any]
Format = Literal["table", "json", "jsonl", "csv"]

# Of columns that are no measures.
_NAMES = {"n_bits": "bits", "n_bytes": "bytes", "fit_seconds": "seconds"}
_KEY = re.compile(r"(?P<measure>[a-z0-9_]+)@(?P<radius>r?)(?P<number>\d+)")


def render(
    rows: Sequence[Row],
    format: Format,  # noqa: A002 - the option's name
    *,
    width: int | None = None,
) -> str:
    """Return `rows` as text, without a final newline.

    The columns are the keys of all rows, in the order in which they first appear. JSON and CSV hold
    raw numbers at full precision, under the keys themselves: rates are fractions. A table shows
    rates in percent, to two decimals, under readable names. A number that is nan or infinite is
    null in JSON, empty in CSV and "-" in a table.

    Args:
        rows: One dict per line, such as the measures of `kinhash.metrics.evaluate_codes`.
        format: "table", "json", "jsonl" (a line for each row) or "csv".
        width: Longest line of a table. Columns that do not fit follow below in further blocks,
            each of which repeats the columns that say what a row is. No limit if None.

    Raises:
        InvalidInputError: `format` is unknown.

    Example:
        >>> print(render([{"method": "LSH", "n_bits": 48, "map": 0.4653}], "table"))
        method  bits    mAP
                          %
        LSH       48  46.53
    """
    if format == "json":
        return json.dumps(
            [{key: _plain(value) for key, value in row.items()} for row in rows], indent=2
        )
    if format == "jsonl":
        lines = [{key: _plain(value) for key, value in row.items()} for row in rows]
        return "\n".join(json.dumps(line) for line in lines)
    if format == "csv":
        return _csv(rows)
    if format == "table":
        return _text_table(rows, width)
    raise unknown_name("format", str(format), get_args(Format))


def html_table(rows: Sequence[Row], *, strong: str | None = None) -> str:
    """Return `rows` as an HTML `<table>`, everything escaped, methods with their colour.

    Args:
        rows: As in `render`; numbers are shown as in its "table".
        strong: Rows whose first value is this get the class "strong".
    """
    keys = _keys(rows)
    lines = ["<table>", "<thead>", *_html_head(keys, rows), "</thead>", "<tbody>"]
    for row in rows:
        mark = ' class="strong"' if keys and row.get(keys[0]) == strong else ""
        cells = "".join(
            f"<td{_html_class(key, rows)}>{_dot(key, row)}"
            f"{html.escape(show(key, row.get(key)))}</td>"
            for key in keys
        )
        lines.append(f"<tr{mark}>{cells}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def _dot(key: str, row: Row) -> str:
    """Return a dot in the colour that the method has in figures; nothing before other values."""
    look = look_of(str(row.get(key))) if key == "method" else None
    return f'<span class="dot" style="background:{look.colour}"></span>' if look else ""


def show(key: str, value: object) -> str:
    """Return how `value`, found under `key`, is shown to a person: rates as percent.

    Example:
        >>> show("recall@r0", 0.79518), show("unique_codes", 9828.0), show("mean_active", 5.572)
        ('79.52', '9,828', '5.6')
    """
    value = _plain(value)
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    measure = measure_of(key)
    if measure is not None:
        return _SHOWN[measure.unit](value)
    if key.endswith("seconds"):
        return f"{value:,.1f}"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


_SHOWN: dict[Unit, Callable[[float], str]] = {
    "percent": lambda value: f"{100 * value:.2f}",
    "count": lambda value: f"{value:,.0f}",
    "mean": lambda value: f"{value:,.1f}",
}


def heading(key: str) -> tuple[str, str]:
    """Return a column's readable name, and the radius or ranking length it holds for ("" if none).

    Example:
        >>> heading("f1@r0"), heading("recall@r2"), heading("map@10"), heading("n_bits")
        (('F1', 'r = 0'), ('recall', 'r ≤ 2'), ('mAP', 'first 10'), ('bits', ''))
    """
    measure, match = measure_of(key), _KEY.fullmatch(key)
    if match is None:
        return measure.heading if measure is not None and "@" not in key else _NAMES.get(
            key, key
        ), ""
    name = match["measure"] if measure is None else measure.heading
    if not match["radius"]:
        return name, f"first {match['number']}"
    return name, "r = 0" if match["number"] == "0" else f"r ≤ {match['number']}"


def title(key: str, joint: str = ", ") -> str:
    """Return a column's readable name and its condition in one text.

    Example:
        >>> title("mp@50"), title("f1@r2", " at "), title("map")
        ('precision, first 50', 'F1 at r ≤ 2', 'mAP')
    """
    return joint.join(part for part in heading(key) if part)


def _text_table(rows: Sequence[Row], width: int | None) -> str:
    columns = _columns(rows)
    names = list(itertools.takewhile(lambda key: key == "n_bits" or _is_text(key, rows), columns))
    blocks = [names]
    for key in list(columns)[len(names) :]:
        wider = [*blocks[-1], key]
        fits = width is None or sum(len(columns[one][0]) + 2 for one in wider) - 2 <= width
        # A block has at least one column of its own, however narrow the terminal is.
        if fits or blocks[-1] == names:
            blocks[-1] = wider
        else:
            blocks.append([*names, key])
    return "\n\n".join(_block([columns[key] for key in block]) for block in blocks)


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the cells of each column, two of heading first, all of the same width."""
    columns = {}
    for key in _keys(rows):
        name, condition = heading(key)
        below = " ".join(part for part in (condition, "%" if is_rate(key) else "") if part)
        cells = [name, below, *(show(key, row.get(key)) for row in rows)]
        width = max(map(len, cells))
        align = str.ljust if _is_text(key, rows) else str.rjust
        columns[key] = [align(cell, width) for cell in cells]
    return columns


def _block(columns: Sequence[Sequence[str]]) -> str:
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join(line for line in lines if line)


def _csv(rows: Sequence[Row]) -> str:
    keys = _keys(rows)
    if not keys:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return text.getvalue().removesuffix("\n")


def _html_head(keys: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return two heading rows: columns of one radius stand together under that radius."""
    groups = [
        (condition, list(members))
        for condition, members in itertools.groupby(keys, key=lambda key: heading(key)[1])
    ]
    above = "".join(
        f'<th colspan="{len(members)}" class="group">{html.escape(condition)}</th>'
        if condition
        else f'<td colspan="{len(members)}"></td>'
        for condition, members in groups
    )
    below = "".join(
        f"<th{_html_class(key, rows)}>{html.escape(heading(key)[0])}"
        f"{' <small>%</small>' if is_rate(key) else ''}</th>"
        for key in keys
    )
    return [f"<tr>{above}</tr>", f"<tr>{below}</tr>"]


def _html_class(key: str, rows: Sequence[Row]) -> str:
    return "" if _is_text(key, rows) else ' class="number"'


def _keys(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _is_text(key: str, rows: Sequence[Row]) -> bool:
    return any(isinstance(row.get(key), str) for row in rows)


def _plain(value: object) -> object:
    """Return a NumPy number as Python's own, and None for nan or infinity."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
