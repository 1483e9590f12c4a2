"""`kinhash search`: find the items whose codes are near those of queries."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.codes import Codes
    from kinhash.index.hamming import HammingIndex
    from kinhash.matches import Matches

TABLE_LIMIT = 50
CHUNK_QUERIES = 1024  # between two steps of the progress bar


def search(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="A file that index wrote, or encode.")
    ],
    *,
    model: Annotated[
        Path,
        typer.Option(
            "--model",
            metavar="FILE",
            help="The model that the items were encoded with.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        str,
        typer.Option(
            "--queries",
            metavar="DATA",
            help="What to search for: a data set or a file, as for encode; - reads CSV from stdin.",
            show_default=False,
        ),
    ],
    radius: Annotated[
        int | None,
        typer.Option(
            "--radius",
            metavar="R",
            min=0,
            help="Find every item within this many bits; 0 finds equal codes.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--top-k",
            metavar="K",
            min=1,
            help="Or find this many nearest items; at equal distance the lowest ids win.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help=f"Print this many matches at most, 0 for all. [default: {TABLE_LIMIT} in a "
            "table, all in json and csv]",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Find the items whose codes are near those of queries, exactly.

    Prints query, id and distance of each match, nearest first. Items and queries are called by
    the ids of their data, or else by their row numbers.
    """
    from kinhash.cli import inputs

    if (radius is None) == (k is None):
        raise typer.BadParameter("give exactly one of the two", param_hint="'--radius' / '--top-k'")
    method = inputs.load_model(model)
    index = inputs.load_items(items, method)
    dataset = inputs.load_data(queries, features=features, labels=labels, ids=ids, root=root)
    encoded = method.encode(dataset.vectors, n_threads=threads)
    found = _found(index, encoded, radius, k, threads)
    names = range(len(dataset)) if dataset.ids is None else dataset.ids.tolist()
    if limit is None and output is options.Format.TABLE:
        limit = TABLE_LIMIT
    _print(found, names, limit or None, output)


def _found(
    index: "HammingIndex",
    queries: "Codes",
    radius: int | None,
    k: int | None,
    n_threads: int | None,
) -> "list[Matches]":
    """Return the matches, a chunk of queries at a time: what shows progress."""
    from kinhash.progress import progress_bar

    found = []
    with progress_bar("Searching") as report:
        for start in range(0, len(queries), CHUNK_QUERIES):
            chunk = queries[start : start + CHUNK_QUERIES]
            if radius is not None:
                found.append(index.search_radius(chunk, radius, sort=True, n_threads=n_threads))
            else:
                found.append(index.search_top_k(chunk, k or 0, n_threads=n_threads))
            report(start + len(chunk), len(queries))
    return found


def _print(
    found: "list[Matches]", names: Sequence[int], limit: int | None, output: options.Format
) -> None:
    from kinhash.cli.messages import note
    from kinhash.cli.results import stdout

    with stdout() as stream:
        answers = _answers(found, names, limit)
        stream.writelines(f"{line}\n" for line in _LINES[output](answers))
    n_matches = sum(len(matches.ids) for matches in found)
    n_empty = sum(int((matches.counts == 0).sum()) for matches in found)
    cut = limit is not None and limit < n_matches
    note(
        f"{len(names):,} queries, {n_empty:,} of them without a match; {n_matches:,} matches"
        + (f", of which {limit:,} are shown: --limit 0 shows all." if cut else ".")
    )


def _answers(
    found: "list[Matches]", names: Sequence[int], limit: int | None
) -> Iterator[dict[str, Any]]:
    """Yield what each query found, with the first `limit` matches of all queries together."""
    queries = (answer for matches in found for answer in matches)
    n_left = sum(len(matches.ids) for matches in found) if limit is None else limit
    for name, (ids, distances) in zip(names, queries, strict=True):
        shown = zip(ids[:n_left].tolist(), distances[:n_left].tolist(), strict=True)
        matches = [{"id": item, "distance": distance} for item, distance in shown]
        yield {"query": name, "n_matches": len(ids), "matches": matches}
        n_left -= len(matches)


def _rows(answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, int]]:
    for answer in answers:
        for match in answer["matches"]:
            yield {"query": answer["query"], **match}


def _table_lines(answers: Iterable[dict[str, Any]]) -> Iterator[str]:
    from kinhash.evaluation.tables import render

    text = render(list(_rows(answers)), "table")
    if text:
        yield text


def _json_lines(answers: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield one line per query, so that large answers stay readable and need no memory."""
    before = "["
    for answer in answers:
        yield before if before == "[" else f"{before},"
        before = json.dumps(answer)
    yield from (before, "]")


def _csv_lines(answers: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "query,id,distance"
    for row in _rows(answers):
        yield f"{row['query']},{row['id']},{row['distance']}"


_LINES = {
    options.Format.TABLE: _table_lines,
    options.Format.JSON: _json_lines,
    options.Format.CSV: _csv_lines,
}
