"""Rows of a table: its columns as vectors, labels, ids and texts."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinhash import tables
from kinhash.datasets.dataset import Dataset, Modality
from kinhash.datasets.user_files.batches import BATCH_ROWS, Batch
from kinhash.datasets.user_files.columns import Columns
from kinhash.datasets.user_files.doubtful import warn_of_doubtful
from kinhash.datasets.user_files.fields import as_labels, first_vectors
from kinhash.datasets.user_files.sources import Piece, Source, kind_of
from kinhash.datasets.user_files.untyped import joined_ids, narrowed, text_ids
from kinhash.errors import InvalidInputError


@dataclasses.dataclass(frozen=True, eq=False)
class TableItems:
    """Rows of a table."""

    name: str
    source: Source
    columns: Columns

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where only reading all of them tells."""
        return self.source.n_rows

    def batches(self, n_rows: int = BATCH_ROWS, *, with_ids: bool = True) -> Iterator[Batch]:
        """Yield all rows in order, at most `n_rows` at a time."""
        for _, batch in self._parts(n_rows, with_ids=with_ids, with_labels=False):
            yield batch

    def read(self, *, with_ids: bool = True) -> Dataset:
        """Return all rows, with the labels."""
        batches, labels = [], []
        for piece, batch in self._parts(None, with_ids=with_ids, with_labels=True):
            batches.append(batch)
            if self.columns.labels is not None:
                labels.append(_column(piece, self.columns.labels))
        numbers, names = self._labels(labels)
        modalities = {
            name: _joined([(batch.modalities or {})[name] for batch in batches])
            for name in self.columns.modalities
        }
        vectors = [batch.vectors for batch in batches if batch.vectors is not None]
        ids = [batch.ids for batch in batches if batch.ids is not None]
        texts = [batch.texts for batch in batches if batch.texts is not None]
        return Dataset(
            self.name,
            first_vectors(modalities) if modalities else _joined(vectors),
            labels=numbers,
            names=names,
            ids=joined_ids(ids) if ids else None,
            texts=_joined(texts),
            modalities=modalities or None,
        )

    def _labels(self, parts: list[Any]) -> tuple[Any, tuple[str, ...] | None]:
        """Return class numbers or tags, and the names of the classes."""
        if not parts:
            return None, None
        source = f"`{self.columns.labels}` in {self.source.name}"
        if self.source.is_untyped:
            parts = [narrowed(tables.arrow().chunked_array(parts))]
        return as_labels(np.concatenate([tables.values(part, source) for part in parts]), source)

    def _parts(
        self, n_rows: int | None, *, with_ids: bool, with_labels: bool
    ) -> Iterator[tuple[Piece, Batch]]:
        """Yield the rows as they are stored, and as they are used."""
        roles, row = self.columns.roles, 0
        widths: dict[str, int] = {}  # the number of columns of each content
        if not with_ids:
            roles = {name: role for name, role in roles.items() if role != "ids"}
        if not with_labels:
            roles = {name: role for name, role in roles.items() if role != "labels"}
        for piece in self.source.pieces(roles, n_rows):
            if not piece.table.num_rows:
                continue
            if row == 0:
                warn_of_doubtful(self.columns, piece)
            yield piece, self._batch(piece, row, widths, with_ids=with_ids)
            row += piece.table.num_rows
        if row == 0:
            raise InvalidInputError(f"{self.source.name} must have at least one row, but has none.")

    def _batch(self, piece: Piece, row: int, widths: dict[str, int], *, with_ids: bool) -> Batch:
        """Return rows as they are used; `widths` has the number of columns of each content."""
        columns, found = self.columns, {}
        contents = columns.modalities or {"": columns.features}
        for name, own in contents.items():
            if own:
                found[name] = _content(piece, name, own, widths.get(name))
                if isinstance(found[name], np.ndarray):
                    widths[name] = found[name].shape[1]
        ids = None
        if with_ids and columns.ids is not None:
            column, source = _column(piece, columns.ids), f"`{columns.ids}` in {piece.source}"
            read_ids = text_ids if self.source.is_untyped else tables.ids
            ids = read_ids(column, source, first_row=piece.first_row)
        if columns.modalities:
            return Batch(row, ids, first_vectors(found), modalities=found)
        texts = None
        if columns.text is not None:
            texts = _texts(piece, columns.text)
        return Batch(row, ids, found.get(""), texts)


def _content(piece: Piece, modality: str, own: Sequence[str], width: int | None) -> Modality:
    """Return the texts of a column, or the vectors of a column of lists, or of several."""
    if modality and len(own) == 1:
        kind = _column(piece, own[0]).type
        if kind_of(kind) == "text":
            return _texts(piece, own[0])
        if own[0] == modality and kind_of(kind) != "list":
            raise InvalidInputError(
                f"`{modality}` in {piece.source} must hold texts or lists of numbers, got {kind}. "
                f"Numbers of a modality are columns called {modality}_0, {modality}_1, ...."
            )
    places: dict[str, list[int]] = {}
    for place, name in enumerate(piece.table.schema.names):
        places.setdefault(name, []).append(place)
    chosen = [place for name in own for place in places[name]]
    return tables.vectors_at(
        piece.table, chosen, source=piece.source, first_row=piece.first_row, width=width
    )


def _texts(piece: Piece, name: str) -> tuple[str, ...]:
    return tuple(tables.texts(_column(piece, name), f"`{name}` in {piece.source}"))


def _column(piece: Piece, name: str) -> Any:  # noqa: ANN401 - untyped
    return piece.table.column(piece.table.schema.names.index(name))


def _joined(parts: Sequence[Modality]) -> Any:  # noqa: ANN401 - as the parts are; None if none
    """Return vectors or texts one after the other; a single part is not copied."""
    if len(parts) < 2:
        return parts[0] if parts else None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return tuple(itertools.chain.from_iterable(parts))
