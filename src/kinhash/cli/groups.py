"""What `kinhash dedup` writes and prints: groups of duplicates, a row for each member."""

import csv
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from kinhash import storage
from kinhash.cli import options
from kinhash.cli.messages import counted, note
from kinhash.cli.results import shown, stdout
from kinhash.dedup import Duplicates
from kinhash.dedup.sizes import SIZES, sizes_of
from kinhash.errors import InvalidInputError
from kinhash.linkage import Groups
from kinhash.tables import arrow

TABLE_LIMIT = 50
_STEP = 2**16  # rows made into Python's values at a time


def check_ending(out: Path) -> None:
    """Raise unless groups can be written to a file of that name.

    Raises:
        InvalidInputError: Its ending is unknown.
        MissingExtraError: It takes pyarrow, which is not installed.
    """
    if out.suffix.lower() not in _WRITERS:
        raise InvalidInputError(
            f"--out must end in {', '.join(_WRITERS)}, got {out.suffix or 'no ending'!r}."
        )
    if out.suffix.lower() == ".parquet":
        arrow()


def write(groups: Groups, out: Path) -> None:
    """Write groups to a file, as its ending says, all or nothing."""
    with storage.atomic(out) as part:
        _WRITERS[out.suffix.lower()](groups, part)


def show(found: Duplicates, limit: int | None, output: options.Format) -> None:
    """Print groups on stdout: the first 50 rows in a table, unless a limit is given; 0 for all."""
    if limit is None and output is options.Format.TABLE:
        limit = TABLE_LIMIT
    rows = itertools.islice(_rows(found.groups), limit or None)
    with stdout() as stream:
        if output is options.Format.CSV:
            _write_csv(rows, _names(found.groups), stream)
        elif output is options.Format.JSONL:
            _write_lines(rows, stream)
        else:
            text = shown(list(rows), output)
            stream.write(f"{text}\n" if text else "")
    if limit and limit < found.groups.n_items:
        note(f"{limit:,} of {found.groups.n_items:,} rows shown: --limit 0 shows all.")


def tell(found: Duplicates, name: str, against: str | None) -> None:
    """Say on stderr how many rows and groups there are, and what may be missing."""
    n_kept = found.n_items - found.n_dropped
    if against is None:
        told = f"{counted(len(found.groups), 'group')}, {found.n_dropped:,} to drop"
    else:
        held = f"in {against} or like others here" if found.groups.keep.any() else f"in {against}"
        told = f"{found.n_dropped:,} {held}"
    note(f"{name}: {counted(found.n_items, 'row')}, {told}, {n_kept:,} to keep; {found.recall}.")
    counts = sizes_of(np.bincount(found.groups.group))
    if against is None and len(found.groups):
        parts = [f"{n:,} of {size}" for size, n in zip(SIZES, counts, strict=True) if n]
        note(f"Groups by size: {', '.join(parts)}.")


def _names(groups: Groups) -> list[str]:
    return [f.name for f in dataclasses.fields(groups) if getattr(groups, f.name) is not None]


def _rows(groups: Groups) -> Iterator[dict[str, Any]]:
    names = _names(groups)
    for start in range(0, groups.n_items, _STEP):
        columns = [_values(getattr(groups, name)[start : start + _STEP]) for name in names]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _values(column: np.ndarray[Any, Any]) -> list[Any]:
    if column.dtype == np.float32:  # in the fewest digits that tell them apart
        return [float(str(value)) for value in column]
    return list(column.tolist())


def _write_csv(rows: Iterator[dict[str, Any]], names: list[str], stream: TextIO) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([str(v).lower() if isinstance(v, bool) else v for v in row.values()])


def _write_lines(rows: Iterator[dict[str, Any]], stream: TextIO) -> None:
    stream.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _to_parquet(groups: Groups, path: Path) -> None:
    arrow()
    import pyarrow.parquet

    pyarrow.parquet.write_table(groups.to_arrow(), path)


def _to_csv(groups: Groups, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        _write_csv(_rows(groups), _names(groups), stream)


def _to_json_lines(groups: Groups, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        _write_lines(_rows(groups), stream)


_WRITERS: dict[str, Callable[[Groups, Path], None]] = {
    ".parquet": _to_parquet,
    ".csv": _to_csv,
    ".jsonl": _to_json_lines,
}
