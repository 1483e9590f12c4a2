"""`kinhash evaluate`: how well a model's codes retrieve rows of the same class."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options
from kinhash.errors import InvalidInputError

if TYPE_CHECKING:  # this takes half a second to import
    from kinhash.datasets import Dataset
    from kinhash.methods import HashMethod


def evaluate(
    model: options.Model,
    data: options.Data,
    *,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="DATA",
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
        str,
        typer.Option(
            "--at", metavar="K,K", help="Ranking lengths to measure mAP and precision at."
        ),
    ] = "10,5000",
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Measure how well codes find rows of the same class.

    DATA is split by the seed: up to 100 rows per class are queries, and all others are the
    database. A named data set was split in the same way by train. Of a file, train takes all rows
    unless it is told --rows split: measuring queries that the model was trained on flatters it.
    """
    from kinhash.cli import inputs
    from kinhash.cli.results import emit

    wanted = {
        "radii": options.whole_numbers(radii, "--radii"),
        "at": options.whole_numbers(at, "--at"),
    }
    method = inputs.load_model(model)
    dataset = inputs.load_data(data, features=features, labels=labels, ids=ids, root=root)
    if queries is None:
        measures = _of_split(method, dataset, seed, wanted)
    else:
        _check_apart(queries, data)
        others = inputs.load_data(queries, features=features, labels=labels, ids=ids, root=root)
        measures = _of_two(method, others, dataset, wanted)
    emit(_shown(measures, output))


Wanted = dict[str, tuple[int, ...]]  # radii and at, as evaluate_codes takes them


def _of_split(
    method: "HashMethod", dataset: "Dataset", seed: int | None, wanted: Wanted
) -> dict[str, Any]:
    from kinhash.cli.messages import note
    from kinhash.evaluation.protocol import evaluate_fitted

    own_seed = method.get_params()["seed"]
    seed = own_seed if seed is None else seed
    if seed != own_seed:
        note(
            f"warning: the model was trained with seed {own_seed}, so queries of split {seed} may "
            "be rows it was trained on."
        )
    part = dataset.split(seed)
    found = evaluate_fitted(method, dataset, part, **wanted)
    sizes = {"n_queries": len(part.query), "n_database": len(part.database)}
    return {"data": dataset.name, "seed": seed, **sizes, **found.metrics}


def _of_two(
    method: "HashMethod", queries: "Dataset", database: "Dataset", wanted: Wanted
) -> dict[str, Any]:
    from kinhash.metrics import evaluate_codes

    labels = [_labels(dataset) for dataset in (queries, database)]
    codes = [method.encode(dataset.vectors) for dataset in (queries, database)]
    metrics = evaluate_codes(codes[0], labels[0], codes[1], labels[1], **wanted)
    sizes = {"n_queries": len(queries), "n_database": len(database)}
    return {"data": database.name, "queries": queries.name, **sizes, **metrics}


def _check_apart(queries: str, data: str) -> None:
    if Path(queries).resolve() == Path(data).resolve():
        raise InvalidInputError(
            f"--queries and DATA are both {data}, but a row that finds itself measures nothing. "
            "Leave --queries out to split it."
        )


def _labels(dataset: "Dataset") -> Any:  # noqa: ANN401 - an array
    """Return labels that mean the same in every file: numbers count from 0 in each."""
    import numpy as np

    if dataset.labels is None:
        raise InvalidInputError(
            f"{dataset.name} has no labels, so nothing says which matches are right. "
            "Name them with --labels."
        )
    if dataset.names is None or dataset.labels.ndim == 2:
        return dataset.labels
    return np.array(dataset.names)[dataset.labels]


def _shown(measures: dict[str, Any], output: options.Format) -> str:
    from kinhash.cli.results import as_json
    from kinhash.evaluation.tables import render

    if output is options.Format.JSON:
        return as_json(measures)
    if output is options.Format.CSV:
        return render([measures], "csv")
    return f"{render(_by_condition(measures), 'table')}\n\n{render([_content(measures)], 'table')}"


def _by_condition(measures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per radius and ranking length, for a table that fits a terminal."""
    from kinhash.evaluation.tables import heading

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
