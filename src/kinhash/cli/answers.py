"""What `kinhash search` prints: the matches of queries."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kinhash.arrays import Array
from kinhash.cli import beside, options
from kinhash.cli.messages import counted, note
from kinhash.cli.queries import Asked
from kinhash.cli.results import shown, stdout
from kinhash.matches import Matches
from kinhash.reranking import Ranked

TABLE_LIMIT = 50
# Of a match: rank distances only of codes with rank bits, similarities only after reranking,
# precisions only where there is a calibration.
COLUMNS = ("id", "distance", "rank_distance", "similarity", "precision")


def _limit_of(limit: int | None, output: options.Format) -> int | None:
    """Return how many matches are printed at most, None for all; by default 50 in a table."""
    if limit is None and output is options.Format.TABLE:
        limit = TABLE_LIMIT
    return limit or None


def _columns_of(asked: Asked, *, is_rated: bool) -> list[str]:
    """Return which of `COLUMNS` matches have."""
    left_out = set() if asked.codes.n_rank_bits else {"rank_distance"}
    left_out |= {"similarity"} if asked.vectors is None else set()
    left_out |= set() if is_rated else {"precision"}
    return [name for name in COLUMNS if name not in left_out]


def show(
    found: list[Matches | Ranked],
    asked: Asked,
    wanted: beside.Wanted | None,
    *,
    limit: int | None,
    output: options.Format,
    is_rated: bool,
) -> None:
    """Print what was found on stdout, and how much that is on stderr.

    Args:
        found: The matches of the queries that are known, in parts.
        asked: All queries.
        wanted: What else is shown of each item.
        limit: Print this many matches at most, 0 for all; by default 50 in a table.
        output: How.
        is_rated: Whether matches have a precision.

    Raises:
        InvalidInputError: What else is wanted cannot be read.
    """
    limit, columns = _limit_of(limit, output), _columns_of(asked, is_rated=is_rated)
    more = beside.read(wanted, found, limit=limit, taken=["query", *columns])
    with stdout() as stream:
        answers = _answers(found, asked, limit, columns, more)
        lines = _LINES[output](answers, [*columns, *more.columns])
        stream.writelines(f"{line}\n" for line in lines)
    n_matches = sum(len(matches.distances) for matches in found)
    n_empty = sum(int((matches.counts == 0).sum()) for matches in found)
    n_empty += int((~asked.is_known).sum())
    cut = limit is not None and limit < n_matches
    note(
        f"{counted(len(asked.names), 'query', 'queries')}, {n_empty:,} without a match; "
        f"{counted(n_matches, 'match', 'matches')}"
        + (f", {limit:,} shown: --limit 0 shows all." if cut else ".")
    )


def _answers(
    found: list[Matches | Ranked],
    asked: Asked,
    limit: int | None,
    columns: Sequence[str],
    more: beside.Beside,
) -> Iterator[dict[str, Any]]:
    """Yield what each query found, with the first `limit` matches of all queries together."""
    searched = (row for matches in found for row in _rows_of(matches))
    n_left = sum(len(matches.distances) for matches in found) if limit is None else limit
    for name, known in zip(asked.names, asked.is_known, strict=True):
        if not known:
            yield {"query": name, "n_matches": 0, "matches": []}
            continue
        arrays = next(searched)
        shown = zip(*(array[:n_left].tolist() for array in arrays), strict=True)
        matches = [dict(zip(columns, match, strict=True)) | more.of(match[0]) for match in shown]
        yield {"query": name, "n_matches": len(arrays[0]), "matches": matches}
        n_left -= len(matches)


def _rows_of(matches: Matches | Ranked) -> Iterator[list[Array]]:
    """Yield the columns of each query's matches, those that there are of `COLUMNS`."""
    arrays: list[Array] = [matches.ids, matches.distances]
    if matches.rank_distances is not None:
        arrays.append(matches.rank_distances)
    similarities = getattr(matches, "similarities", None)
    if similarities is not None:
        arrays.append(similarities)
    if matches.precision is not None:
        arrays.append(matches.precision)
    offsets = matches.offsets.tolist()
    for start, end in itertools.pairwise(offsets):
        yield [array[start:end] for array in arrays]


def _rows(answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for answer in answers:
        for match in answer["matches"]:
            yield {"query": answer["query"], **match}


def _table_lines(answers: Iterable[dict[str, Any]], _: Sequence[str]) -> Iterator[str]:
    text = shown(list(_rows(answers)), options.Format.TABLE)
    if text:
        yield text


def _json_lines(answers: Iterable[dict[str, Any]], _: Sequence[str]) -> Iterator[str]:
    """Yield one line per query, so that large answers stay readable and need no memory."""
    before = "["
    for answer in answers:
        yield before if before == "[" else f"{before},"
        before = json.dumps(answer)
    yield from (before, "]")


def _row_lines(answers: Iterable[dict[str, Any]], _: Sequence[str]) -> Iterator[str]:
    """Yield one line per match."""
    for row in _rows(answers):
        yield json.dumps(row)


def _csv_lines(answers: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    yield ",".join(["query", *columns])
    for row in _rows(answers):
        yield ",".join([_csv_cell(row["query"]), *(_csv_cell(row[name]) for name in columns)])


def _csv_cell(value: object) -> str:
    quoted = "" if value is None else str(value).replace('"', '""')
    return f'"{quoted}"' if any(sign in quoted for sign in ',"\r\n') else quoted


_LINES = {
    options.Format.TABLE: _table_lines,
    options.Format.JSON: _json_lines,
    options.Format.JSONL: _row_lines,
    options.Format.CSV: _csv_lines,
}
