"""`kinhash compare`: which method suits this data."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import completion, options


def compare(
    data: options.Data,
    *,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="NAME,NAME",
            help="Methods to compare: sparsehash, nnhash, ksh, agh, ssh, dh, itq, lsh, classcode, "
            "a class of your own as module:Class, and l2 and cosine for the vectors themselves.",
            autocompletion=completion.methods,
        ),
    ] = "sparsehash,nnhash,ksh,itq,lsh,classcode,l2,cosine",
    bits: Annotated[
        str, typer.Option("--bits", metavar="N,N", help="Lengths of the codes.")
    ] = "64",
    splits: Annotated[
        int, typer.Option("--splits", metavar="N", min=1, help="Random splits to average over.")
    ] = 1,
    unseen: Annotated[
        bool,
        typer.Option(
            "--unseen", help="Search among classes that were never trained on, instead of all."
        ),
    ] = False,
    order: options.Ranking = options.Order.NESTED,
    without_labels: options.WithoutLabels = False,
    metric: options.Near = options.Metric.COSINE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Write a report with figures here, and continue from the records in it; needs "
            "matplotlib.",
            show_default=False,
        ),
    ] = None,
    output: options.Output = options.Format.TABLE,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Compare hashing methods on DATA, by the paper's measures.

    Each method is fitted on the training part of a split and searches the database with queries it
    has never seen. Unsupervised methods are fitted on the database.

    Without labels, every method learns from the vectors of the database alone, and is measured by
    the share of the true 10 nearest vectors that it finds.
    """
    from kinhash.cli import inputs
    from kinhash.cli.data import load_data
    from kinhash.cli.messages import kept, note
    from kinhash.cli.names import in_options
    from kinhash.cli.results import emit, shown
    from kinhash.codes import MAX_BITS
    from kinhash.progress import progress_bar
    from kinhash.studies import comparison

    if out is not None:  # figures need an extra: better said before the work than after it
        from kinhash.studies import comparison_report
    plan = comparison.planned(
        [name.strip() for name in methods.split(",")],
        options.whole_numbers(bits, "--bits", low=1, high=MAX_BITS, example="48,64"),
    )
    dataset = load_data(
        data,
        features=features,
        labels=labels,
        ids=ids,
        root=root,
        delimiter=delimiter,
        with_ids=False,
    )
    dataset = inputs.without_labels(dataset) if without_labels else dataset
    records = None if out is None else comparison.records_file(out, dataset)
    protocol, refused = "unseen" if unseen else "paper", list[str]()
    left = "nothing was written." if out is None else f"the records in {out} are kept."
    with kept(left), progress_bar("Comparing") as report:
        compared = comparison.compare(
            records,
            dataset,
            plan,
            range(splits),
            protocol=protocol,
            order=order.value,
            metric=metric.value,
            report=report,
            refused=refused,
        )
    note(*(f"warning: {in_options(sentence, ['compare'])}" for sentence in refused))
    emit(shown(comparison.rows(compared), output))
    note(*comparison.verdict(compared))
    if out is not None:
        comparison_report.write(out, dataset, compared)
        note(f"Wrote {out / comparison_report.REPORT}: open it in a browser.")
