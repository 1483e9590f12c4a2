"""A folder of parts, read as one table; needs pyarrow."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kinhash.datasets.user_files.columns import Role
from kinhash.datasets.user_files.delimited import DelimitedSource
from kinhash.datasets.user_files.json_lines import JsonLinesSource
from kinhash.datasets.user_files.sources import ArrowSchema, ArrowType, Piece, Source, kind_of
from kinhash.errors import InvalidInputError
from kinhash.tables import listed


@dataclasses.dataclass(frozen=True, eq=False)
class FolderSource:
    """The files of a folder, one after the other."""

    name: str
    parts: Sequence[Source]

    @property
    def schema(self) -> ArrowSchema:
        """The names and types of the columns, as the first part has them."""
        return self.parts[0].schema

    @property
    def is_untyped(self) -> bool:
        """Whether labels and ids come as texts."""
        return self.parts[0].is_untyped

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, if each part says so."""
        counts = [part.n_rows for part in self.parts]
        return None if None in counts else sum(count or 0 for count in counts)

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order, part by part."""
        for part in self.parts:
            yield from part.pieces(roles, n_rows)


def part_files(folder: Path) -> list[Path]:
    """Return the files of a folder by name; without those that begin with "." or "_".

    Raises:
        InvalidInputError: There are none, or there are folders in it.
    """
    found = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    inner = [path.name for path in found if path.is_dir()]
    if inner:
        raise InvalidInputError(
            f"{folder} must hold files only, but has the folder {inner[0]}. Give one folder of "
            "parts."
        )
    if not found:
        raise InvalidInputError(f"{folder} must hold the parts of a table, but has no files.")
    return found


def folder_source(folder: Path, paths: Sequence[Path], opened: Callable[[Path], Source]) -> Source:
    """Return the table whose parts are some files of a folder.

    Raises:
        InvalidInputError: A part cannot be read, or has other columns than the first.
    """
    parts: list[Source] = []
    for path in paths:
        part = opened(path)
        if parts and isinstance(part, JsonLinesSource):
            # Its first lines may lack fields, so they say nothing about its columns.
            part = dataclasses.replace(part, schema=parts[0].schema)
        elif parts:
            _check_same(parts[0], part)
        parts.append(part)
    return FolderSource(str(folder), parts)


def _check_same(first: Source, part: Source) -> None:
    """Raise InvalidInputError unless two parts have the same columns, in any order."""
    mine, own = ({field.name: field.type for field in one.schema} for one in (first, part))
    lacks, more = mine.keys() - own.keys(), own.keys() - mine.keys()
    if lacks or more:
        told = [f"lacks {listed(sorted(lacks))}"] * bool(lacks)
        told += [f"has also {listed(sorted(more))}"] * bool(more)
        raise InvalidInputError(
            f"All parts must have the columns of {first.name}, but {part.name} "
            f"{' and '.join(told)}."
        )
    if isinstance(part, DelimitedSource):
        return  # the types of its first block are guesses
    for name, kind in own.items():
        if _sort(kind) != _sort(mine[name]):
            raise InvalidInputError(
                f"All parts must have the columns of {first.name}, but `{name}` has type "
                f"{mine[name]} there, and {kind} in {part.name}."
            )


def _sort(kind: ArrowType) -> str:
    """Return what a column is read as, whatever the width of its numbers; else its type."""
    found = kind_of(kind)
    if found == "other":
        return str(kind)
    return "number" if found in {"integer", "decimal"} else found
