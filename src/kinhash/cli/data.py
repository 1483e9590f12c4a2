"""The data a command reads: by name, by path or from stdin; and which columns were taken."""

import contextlib
import dataclasses
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kinhash.cli.messages import counted, note
from kinhash.datasets import DATASETS, Batch, Dataset, Items
from kinhash.datasets import load as load_dataset
from kinhash.datasets.catalogue import open_path
from kinhash.datasets.user_files.columns import Columns
from kinhash.errors import InvalidInputError
from kinhash.progress import progress_bar
from kinhash.tables import listed

STDIN = "-"
STDIN_NAME = "standard input"

_FEW = 3  # columns of a vector that are all named


@dataclasses.dataclass(frozen=True)
class Looked:
    """Where to look in the data: what the options say."""

    features: str | None = None
    labels: str | None = None
    ids: str | None = None
    text: str | None = None
    delimiter: str | None = None
    root: Path | None = None
    modalities: Sequence[str] | None = None


def load_data(
    data: str,
    *,
    features: str | None,
    labels: str | None,
    ids: str | None,
    root: Path | None,
    modalities: Sequence[str] | None = None,
    text: str | None = None,
    delimiter: str | None = None,
    with_ids: bool = True,
) -> Dataset:
    """Return the data set called `data`, the file at that path, or the CSV on stdin for "-".

    With `modalities`, these are what its `modalities` hold. Without `with_ids`, nothing about ids
    can be wrong. Which columns of a file were taken is said on stderr.

    Raises:
        KinhashError: As `kinhash.datasets.load`.
    """
    looked = Looked(features, labels, ids, text, delimiter, root, modalities)
    if data in DATASETS:
        return _named(data, looked)
    with _opened(data, looked, with_ids=with_ids) as items, progress_bar(f"Reading {data}"):
        found = items.read(with_ids=with_ids)
    return dataclasses.replace(found, name=STDIN_NAME) if data == STDIN else found


@contextlib.contextmanager
def batches_of(data: str, looked: Looked) -> Iterator[tuple[Iterator[Batch], int | None]]:
    """Give the rows of the same data in batches, with ids, and their number if it is known.

    Raises:
        KinhashError: As `kinhash.datasets.open_items`.
    """
    if data in DATASETS:
        found = _named(data, looked)
        whole = Batch(0, found.ids, found.vectors, found.texts, found.modalities)
        yield iter([whole]), len(found)
        return
    with _opened(data, looked, with_ids=True) as items:
        yield items.batches(), items.n_rows


def columns_of(data: str, looked: Looked) -> Columns:
    """Return which columns of a file are read as what, which is also said.

    Raises:
        KinhashError: As `kinhash.datasets.open_items`.
    """
    with _opened(data, looked, with_ids=True) as items:
        return items.columns


def _named(data: str, looked: Looked) -> Dataset:
    with progress_bar(f"Reading {data}") as report:
        return load_dataset(
            data,
            root=looked.root,
            features=looked.features,
            labels=looked.labels,
            ids=looked.ids,
            text=looked.text,
            delimiter=looked.delimiter,
            modalities=looked.modalities,
            progress=report,
        )


@contextlib.contextmanager
def _opened(data: str, looked: Looked, *, with_ids: bool) -> Iterator[Items]:
    """Open a file, or stdin, and say which columns are taken."""
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(_stdin_copied()) if data == STDIN else data
        try:
            items = open_path(
                path,
                root=looked.root,
                features=looked.features,
                labels=looked.labels,
                ids=looked.ids,
                text=looked.text,
                delimiter=looked.delimiter,
                modalities=looked.modalities,
            )
            told = taken(items.columns, with_ids=with_ids)
            if told:
                note(f"{STDIN_NAME if data == STDIN else Path(data).name}: {told}.")
            yield items
        except InvalidInputError as error:
            if data != STDIN:
                raise
            raise InvalidInputError(str(error).replace(path, STDIN_NAME)) from error


@contextlib.contextmanager
def _stdin_copied() -> Iterator[str]:
    if sys.stdin is None:
        raise InvalidInputError("Cannot read the data: standard input is closed.")
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        while block := sys.stdin.buffer.read(2**20):
            file.write(block)
        file.flush()
        yield file.name


def taken(columns: Columns, *, with_ids: bool = True) -> str:
    """Return in words which columns are read as what, and which are not.

    "" if there is nothing to say: no names, or the usual array `vectors` and no other.

    Example:
        >>> taken(Columns(("e0", "e1", "e2", "e3"), labels="kind", ids="sku", left=("price",)))
        'vectors from 4 columns, e0 to e3; labels from kind; ids from sku; left out: price'
    """
    if columns.features == ("vectors",) and not columns.left:
        return ""
    parts = []
    if columns.modalities:
        parts += [f"{name} from {_shown(own)}" for name, own in columns.modalities.items() if own]
    else:
        parts += [f"vectors from {_shown(columns.features)}"] if columns.features else []
        parts += [f"texts from {columns.text}"] if columns.text else []
    parts += [f"labels from {columns.labels}"] if columns.labels else []
    left = [name or "one without a name" for name in columns.left]
    if columns.ids:
        parts += [f"ids from {columns.ids}"] if with_ids else []
        left += [] if with_ids else [columns.ids]
    parts += [f"left out: {listed(left)}"] if parts and left else []
    return "; ".join(parts)


def _shown(names: Sequence[str]) -> str:
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{counted(len(names), 'column')}, {names[0]} to {names[-1]}"
