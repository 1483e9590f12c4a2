"""How codes lie in the columns of a Spark frame, and which columns it must have."""

import json
from collections.abc import Sequence
from typing import Any

from kinhash import tables
from kinhash.engines.layout import Layout
from kinhash.engines.spark.session import Frame, check_frame, failures
from kinhash.engines.spark.views import views
from kinhash.engines.text import checked_name, misfits
from kinhash.errors import InvalidInputError

_KEY = "kinhash"  # of the metadata of the first column of a code


def metadata(layout: Layout) -> dict[str, Any]:
    """Return what the first column of a code says of all; Parquet files of Spark keep it."""
    return {_KEY: json.dumps({k.decode(): v.decode() for k, v in layout.metadata().items()})}


def layout_of(name: str, df: Frame, layout: Layout | None = None) -> Layout:
    """Return how codes lie in a frame: as told, as its columns say, or whatever fits them.

    Whatever fits is as many bits as the columns have. Distances do not depend on it.

    Args:
        name: What messages call the frame.
        df: The frame.
        layout: What its user says, if anything.

    Raises:
        InvalidInputError: There are no columns of a code, or they are not BIGINT.
    """
    kinds = {field.name: field for field in df.schema.fields}
    found = layout or _told(kinds) or _of_columns(kinds)
    if found is None:
        raise InvalidInputError(
            f"`{name}` has no columns of codes, w0, w1, ...; the columns: "
            f"{tables.listed(df.columns)}. Use encode() first."
        )
    for column in found.columns:
        check_column(name, df, column, option="layout", kinds=("bigint",))
    return found


def exact_layout(name: str, df: Frame, layout: Layout | None = None) -> Layout:
    """Return the same, but never whatever fits.

    Raises:
        InvalidInputError: As `layout_of`; or nobody says how long the codes are.
    """
    found = layout_of(name, df, layout)
    if layout is None and _told({field.name: field for field in df.schema.fields}) is None:
        raise InvalidInputError(
            f"`{name}` does not say how many bits its codes have, at most {found.n_bits}. Give "
            "their lengths as `layout`."
        )
    return found


def _told(fields: dict[str, Any]) -> Layout | None:
    text = fields["w0"].metadata.get(_KEY) if "w0" in fields else None
    if text is None:
        return None
    try:
        told = {key.encode(): str(value).encode() for key, value in json.loads(text).items()}
    except (AttributeError, TypeError, ValueError):
        told = {}
    found = Layout.from_metadata(told)
    if found is None:
        raise InvalidInputError(
            f"The metadata of `w0` must say how long its codes are, got {text!r}. Pass `layout`."
        )
    return found


def _of_columns(fields: dict[str, Any]) -> Layout | None:
    n_words, n_ranks = (
        next(i for i in range(len(fields) + 1) if f"{letter}{i}" not in fields) for letter in "wr"
    )
    if not n_words:
        return None
    return Layout(64 * (n_words + n_ranks), n_rank_bits=64 * n_ranks)


def check_column(
    name: str, df: Frame, column: str, *, option: str, kinds: Sequence[str] = ()
) -> None:
    """Raise InvalidInputError unless a frame has a column, and of one of these types if any.

    Args:
        name: What messages call the frame.
        df: The frame.
        column: The column's name.
        option: The argument that says so.
        kinds: Types of Spark.
    """
    if column not in df.columns:
        raise tables.no_column(option, column, df.columns, source=f"`{name}`")
    kind = df.schema[column].dataType.simpleString()
    if kinds and kind not in kinds:
        raise InvalidInputError(
            f"`{column}` of `{name}` must be {' or '.join(kinds).upper()}, got {kind}."
        )


def items(name: str, df: object, id_: str, layout: Layout | None) -> tuple[Frame, Layout]:
    """Return the ids and codes of a frame, without its other columns, and how the codes lie.

    Raises:
        InvalidInputError: It is no frame of Spark, or a column is missing or of the wrong type.
    """
    frame = check_frame(name, df)
    check_column(name, frame, checked_name("id", id_), option="id")
    found = layout_of(name, frame, layout)
    used = frame.select(id_, *found.columns)
    if layout is not None:
        _check_fits(name, used, layout)
    return used, found


def _check_fits(name: str, df: Frame, layout: Layout) -> None:
    """Raise InvalidInputError if codes have bits that nobody would compare."""
    with failures(), views(df) as [view]:
        n_wrong = df.sparkSession.sql(misfits(layout, view)).collect()[0][0]
    if n_wrong:
        raise InvalidInputError(
            f"`{name}` must hold codes of {layout}, but {n_wrong} of its rows have other bits set. "
            "Give the lengths that they were made with as `layout`."
        )


def check_same(left: Layout, right: Layout, *, sides: tuple[str, str] = ("left", "right")) -> None:
    """Raise InvalidInputError unless codes of both sides can be compared."""
    if left.columns != right.columns:
        raise InvalidInputError(
            f"`{sides[0]}` has codes in {', '.join(left.columns)}, but `{sides[1]}` in "
            f"{', '.join(right.columns)}. Encode both with the same encoder."
        )
