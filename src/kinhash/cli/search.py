"""`kinhash search`: find the items whose codes are near those of queries."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kinhash.cli import completion, options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.cli.queries import Asked
    from kinhash.cli.reranking import Reranker
    from kinhash.codes import Order
    from kinhash.index.hamming import HammingIndex
    from kinhash.matches import Matches
    from kinhash.reranking import Ranked

CHUNK_QUERIES = 1024  # between two steps of the progress bar


def search(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="A file that index wrote, or encode.")
    ],
    *,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="The model that the items were encoded with, and that encodes the queries.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="DATA",
            autocompletion=completion.data,
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
    query_codes: Annotated[
        Path | None,
        typer.Option(
            "--codes",
            metavar="FILE",
            help="Or codes to search for, without a model: a file that encode wrote, or codes of "
            "another tool, as for index.",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            metavar="ID",
            help="Or an item of the index, which is left out of its matches; may be repeated.",
            show_default=False,
        ),
    ] = None,
    column: options.Column = None,
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
    min_precision: Annotated[
        float | None,
        typer.Option(
            "--min-precision",
            metavar="P",
            help="Or go as far as this share of all answers is right, such as 0.9, by the "
            "calibration of the index or of the model.",
            show_default=False,
        ),
    ] = None,
    similar_share: Annotated[
        float | None,
        typer.Option(
            "--similar-share",
            metavar="S",
            help="Of all pairs of a query and an item, how many are similar: what precision "
            "depends on. [default: estimated from distances]",
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
            autocompletion=completion.data,
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
            help="Print this many matches at most, 0 for all. [default: 50 in a "
            "table, all in json and csv]",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="NAMES",
            help="Columns of --table to print beside each match: names or patterns, separated by "
            "commas.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Where these are: the items' table, a file or a folder of parts, by its ids or "
            "else by row numbers.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    text: options.Text = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Find the items whose codes are near those of queries, exactly.

    Prints query, id and distance of each match, nearest first, and the rank distance of codes with
    rank bits; with --rerank the most similar first, and the similarity. Items and queries are named
    by the ids of their data, or by row numbers if it has none; text queries by their text. Where
    there is a calibration, each match has its precision: how likely it is similar to its query.
    """
    from kinhash.cli import answers, beside, inputs, precision, reranking
    from kinhash.cli import queries as reading
    from kinhash.cli.data import load_data

    reach = _reach(radius, min_precision, similar_share, k, order.value)
    wanted = beside.wanted(show, table, ids, delimiter)
    source = reading.Source(
        queries, query_text or None, query_codes, column, model, modality, like or None
    )
    reading.check_options(source)
    reranking.check_options(rerank, metric, candidates, k, has_vectors=queries is not None)
    read = functools.partial(
        load_data,
        features=features,
        labels=labels,
        ids=ids,
        root=root,
        text=text,
        delimiter=delimiter,
    )
    method = None if model is None else inputs.load_fitting_model(model, modality)
    index = inputs.load_items(items, method)
    precision.take_calibration(index, items, model, method, needed=reach.by_precision)
    reranker = reranking.opened(rerank, index, metric=metric, k=k, candidates=candidates, root=root)
    asked = reading.asked(source, method, index, reranker, read=read, ids=ids, n_threads=threads)
    found = _found(index, asked, reranker, reach, n_threads=threads)
    is_rated = index.calibration is not None
    answers.show(found, asked, wanted, limit=limit, output=output, is_rated=is_rated)


class Reach(NamedTuple):
    """How far a search goes, by a radius, a precision or a number of items, and in which order."""

    radius: int | None
    min_precision: float | None
    similar_share: float | None
    k: int | None
    order: "Order"

    @property
    def by_precision(self) -> bool:
        """Whether it takes a calibration."""
        return self.min_precision is not None or self.similar_share is not None


def _reach(
    radius: int | None,
    min_precision: float | None,
    similar_share: float | None,
    k: int | None,
    order: "Order",
) -> Reach:
    """Return what the options say.

    Raises:
        typer.BadParameter: They do not go together.
    """
    from kinhash.cli import precision

    options.check_one_of({"--radius": radius, "--min-precision": min_precision, "--top-k": k})
    precision.check_options(min_precision, similar_share)
    return Reach(radius, min_precision, similar_share, k, order)


def _found(
    index: "HammingIndex",
    asked: "Asked",
    reranker: "Reranker | None",
    reach: Reach,
    *,
    n_threads: int | None,
) -> "list[Matches | Ranked]":
    """Return the matches, a chunk of queries at a time: what shows progress."""
    from kinhash.cli import precision
    from kinhash.cli.like import without_own
    from kinhash.progress import progress_bar

    found: list[Matches | Ranked] = []
    known = asked.codes[asked.is_known]
    share = precision.share_of(index, known, reach.similar_share)
    if reach.min_precision is not None:
        given = reach.similar_share is not None
        precision.tell(index, reach.min_precision, share, given=given, n_queries=len(known))
    queries, n_own = known, 0 if asked.own is None else 1
    with progress_bar("Searching") as report:
        for start in range(0, len(queries), CHUNK_QUERIES):
            chunk = queries[start : start + CHUNK_QUERIES]
            if reach.k is None:
                matches = index.search_radius(
                    chunk,
                    reach.radius,
                    min_precision=reach.min_precision,
                    similar_share=None if reach.min_precision is None else share,
                    sort=True,
                    order=reach.order,
                    n_threads=n_threads,
                )
            else:
                n = reranker.n_candidates if reranker else reach.k + n_own
                matches = index.search_top_k(chunk, n, order=reach.order, n_threads=n_threads)
            if index.calibration is not None:
                matches = index.with_precision(matches, similar_share=share)
            if asked.own is not None:
                own = asked.own[start : start + CHUNK_QUERIES]
                found.append(without_own(matches, own, reach.k))
            elif reranker is None:
                found.append(matches)
            else:
                vectors = asked.vectors[asked.is_known][start : start + CHUNK_QUERIES]
                found.append(reranker(matches, vectors, n_threads))
            report(start + len(chunk), len(queries))
    return found
