"""`kinhash evaluate`: how well a model's codes retrieve rows of the same class, or near ones."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import completion, options
from kinhash.errors import InvalidInputError

if TYPE_CHECKING:  # this takes half a second to import
    from kinhash.datasets import Dataset
    from kinhash.methods import HashMethod, MultimodalMethod

N_CANDIDATES = 500
AT_WITHOUT_LABELS = (10, 100, 500)


def evaluate(
    model: options.Model,
    data: options.Data,
    *,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="DATA",
            autocompletion=completion.data,
            help="Search all of DATA with these rows, instead of splitting DATA.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            help="Chooses the split. [default: that of the model]",
            show_default=False,
        ),
    ] = None,
    radii: Annotated[
        str,
        typer.Option(
            "--radii", metavar="R,R", help="Distances to measure precision and recall at."
        ),
    ] = "0,2",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="K,K",
            help="Ranking lengths to measure at. [default: 10,5000; without labels 10,100,500]",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            metavar="N",
            min=1,
            help="Without labels: measure recall also after this many of the first items were put "
            "in the order of their vectors. [default: 500]",
            show_default=False,
        ),
    ] = None,
    order: options.Ranking = options.Order.NESTED,
    without_labels: options.WithoutLabels = False,
    metric: options.Near = options.Metric.COSINE,
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    text: options.Text = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Measure how well codes find rows of the same class.

    DATA is split by the seed: up to 100 rows per class are queries, and all others are the
    database. train splits a named data set the same way. It takes all rows of a file unless
    --rows split is given: results on queries that were training rows are too good.

    Without labels, up to 1,000 rows are queries, and recall is the share of the 10 rows whose
    vectors are nearest by --metric; reranked recall is what search --rerank reaches.

    A model of several modalities is measured in all directions. If a data set has a published
    split, its test part is searched with itself; no item finds itself.
    """
    from kinhash.cli import inputs
    from kinhash.cli.data import load_data
    from kinhash.cli.results import emit
    from kinhash.methods import HashMethod

    wanted = _wanted(radii, at, order)
    method = inputs.load_model(model)
    if queries is not None:
        _check_apart(queries, data)
    read = functools.partial(
        load_data,
        features=features,
        labels=labels,
        ids=ids,
        root=root,
        text=text,
        delimiter=delimiter,
        with_ids=False,
        modalities=None if isinstance(method, HashMethod) else method.modalities,
    )
    database, asked = read(data), None if queries is None else read(queries)
    _check_one_kind(method, without_labels=without_labels)
    # Labels that are left out still choose the split: its queries are those never trained on.
    by_labels = not without_labels and any(one is not None for one in _labels_of(database, asked))
    if by_labels or not isinstance(method, HashMethod):
        _check_no_candidates(candidates)
    else:
        near = {"metric": metric.value, "candidates": candidates or N_CANDIDATES}
        wanted = {"at": AT_WITHOUT_LABELS} | wanted | near
    if isinstance(method, HashMethod):
        emit(_shown(_of_vectors(method, asked, database, seed, wanted), output))
    else:
        emit(_shown_directions(_of_directions(method, asked, database, seed, wanted), output))


def _wanted(radii: str, at: str | None, order: options.Order) -> "Wanted":
    wanted: Wanted = {
        "radii": options.whole_numbers(radii, "--radii", low=0, example="0,2"),
        "order": order.value,
    }
    if at is not None:
        wanted["at"] = options.whole_numbers(at, "--at", low=1, example="10,5000")
    return wanted


def _check_one_kind(method: "HashMethod | MultimodalMethod", *, without_labels: bool) -> None:
    from kinhash.methods import HashMethod

    if without_labels and not isinstance(method, HashMethod):
        raise InvalidInputError(
            "--without-labels compares one kind of vectors, but the model has the modalities "
            f"{', '.join(method.modalities)}. Leave it out."
        )


def _check_no_candidates(candidates: int | None) -> None:
    if candidates is not None:
        raise InvalidInputError(
            "--candidates is for recall of the true neighbours, but here labels say what is "
            "right. Add --without-labels, or leave it out."
        )


def _labels_of(*datasets: "Dataset | None") -> list[Any]:
    return [dataset.labels for dataset in datasets if dataset is not None]


# radii, at and order, as evaluate_codes takes them; without labels, metric and candidates, too.
Wanted = dict[str, Any]


def _of_vectors(
    method: "HashMethod",
    queries: "Dataset | None",
    database: "Dataset",
    seed: int | None,
    wanted: Wanted,
) -> dict[str, Any]:
    """Return what was searched, and the measures."""
    from kinhash.evaluation.neighbours import (
        evaluate_apart_by_neighbours,
        evaluate_fitted_by_neighbours,
    )
    from kinhash.evaluation.protocol import evaluate_apart, evaluate_fitted

    near: dict[str, Any] = {k: wanted[k] for k in ("metric", "candidates") if k in wanted}
    if queries is not None:
        if not near:
            _check_labels(queries, database)
        apart = evaluate_apart_by_neighbours if near else evaluate_apart
        facts = {"data": database.name, "queries": queries.name} | near
        sizes = {"n_queries": len(queries), "n_database": len(database)}
        return facts | sizes | apart(method, queries, database, **wanted)
    seed = _checked_seed(method, seed)
    part = database.split(seed)
    sizes = {"n_queries": len(part.query), "n_database": len(part.database)}
    fitted = evaluate_fitted_by_neighbours if near else evaluate_fitted
    found = fitted(method, database, part, **wanted)
    return {"data": database.name, "seed": seed, **near, **sizes, **found.metrics}


def _of_directions(
    method: "MultimodalMethod",
    queries: "Dataset | None",
    database: "Dataset",
    seed: int | None,
    wanted: Wanted,
) -> list[dict[str, Any]]:
    """Return the same for each modality searched with each."""
    from kinhash.evaluation.fitting import own_rows
    from kinhash.evaluation.multimodal import evaluate_directions, search_all, split_search

    facts: dict[str, Any] = {"data": database.name}
    if queries is not None:
        facts["queries"] = queries.name
        search = search_all(queries, database)
    elif own_rows(database, "test") is not None:
        search = split_search(database)
    else:
        facts["seed"] = _checked_seed(method, seed)
        search = split_search(database, facts["seed"])
    _check_labels(queries or database, database)
    facts |= {"n_queries": len(search.query), "n_database": len(search.database)}
    found = evaluate_directions(method, queries or database, database, search, **wanted)
    return [
        {"query": query, "database": side} | facts | measures
        for (query, side), measures in found.items()
    ]


def _checked_seed(method: "HashMethod | MultimodalMethod", seed: int | None) -> int:
    """Return the seed of the split, that of the model unless given."""
    from kinhash.cli.messages import note

    own_seed = int(method.get_params()["seed"])
    if seed not in (None, own_seed):
        note(
            f"warning: the model was trained with seed {own_seed}, so queries of split {seed} may "
            "be rows it was trained on."
        )
    return own_seed if seed is None else seed


def _check_labels(*datasets: "Dataset") -> None:
    for dataset in datasets:
        if dataset.labels is None:
            raise InvalidInputError(
                f"{dataset.name} has no labels, so nothing says which matches are right. "
                "Name them with --labels."
            )


def _shown_directions(rows: list[dict[str, Any]], output: options.Format) -> str:
    from kinhash.cli.results import shown
    from kinhash.measures import BRIEF

    if output is not options.Format.TABLE:
        return shown(rows, output)
    # Precision and recall, and much else, are in the other formats: a table should fit a terminal.
    kept = {"query", "database", *BRIEF}
    brief = [{k: v for k, v in row.items() if k.partition("@")[0] in kept} for row in rows]
    facts = {k: v for k, v in _content(rows[0]).items() if isinstance(v, str | int)}
    for side in ("query", "database"):
        del facts[side]
    return f"{shown(brief, output)}\n\n{shown([facts], output)}"


def _check_apart(queries: str, data: str) -> None:
    if Path(queries).resolve() == Path(data).resolve():
        raise InvalidInputError(
            f"--queries and DATA are both {data}, but a row that finds itself measures nothing. "
            "Leave --queries out to split it."
        )


def _shown(measures: dict[str, Any], output: options.Format) -> str:
    from kinhash.cli.results import as_json, shown

    if output is options.Format.JSON:
        return as_json(measures)
    if output is not options.Format.TABLE:
        return shown([measures], output)
    return f"{shown(_by_condition(measures), output)}\n\n{shown([_content(measures)], output)}"


def _by_condition(measures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per radius and ranking length, for a table that fits a terminal."""
    from kinhash.show.tables import heading

    rows: dict[str, dict[str, Any]] = {}
    for key, value in measures.items():
        if key == "map" or "@" in key:
            condition = heading(key)[1] or "all"
            name = {"mp": "precision"}.get(key.partition("@")[0], key.partition("@")[0])
            rows.setdefault(condition, {"among": condition})[name] = value
    return list(rows.values())


def _content(measures: dict[str, Any]) -> dict[str, Any]:
    """Return what was searched: the other half of the measures."""
    return {k: v for k, v in measures.items() if k != "map" and "@" not in k}
