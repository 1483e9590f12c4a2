"""`kinhash train`: learn a model from data and write it to a file."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import completion, options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.arrays import Vectors
    from kinhash.cli.inputs import AnyMethod
    from kinhash.codes import Codes
    from kinhash.datasets import Dataset

MAX_SHOWN_ROWS = 10_000  # the summary encodes this many rows, about


def _parameter(name: str, meaning: str, default: str) -> Any:  # noqa: ANN401 - Typer's own
    """Return an option that sets a parameter of the method, None unless given."""
    text = f"{meaning} [default: {default}]"
    completed = completion.method if name == "--method" else None
    return typer.Option(*name.split(), help=text, show_default=False, autocompletion=completed)


def train(
    data: options.Data,
    *,
    out: options.Out,
    method: Annotated[
        str | None,
        _parameter(
            "--method",
            "How to learn; a wrong name lists all.",
            "sparsehash, or multimodal-sparsehash with --modalities",
        ),
    ] = None,
    n_bits: Annotated[
        int | None, _parameter("--n-bits --bits", "Length of the codes.", "64")
    ] = None,
    margin: Annotated[
        float | None,
        _parameter("--margin", "M: dissimilar items are pushed this many bits apart.", "7"),
    ] = None,
    alpha: Annotated[
        float | None,
        _parameter("--alpha", "Weight of the l1 norm of the codes; larger is sparser.", "0.001"),
    ] = None,
    lam: Annotated[
        float | None,
        _parameter("--lam", "lambda: weight of the push against the pull.", "0.1"),
    ] = None,
    similar_share: Annotated[
        float | None,
        _parameter("--similar-share", "Share of the similar pairs in the loss.", "0.22"),
    ] = None,
    n_layers: Annotated[
        int | None,
        _parameter("--n-layers", "Uses of the matrix S after the first shrinkage.", "1"),
    ] = None,
    signed: Annotated[
        bool | None,
        _parameter("--signed/--no-signed", "Codes over -1, 0, 1 instead of 0, 1.", "no"),
    ] = None,
    encoder: Annotated[
        str | None, _parameter("--encoder", "ista, or cod to guarantee --n-active.", "ista")
    ] = None,
    n_active: Annotated[
        int | None,
        _parameter("--n-active", "Most active bits per code, with --encoder cod.", "8"),
    ] = None,
    max_epochs: Annotated[
        int | None, _parameter("--max-epochs", "Most passes over the rows.", "250")
    ] = None,
    seed: Annotated[
        int | None, _parameter("--seed", "Makes the split and the training repeatable.", "0")
    ] = None,
    modalities: Annotated[
        str | None,
        typer.Option(
            "--modalities",
            metavar="NAME,NAME",
            help="Learn one space of codes for several kinds of vectors or texts of the same "
            "items: modalities of a data set, arrays of an .npz file, or columns of a table.",
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter of the method, such as transfer=0.5 or recipe=paper; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A TOML file with the method and the parameters that differ from the defaults; "
            "options override it.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        options.Rows | None,
        typer.Option(
            "--rows",
            help="Train on all rows, or on the training part of the split that evaluate uses: by "
            "--seed, or with --modalities the data set's own. [default: split for a named data "
            "set, all for a file]",
            show_default=False,
        ),
    ] = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(
            "--unlabelled",
            metavar="DATA",
            autocompletion=completion.data,
            help="Further vectors, whose labels are not known or not used; sparsehash learns from "
            "them, too. Of a named data set, the rows that are neither trained on nor queries.",
            show_default=False,
        ),
    ] = None,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    text: options.Text = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    calibration_folds: Annotated[
        int | None,
        typer.Option(
            "--calibration-folds",
            "--n-folds",
            metavar="N",
            min=2,
            help="Learn N times more, each time without a part of the rows, to tell how sure "
            "answers are; for methods other than sparsehash, or few rows.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Learn a model from DATA and write it to a file.

    Rows of one class, or with a tag in common, are similar; without labels, nearby rows are.
    The defaults shown are those of sparsehash. Its options from --margin to --max-epochs need
    --set recipe=paper, which is the paper's network. Prints nothing on stdout: kinhash info shows
    the model, with its own parameters.
    """
    from kinhash.cli import outputs, settings
    from kinhash.cli.data import load_data

    given = {
        "n_bits": n_bits,
        "margin": margin,
        "alpha": alpha,
        "lam": lam,
        "similar_share": similar_share,
        "n_layers": n_layers,
        "signed": signed,
        "encoder": encoder,
        "n_active": n_active,
        "max_epochs": max_epochs,
        "seed": seed,
    }
    names = options.listed_names(modalities, "--modalities")
    model = settings.build_method(
        method, config, given, set_ or [], multimodal=modalities is not None
    )
    if unlabelled is not None:
        _check_unlabelled(model, data, unlabelled)
    outputs.check_output(out, force=force, inputs=(data, config, unlabelled))
    dataset = load_data(
        data,
        features=features,
        labels=labels,
        ids=ids,
        root=root,
        modalities=names,
        text=text,
        delimiter=delimiter,
        with_ids=False,
    )
    more = None
    if unlabelled is not None:
        found = load_data(
            unlabelled,
            features=features,
            labels=None,
            ids=None,
            root=root,
            delimiter=delimiter,
            with_ids=False,
        )
        more = _unlabelled_vectors(model, unlabelled, found)
    if calibration_folds is not None:
        _check_calibrated(model, dataset)
    _fit_and_save(
        model, dataset, _chosen(data, rows), out, more, calibration_folds=calibration_folds
    )


def _check_calibrated(model: "AnyMethod", dataset: "Dataset") -> None:
    from kinhash.errors import InvalidInputError
    from kinhash.methods import HashMethod

    if not isinstance(model, HashMethod):
        raise InvalidInputError(
            f"--calibration-folds is for codes of one kind of vectors, and {model.name} learns "
            "from several modalities. Leave it out."
        )
    if dataset.labels is None:
        raise InvalidInputError(
            f"--calibration-folds needs labels, which {dataset.name} has not: name them with "
            "--labels."
        )


def _check_unlabelled(model: "AnyMethod", data: str, unlabelled: str) -> None:
    from kinhash.cli.data import STDIN
    from kinhash.errors import InvalidInputError
    from kinhash.evaluation.fitting import learns_from_unlabelled

    if not learns_from_unlabelled(model):
        raise InvalidInputError(
            f"--unlabelled goes with --method sparsehash; {model.name} does not learn from vectors "
            "without labels beside others. Leave it out."
        )
    if data == unlabelled == STDIN:
        raise InvalidInputError("DATA and --unlabelled cannot both be stdin. Name a file for one.")


def _unlabelled_vectors(model: "AnyMethod", name: str, found: "Dataset") -> "Vectors":
    """Return all vectors of a file, or of a named data set those that no measure depends on."""
    import numpy as np

    from kinhash.cli.messages import note
    from kinhash.datasets import DATASETS
    from kinhash.datasets.dataset import vectors_of

    vectors, which = vectors_of(found), "all of them"
    if name in DATASETS:
        seed = model.get_params()["seed"]
        part = found.split(seed)
        vectors = vectors[np.setdiff1d(part.database, part.train)]
        which = f"neither training rows nor queries of split {seed}"
    note(f"Unlabelled: {len(vectors):,} of {len(found):,} rows of {found.name}: {which}.")
    return vectors


def _chosen(data: str, rows: options.Rows | None) -> options.Rows:
    from kinhash.datasets import DATASETS

    return rows or (options.Rows.SPLIT if data in DATASETS else options.Rows.ALL)


def _fit_and_save(
    model: "AnyMethod",
    dataset: "Dataset",
    rows: options.Rows,
    out: Path,
    unlabelled: "Vectors | None",
    *,
    calibration_folds: int | None,
) -> None:
    from kinhash.cli.messages import note
    from kinhash.datasets.dataset import vectors_of
    from kinhash.evaluation.fitting import codes_of_some, fit_rows
    from kinhash.methods import HashMethod, MultimodalMethod

    chosen, which = _training_rows(model, dataset, rows)
    note(f"Training {model.name} on {dataset.name}: {which}.")
    if dataset.labels is None:
        similar = "nearby rows"
        if isinstance(model, MultimodalMethod):
            similar = f"the modalities of one item, and {similar},"
        note(f"{dataset.name} has no labels: {similar} count as similar.")
    start = time.perf_counter()
    with _progress(model):
        fit_rows(model, dataset, chosen, unlabelled=unlabelled)
        if calibration_folds is not None and isinstance(model, HashMethod):
            labels = None if dataset.labels is None else dataset.labels[chosen]
            model.calibrate(vectors_of(dataset)[chosen], labels, n_folds=calibration_folds)
    codes = codes_of_some(model, dataset, chosen, most=MAX_SHOWN_ROWS)
    seconds = time.perf_counter() - start
    model.save(out)
    first = next(iter(codes.values()))
    length = f"{first.n_bits} bits"
    if first.n_rank_bits:
        length += f", {first.n_rank_bits} rank and {first.n_bucket_bits} bucket bits"
    shown = "; ".join(_described(modality, one) for modality, one in codes.items())
    note(f"Wrote {out} after {seconds:.1f} s: {length}, {shown}.")


def _described(modality: str, codes: "Codes") -> str:
    from kinhash.cli.messages import counted

    noun = "bucket" if codes.n_rank_bits else "code"
    return (
        f"{modality + ': ' if modality else ''}{codes.n_active.mean():.1f} of them active, "
        f"{counted(codes.n_unique, f'different {noun}')} for {counted(len(codes), 'training row')}"
    )


def _training_rows(model: "AnyMethod", dataset: "Dataset", rows: options.Rows) -> tuple[Any, str]:
    """Return the rows to train on, and how to say so; all of them as a slice, so not copied."""
    from kinhash.evaluation.fitting import own_rows
    from kinhash.methods import MultimodalMethod

    if rows is options.Rows.ALL:
        return slice(None), f"all {len(dataset):,} rows"
    chosen = own_rows(dataset, "train") if isinstance(model, MultimodalMethod) else None
    which = "its own split"
    if chosen is None:
        seed = model.get_params()["seed"]
        chosen, which = dataset.split(seed).train, f"split {seed}"
    return chosen, f"{len(chosen):,} of {len(dataset):,} rows, the training part of {which}"


@contextlib.contextmanager
def _progress(model: "AnyMethod") -> Iterator[None]:
    """Show a progress bar where the method has one; `verbose` is none of its results."""
    _set_verbose(model, value=True)
    yield
    for one in (model, getattr(model, "bucket_", None), getattr(model, "rank_", None)):
        if one is not None:
            _set_verbose(one, value=False)


def _set_verbose(model: "AnyMethod", *, value: bool) -> None:
    """Set `verbose` where there is one; that of a part is "rank__verbose"."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "verbose"]
    model.set_params(**dict.fromkeys(names, value))
