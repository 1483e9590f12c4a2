"""`kinhash search`: find the items whose codes are near those of queries."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options
from kinhash.errors import InvalidInputError

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.arrays import Array
    from kinhash.cli.inputs import AnyMethod
    from kinhash.cli.reranking import Reranker
    from kinhash.codes import Codes, Order
    from kinhash.datasets import Dataset
    from kinhash.index.hamming import HammingIndex
    from kinhash.matches import Matches
    from kinhash.reranking import Ranked

TABLE_LIMIT = 50
# Of a match: rank distances only of codes with rank bits, similarities only after reranking.
COLUMNS = ("id", "distance", "rank_distance", "similarity")
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
        str | None,
        typer.Option(
            "--queries",
            metavar="DATA",
            help="What to search for: a data set or a file, as for encode; - reads CSV from stdin.",
            show_default=False,
        ),
    ] = None,
    query_text: Annotated[
        list[str] | None,
        typer.Option(
            "--query-text",
            metavar="TEXT",
            help="Or words to search for, if the model was trained on texts; may be repeated.",
            show_default=False,
        ),
    ] = None,
    modality: options.Modality = None,
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
            help="Or find this many nearest items; of those equally near, the lowest ids win.",
            show_default=False,
        ),
    ] = None,
    order: options.Ranking = options.Order.NESTED,
    rerank: Annotated[
        str | None,
        typer.Option(
            "--rerank",
            metavar="DATA",
            help="Put what was found in the order of the items' vectors: a .npy file, which stays "
            "on disk, whose row i is item i; or data with ids. Codes find --candidates first.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        options.Similarity | None,
        typer.Option(
            "--metric",
            help="Which vectors are most similar, with --rerank. [default: cosine]",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            metavar="N",
            min=1,
            help="With --rerank and --top-k: how many of the nearest codes are put in order. "
            "[default: 500]",
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

    Prints query, id and distance of each match, nearest first, and the rank distance of codes with
    rank bits; with --rerank the most similar first, and the similarity. Items and queries are named
    by the ids of their data, or by row numbers if it has none; text queries by their text.
    """
    from kinhash.cli import inputs, reranking

    options.check_one_of({"--radius": radius, "--top-k": k})
    options.check_one_of({"--queries": queries, "--query-text": query_text or None})
    method = inputs.load_model(model)
    reranking.check_options(rerank, metric, candidates, k, has_texts=bool(query_text))
    inputs.check_modality(model, method, modality)
    index = inputs.load_items(items, method)
    reranker = None
    if rerank is not None:
        reranker = reranking.opened(
            rerank, index, metric=metric, k=k, candidates=candidates, root=root
        )
        k = None if k is None else reranker.n_candidates
    if query_text:
        asked = _of_texts(model, method, query_text, modality, threads)
    else:
        dataset = inputs.load_data(
            queries or "",
            features=features,
            labels=labels,
            ids=ids,
            root=root,
            modalities=None if modality is None else (modality,),
        )
        asked = _of_data(method, dataset, modality, threads, reranker)
    found = _found(index, asked, reranker, radius=radius, k=k, order=order.value, n_threads=threads)
    if limit is None and output is options.Format.TABLE:
        limit = TABLE_LIMIT
    _print(found, asked, limit or None, output)


@dataclasses.dataclass(frozen=True, eq=False)
class _Queries:
    """What is searched for."""

    names: Sequence[int | str]
    codes: "Codes"
    is_known: Any  # (n_queries,) bool: whether there is anything to search with
    vectors: Any = None  # (n_queries, n_features) if matches are to be reranked


def _of_texts(
    path: Path, method: "AnyMethod", texts: list[str], modality: str | None, threads: int | None
) -> _Queries:
    from kinhash.cli import inputs
    from kinhash.cli.messages import note
    from kinhash.methods import MultimodalMethod

    if not isinstance(method, MultimodalMethod) or modality is None:
        raise InvalidInputError(
            f"--query-text needs a model that was trained on texts, but {path} holds a "
            f"{method.name} of vectors. Search with --queries."
        )
    codes, is_known = inputs.encoded_rows(method, texts, modality, n_threads=threads)
    for text, known in zip(texts, is_known, strict=True):
        if not known:
            note(f'The model knows none of the words of "{text}".')
    return _Queries(texts, codes, is_known)


def _of_data(
    method: "AnyMethod",
    dataset: "Dataset",
    modality: str | None,
    threads: int | None,
    reranker: "Reranker | None",
) -> _Queries:
    from kinhash.cli import inputs, reranking
    from kinhash.cli.messages import counted, note

    vectors = reranker and reranking.query_vectors(reranker, dataset, modality)
    codes, is_known = inputs.encoded(method, dataset, modality, n_threads=threads)
    if not is_known.all():
        n_empty = int((~is_known).sum())
        note(f"{counted(n_empty, 'query', 'queries')} without a known word or entry: no match.")
    names = range(len(dataset)) if dataset.ids is None else dataset.ids.tolist()
    return _Queries(names, codes, is_known, vectors)


def _found(
    index: "HammingIndex",
    asked: _Queries,
    reranker: "Reranker | None",
    *,
    radius: int | None,
    k: int | None,
    order: "Order",
    n_threads: int | None,
) -> "list[Matches | Ranked]":
    """Return the matches, a chunk of queries at a time: what shows progress."""
    from kinhash.progress import progress_bar

    found: list[Matches | Ranked] = []
    queries = asked.codes[asked.is_known]
    with progress_bar("Searching") as report:
        for start in range(0, len(queries), CHUNK_QUERIES):
            chunk = queries[start : start + CHUNK_QUERIES]
            if radius is not None:
                matches = index.search_radius(
                    chunk, radius, sort=True, order=order, n_threads=n_threads
                )
            else:
                matches = index.search_top_k(chunk, k or 0, order=order, n_threads=n_threads)
            if reranker is None:
                found.append(matches)
            else:
                vectors = asked.vectors[asked.is_known][start : start + CHUNK_QUERIES]
                found.append(reranker(matches, vectors, n_threads))
            report(start + len(chunk), len(queries))
    return found


def _print(
    found: "list[Matches | Ranked]", asked: _Queries, limit: int | None, output: options.Format
) -> None:
    from kinhash.cli.messages import counted, note
    from kinhash.cli.results import stdout

    left_out = set() if asked.codes.n_rank_bits else {"rank_distance"}
    left_out |= {"similarity"} if asked.vectors is None else set()
    columns = [name for name in COLUMNS if name not in left_out]
    with stdout() as stream:
        answers = _answers(found, asked, limit, columns)
        stream.writelines(f"{line}\n" for line in _LINES[output](answers, columns))
    n_matches = sum(len(matches.ids) for matches in found)
    n_empty = sum(int((matches.counts == 0).sum()) for matches in found)
    n_empty += int((~asked.is_known).sum())
    cut = limit is not None and limit < n_matches
    note(
        f"{counted(len(asked.names), 'query', 'queries')}, {n_empty:,} without a match; "
        f"{counted(n_matches, 'match', 'matches')}"
        + (f", {limit:,} shown: --limit 0 shows all." if cut else ".")
    )


def _answers(
    found: "list[Matches | Ranked]", asked: _Queries, limit: int | None, columns: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield what each query found, with the first `limit` matches of all queries together."""
    searched = (row for matches in found for row in _rows_of(matches))
    n_left = sum(len(matches.ids) for matches in found) if limit is None else limit
    for name, known in zip(asked.names, asked.is_known, strict=True):
        if not known:
            yield {"query": name, "n_matches": 0, "matches": []}
            continue
        arrays = next(searched)
        shown = zip(*(array[:n_left].tolist() for array in arrays), strict=True)
        matches = [dict(zip(columns, match, strict=True)) for match in shown]
        yield {"query": name, "n_matches": len(arrays[0]), "matches": matches}
        n_left -= len(matches)


def _rows_of(matches: "Matches | Ranked") -> "Iterator[list[Array]]":
    """Yield the columns of each query's matches, those that there are of `COLUMNS`."""
    arrays: list[Array] = [matches.ids, matches.distances]
    if matches.rank_distances is not None:
        arrays.append(matches.rank_distances)
    similarities = getattr(matches, "similarities", None)
    if similarities is not None:
        arrays.append(similarities)
    offsets = matches.offsets.tolist()
    for start, end in itertools.pairwise(offsets):
        yield [array[start:end] for array in arrays]


def _rows(answers: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for answer in answers:
        for match in answer["matches"]:
            yield {"query": answer["query"], **match}


def _table_lines(answers: Iterable[dict[str, Any]], _: Sequence[str]) -> Iterator[str]:
    from kinhash.cli.results import shown

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


def _csv_lines(answers: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    yield ",".join(["query", *columns])
    for row in _rows(answers):
        yield ",".join([_csv_cell(row["query"]), *(str(row[name]) for name in columns)])


def _csv_cell(name: int | str) -> str:
    quoted = str(name).replace('"', '""')
    return f'"{quoted}"' if any(sign in quoted for sign in ',"\r\n') else quoted


_LINES = {
    options.Format.TABLE: _table_lines,
    options.Format.JSON: _json_lines,
    options.Format.CSV: _csv_lines,
}
