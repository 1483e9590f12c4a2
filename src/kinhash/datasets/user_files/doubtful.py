"""Columns that became features although they look like an id, a price or a date."""

import re
import warnings
from collections import Counter

import numpy as np

from kinhash import tables
from kinhash.arrays import Array
from kinhash.datasets.user_files.columns import Columns
from kinhash.datasets.user_files.sources import ArrowColumn, Piece, kind_of

# Words of names: "product_id", "unitPrice", "createdAt".
_WORDS = {
    "an id": "id ids uid uuid guid sku ean gtin upc isbn asin key pk rownum rowid index idx",
    "a price": "price prices cost costs amount fee salary revenue turnover",
    "a date": "date time datetime timestamp year month day created updated modified",
}
_LOOKS = {word: look for look, words in _WORDS.items() for word in words.split()}
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FAMILY = 3  # numbered columns of one stem, such as key_0 to key_63, are parts of a vector

_MOST = 8192  # rows that are looked at
_FEW, _MANY = 20, 200  # rows that say nothing about a column, and rows that say a lot
_SECONDS = (10**9, 2 * 10**9)  # of 2001 to 2033, since 1970


def warn_of_doubtful(columns: Columns, piece: Piece) -> None:
    """Warn of features that nobody named and that look like something else.

    Args:
        columns: Which columns are features.
        piece: The first rows.
    """
    stems = Counter(map(_stem, columns.features))
    places = {name: place for place, name in enumerate(piece.table.schema.names)}
    told = []
    for name in columns.unnamed:
        is_part = _stem(name) != name and stems[_stem(name)] >= _FAMILY
        look = (
            None
            if is_part
            else _look_of_name(name)
            or _look_of_values(piece.table.column(places[name]).slice(0, _MOST))
        )
        if look:
            told.append(f"`{name}` looks like {look}")
    if told:
        warnings.warn(
            f"Of the features in {piece.source}, {tables.listed(told)}. Choose the features by "
            "name or by pattern with `features`.",
            stacklevel=2,
        )


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _look_of_name(name: str) -> str | None:
    """Return what a name says that a column is, if it is no feature."""
    return next(
        (_LOOKS[word] for part in _PART.findall(name) if (word := part.lower()) in _LOOKS), None
    )


def _look_of_values(column: ArrowColumn) -> str | None:
    """Return the same by the first values."""
    kind = kind_of(column.type)
    if kind == "decimal":
        return "a price"
    if kind not in {"integer", "number"} or len(column) < _FEW:
        return None
    values = np.asarray(tables.numbers(column), np.float64)
    if not np.isfinite(values).all():
        return None
    seconds = values / 10.0 ** (3 * np.arange(4)[:, None])  # or thousandths, and so on
    is_time = (seconds > _SECONDS[0]) & (seconds < _SECONDS[1])
    if is_time.all(axis=1).any() or _are_days(values):
        return "a date"
    is_whole = (values == np.floor(values)).all()
    is_counted = (np.diff(values) > 0).all()
    is_distinct = len(values) >= _MANY and len(np.unique(values)) == len(values)
    return "an id" if is_whole and (is_counted or is_distinct) else None


def _are_days(values: Array) -> bool:
    """Return whether all values are days, such as 20240131."""
    year, rest = np.divmod(values, 10_000)
    month, day = np.divmod(rest, 100)
    fits = (year > 1900) & (year < 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool((fits & (values == np.floor(values))).all())
