"""The arguments and options that several commands share."""

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import completion


class Format(enum.StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


class Memory(enum.StrEnum):
    """What an index keeps to be fast: the names of `kinhash.index.memory.MEMORY`."""

    LEAN = "lean"
    BALANCED = "balanced"
    FAST = "fast"


class Order(enum.StrEnum):
    """How items are ranked by codes with rank bits: the names of `kinhash.metrics.ORDERS`."""

    NESTED = "nested"
    TOTAL = "total"


class Metric(enum.StrEnum):
    """What near means for vectors: the names of `kinhash.metrics.METRICS`."""

    COSINE = "cosine"
    L2 = "l2"


class Similarity(enum.StrEnum):
    """What candidates are reranked by: the names of `kinhash.reranking.SIMILARITIES`."""

    COSINE = "cosine"
    DOT = "dot"
    L2 = "l2"


class Rows(enum.StrEnum):
    """Which rows of a data set are trained on."""

    ALL = "all"
    SPLIT = "split"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set such as digits or cifar10; a .npz, .npy, .parquet, .arrow, .feather, "
        ".csv, .tsv or .jsonl file; or a folder of parts. - reads CSV from stdin.",
        autocompletion=completion.data,
    ),
]
Items = Annotated[Path, typer.Argument(metavar="ITEMS", help="A file that index wrote.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that train wrote.")]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
Output = Annotated[Format, typer.Option("--format", help="How to print the results.")]

Ranking = Annotated[
    Order,
    typer.Option(
        "--order",
        help="Codes with rank bits are ranked by distance, then rank distance, or by the sum of "
        "both.",
    ),
]

WithoutLabels = Annotated[
    bool,
    typer.Option(
        "--without-labels",
        help="Leave the labels of DATA out: measure by the true 10 nearest vectors of each query, "
        "as is done where there are none.",
    ),
]
Near = Annotated[
    Metric, typer.Option("--metric", help="Without labels: which vectors are the nearest.")
]

Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="NAME",
        help="The columns of the vectors: names or patterns such as 'e*', separated by commas; "
        "or the array or list column that holds them; of a named data set, the kind of features.",
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAME",
        help="The array or column with the labels. [default: label or labels]",
        show_default=False,
    ),
]
Ids = Annotated[
    str | None,
    typer.Option(
        "--ids",
        "--id",
        metavar="NAME",
        help="The array or column with the items' ids, whole numbers or strings. [default: id or "
        "ids]",
        show_default=False,
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="NAME",
        help="The array or column with the texts of a modality that has no column of its name.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="SIGN",
        help="What separates the cells of a .csv or .tsv file, such as ';'. [default: comma or "
        "tab]",
        show_default=False,
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="FOLDER",
        help="Where the named data sets are. [default: $KINHASH_DATA or ~/.cache/kinhash]",
        show_default=False,
    ),
]
Modality = Annotated[
    str | None,
    typer.Option(
        "--modality",
        metavar="NAME",
        help="Which modality the data is, such as image or text, if the model has several.",
        show_default=False,
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="The array or column that holds the codes of another tool. [default: code or codes]",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        "--n-threads",
        metavar="N",
        min=1,
        help="Threads to use. [default: all cores]",
        show_default=False,
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")]


def listed_names(text: str | None, option: str) -> tuple[str, ...] | None:
    """Return the names that `option` lists, as in "image,text"; None if it was not given.

    Raises:
        typer.BadParameter: A name is empty or there twice, or there is only one.
    """
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if len(set(names)) != len(names) or "" in names or len(names) < 2:
        raise typer.BadParameter(
            f"expected two or more different names separated by commas, such as image,text, "
            f"got {text!r}",
            param_hint=f"'{option}'",
        )
    return names


def whole_numbers(
    text: str, option: str, *, low: int, high: int | None = None, example: str
) -> tuple[int, ...]:
    """Return the numbers in [low, high] that `option` lists, as in `example`.

    Raises:
        typer.BadParameter: Anything else.
    """
    try:
        numbers = tuple(int(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if numbers and min(numbers) >= low and (high is None or max(numbers) <= high):
        return numbers
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise typer.BadParameter(
        f"expected integers {limits} separated by commas, such as {example}, got {text!r}",
        param_hint=f"'{option}'",
    )


def check_one_of(given: Mapping[str, object]) -> None:
    """Raise unless just one of some options was given, that is, is not None.

    Raises:
        typer.BadParameter: Several or none were given.
    """
    if sum(value is not None for value in given.values()) != 1:
        hint = " / ".join(f"'{option}'" for option in given)
        which = "the two" if len(given) == 2 else "these"
        raise typer.BadParameter(f"give exactly one of {which}", param_hint=hint)
