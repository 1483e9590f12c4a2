"""`kinhash tune`: settings for a wish, and the model that has them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import completion, options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.datasets import Dataset
    from kinhash.tuning import Goal, Tuned


def tune(
    data: options.Data,
    *,
    want: Annotated[
        str,
        typer.Option(
            "--want",
            metavar="WISH,WISH",
            help="What must be reached, such as precision@r0>=0.5,answers<=50,bytes<=12: of "
            "precision, recall, f1 and empty, at a radius (@r0) or at the best one, answers, map "
            "and bytes.",
            show_default=False,
        ),
    ],
    out: options.Out,
    maximise: Annotated[
        str | None,
        typer.Option(
            "--maximise",
            metavar="MEASURE",
            help="What to have most of beside that: recall, precision, f1 or map. [default: recall "
            "where precision is wished for, precision where recall is, else f1]",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAME,NAME",
            help="Methods to try. [default: sparsehash,classcode,itq; without labels "
            "sparsehash,itq,lsh]",
            autocompletion=completion.methods,
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            metavar="N",
            help="Stop trying after this time; the model is then trained. [default: try all]",
            show_default=False,
        ),
    ] = None,
    n_items: Annotated[
        int | None,
        typer.Option(
            "--items",
            metavar="N",
            min=1,
            help="How large the collection will be, for answers. [default: that of DATA]",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        Path | None,
        typer.Option(
            "--trials",
            metavar="FILE",
            help="Where trials are kept, and read from if it is there. [default: that of --out "
            "with the ending .trials.jsonl]",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page with a figure of the front here; needs matplotlib.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        options.Rows | None,
        typer.Option(
            "--rows",
            help="Learn from all rows, or from the training part of the split that evaluate uses. "
            "[default: split for a named data set, all for a file]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", min=0, help="Of the split, the folds and methods."),
    ] = 0,
    without_labels: Annotated[
        bool,
        typer.Option(
            "--without-labels",
            help="Leave the labels of DATA out: what is similar is the 10 nearest vectors.",
        ),
    ] = False,
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Find settings that meet a wish, and train the model.

    Settings are tried by cross-validation inside the training rows: queries of the split are never
    looked at. Every trial is kept in a file, so that the same command goes on where it was stopped.

    Prints the front: what no other settings beat in precision, recall and bytes; and how answers
    change as the collection grows.
    """
    from kinhash.cli import outputs
    from kinhash.cli.data import load_data
    from kinhash.cli.results import emit
    from kinhash.tuning import Goal

    goal = Goal.parsed(want, maximise)  # what cannot be meant is said before data is read
    kept = trials or out.with_suffix(".trials.jsonl")
    outputs.check_output(out, force=force, inputs=(data, kept))
    if report is not None:  # figures need an extra: better said before the work than after it
        from kinhash.tuning import report as pages

        outputs.check_output(report, force=force, inputs=(data, kept, out))
    dataset = load_data(
        data,
        features=features,
        labels=labels,
        ids=ids,
        root=root,
        delimiter=delimiter,
        with_ids=False,
    )
    used = _training_part(data, dataset, rows, seed, without_labels=without_labels)
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    found = _tuned(
        used,
        goal,
        methods=names,
        minutes=minutes,
        n_items=n_items or len(dataset),
        seed=seed,
        trials=kept,
    )
    found.model.save(out)
    emit(_shown(found, output))
    _say(found, out)
    if report is not None:
        pages.write(report, found, dataset.name)


def _training_part(
    data: str, dataset: "Dataset", rows: options.Rows | None, seed: int, *, without_labels: bool
) -> tuple[Any, Any]:
    """Return the vectors and labels to learn from, and say how many there are."""
    from kinhash.cli.messages import note
    from kinhash.datasets import DATASETS
    from kinhash.datasets.dataset import vectors_of

    vectors, labels = vectors_of(dataset), dataset.labels
    which = f"all {len(dataset):,} rows"
    if (rows or (options.Rows.SPLIT if data in DATASETS else options.Rows.ALL)) == "split":
        train = dataset.split(seed).train
        vectors, labels = vectors[train], None if labels is None else labels[train]
        which = f"{len(train):,} of {len(dataset):,} rows, the training part of split {seed}"
    labels = None if without_labels else labels
    note(f"Tuning on {dataset.name}: {which}.")
    if labels is None:
        note("Without labels, the 10 nearest vectors count as similar.")
    return vectors, labels


def _tuned(
    used: tuple[Any, Any],
    goal: "Goal",
    *,
    methods: list[str] | None,
    minutes: float | None,
    n_items: int,
    seed: int,
    trials: Path,
) -> "Tuned":
    from kinhash.progress import progress_bar
    from kinhash.tuning import tune as search

    with progress_bar("Tuning") as report:
        try:
            return search(
                *used,
                want=goal,
                methods=methods,
                minutes=minutes,
                n_items=n_items,
                seed=seed,
                trials=trials,
                report=report,
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {trials} has the trials so far: the same command goes on from them."
                if trials.exists()
                else ""
            ) from None


def _shown(found: "Tuned", output: options.Format) -> str:
    from kinhash.cli.results import as_json, shown
    from kinhash.tuning.tables import growth_rows, row, shown_front

    growth = growth_rows(found.growth) if found.growth else []
    if output is options.Format.JSON:
        return as_json(
            {
                "goal": str(found.goal),
                "chosen": row(found.chosen) | {"settings": found.chosen.settings},
                "front": [row(point) | {"settings": point.settings} for point in found.front],
                "growth": growth,
            }
        )
    if output is not options.Format.TABLE:
        return shown([row(point) for point in found.front], output)
    tables = [shown(shown_front(found), output), *([shown(growth, output)] if growth else [])]
    return "\n\n".join(tables)


def _say(found: "Tuned", out: Path) -> None:
    from kinhash.cli.messages import counted, note
    from kinhash.cli.names import in_options

    note(*(f"warning: {in_options(sentence, ['tune'])}" for sentence in found.refused))
    if found.n_left > 0:
        note(
            f"{counted(found.n_left, 'setting was', 'settings were')} not tried on all rows: run "
            "again with more --minutes to go on."
        )
    if found.growth is None:
        note("Too few rows are left out to tell how answers change as the collection grows.")
    note(f"For {found.goal}: {found.chosen}.")
    note(f"Wrote {out}: search with --radius {found.radius}.")
