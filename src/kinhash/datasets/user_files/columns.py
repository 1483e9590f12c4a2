"""Which column of a table, or array of a file, plays which part."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from kinhash.errors import InvalidInputError
from kinhash.tables import listed, matching, no_column

Kind = Literal["number", "integer", "decimal", "list", "text", "other"]
Role = Literal["features", "labels", "ids", "text"]

USUAL_LABELS, USUAL_IDS = ("label", "labels"), ("id", "ids")

# What pandas calls the index that it writes as one more column of a .csv or .parquet file.
_INDEX_NAMES = ("", "__index_level_0__")
_NUMBERS = ("number", "integer", "decimal")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the caller asks for.

    Attributes:
        features: Names or patterns of the columns of the vectors.
        labels: The name of the column of labels.
        ids: The name of that of ids.
        text: The name of that of texts.
        modalities: The names of several kinds of vectors or texts.
    """

    features: str | Sequence[str] | None = None
    labels: str | None = None
    ids: str | None = None
    text: str | None = None
    modalities: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True)
class Columns:
    """Which columns are read, as what, and which are not.

    Attributes:
        features: Those of the vectors: a single one of lists, or numbers. Empty if no vectors are
            read.
        labels: That of the labels, if any.
        ids: That of the ids, if any.
        text: That of the texts, if any.
        modalities: Those of each modality.
        left: The others.
        unnamed: Those of `features` that nobody asked for by name: they were matched by a pattern,
            or taken because they are numbers.
    """

    features: tuple[str, ...] = ()
    labels: str | None = None
    ids: str | None = None
    text: str | None = None
    modalities: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    left: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Role]:
        """What each column that is read is read as."""
        found: dict[str, Role] = dict.fromkeys(self.features, "features")
        for names in self.modalities.values():
            found |= dict.fromkeys(names, "features")
        for name, role in ((self.text, "text"), (self.labels, "labels"), (self.ids, "ids")):
            if name is not None:
                found[name] = role  # type: ignore[assignment]  # each is a role
        return found


def choose_columns(kinds: Sequence[tuple[str, Kind]], wanted: Wanted, source: str) -> Columns:
    """Return which columns are read as what.

    Vectors are what `wanted.features` says, or else, unless texts or modalities are asked for, the
    only column of lists, or else all columns of numbers that have no other role.

    Args:
        kinds: The name and kind of each column.
        wanted: What is asked for.
        source: What messages call the table.

    Raises:
        InvalidInputError: A name or pattern finds no column, or there are no columns for vectors.
    """
    names = [name for name, _ in kinds]
    labels = choose("labels", wanted.labels, USUAL_LABELS, names, source)
    ids = choose("ids", wanted.ids, USUAL_IDS, names, source)
    text = None if wanted.text is None else choose("text", wanted.text, (), names, source)
    taken = {labels, ids, text} - {None}
    modalities = {} if wanted.modalities is None else of_modalities(names, wanted, text, source)
    alone = [name for name, own in modalities.items() if not own]  # the vectors, whatever they are
    features: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    if wanted.features is not None:
        exact = _exact(wanted.features)
        matched = matching(names, wanted.features, option="features", source=source)
        # A pattern such as "*" does not turn the ids into a feature, their name does.
        features = tuple(name for name in matched if name not in taken or name in exact)
        unnamed = tuple(name for name in features if name not in exact)
    elif alone or (text is None and wanted.modalities is None):
        features = _usual(kinds, taken, source)
        unnamed = features
    if alone:
        modalities[alone[0]] = features
    used = taken.union(features, *modalities.values())
    left = tuple(dict.fromkeys(name for name in names if name not in used))
    return Columns(features, labels, ids, text, modalities, left, unnamed)


def choose(
    option: str,
    asked: str | None,
    usual: Sequence[str],
    found: Sequence[str],
    source: str,
    *,
    kind: str = "column",
) -> str | None:
    """Return the name among `found` that plays a role: the one asked for, or the usual one.

    Raises:
        InvalidInputError: The name asked for is not there, or several usual ones are, or the same
            name is there twice.
    """
    matched = [name for name in found if name in (usual if asked is None else (asked,))]
    if asked is not None and not matched:
        raise no_column(option, asked, found, source=source, kind=kind)
    if len(matched) > 1:
        raise InvalidInputError(
            f"{source} has {' and '.join(matched)}, of which only one can be the {option}. "
            f"Name it with `{option}`, or rename the other."
        )
    return matched[0] if matched else None


def _exact(patterns: str | Sequence[str]) -> set[str]:
    """Return all that may be whole names."""
    parts = {patterns} if isinstance(patterns, str) else set(patterns)
    return parts | {one.strip() for part in parts for one in part.split(",")}


def _usual(
    kinds: Sequence[tuple[str, Kind]], taken: set[str | None], source: str
) -> tuple[str, ...]:
    """Return the only column of lists, or else all of numbers."""
    free = [(name, kind) for name, kind in kinds if name not in taken]
    lists = [name for name, kind in free if kind == "list"]
    if len(lists) > 1:
        raise InvalidInputError(
            f"{source} has several columns of lists: {listed(lists)}. Name one with `features`."
        )
    numbers = [name for name, kind in free if kind in _NUMBERS and name not in _INDEX_NAMES]
    found = tuple(dict.fromkeys(lists or numbers))
    if not found:
        others = f" Its columns: {listed([name for name, _ in kinds])}." if kinds else ""
        raise InvalidInputError(
            f"{source} must have numeric columns for the vectors, but has none.{others}"
        )
    return found


def of_modalities(
    names: Sequence[str], wanted: Wanted, text: str | None, source: str, *, numbered: bool = True
) -> dict[str, tuple[str, ...]]:
    """Return the columns of each modality; none of the one that `features` is to be, if any.

    For "image", that is a column `image` of texts or lists, or else, if `numbered`, the columns
    `image_0`, `image_1` and so on, in the table's order. A single modality may have none: then it
    is whatever vectors there are.

    Raises:
        InvalidInputError: One of several modalities has no columns, or which one an option means
            is open.
    """
    asked = tuple(wanted.modalities or ())
    own = {name: _columns_of(name, names, numbered=numbered) for name in asked}
    twice = [name for name, columns in own.items() if len(columns) > 1 and columns[0] == name]
    if twice:
        raise InvalidInputError(f"{source} has two columns {twice[0]!r}. Rename one.")
    open_ = list(asked)
    if text is not None:
        reader = "text" if "text" in own else _only(open_, own, "text", source)
        own[reader] = (text,)
        open_.remove(reader)
    if wanted.features is not None:
        reader = _only(open_, own, "features", source)
        own[reader] = ()
        return own
    missing = [name for name, columns in own.items() if not columns]
    if missing and len(asked) > 1:
        told = f"{source} has no modality {', '.join(map(repr, missing))}"
        if not numbered:
            raise InvalidInputError(f"{told}. Its arrays: {', '.join(names)}.")
        raise InvalidInputError(
            f"{told}: neither a column of that name nor {missing[0]}_0, {missing[0]}_1, .... "
            f"Its columns: {listed(names)}."
        )
    return own


def _only(
    open_: Sequence[str], own: Mapping[str, tuple[str, ...]], option: str, source: str
) -> str:
    """Return the modality that an option's columns are: the only one without columns so far."""
    without = [name for name in open_ if not own[name]] or open_
    if len(without) != 1:
        raise InvalidInputError(
            f"{source} must have an array or column for each modality, {', '.join(own)}, so "
            f"`{option}` cannot name one."
        )
    return without[0]


def _columns_of(modality: str, found: Sequence[str], *, numbered: bool) -> tuple[str, ...]:
    """Return the column of that name, as often as it is there, or else the numbered ones."""
    if modality in found:
        return tuple(name for name in found if name == modality)
    pattern = re.compile(re.escape(modality) + r"_?\d+")
    return tuple(name for name in found if numbered and pattern.fullmatch(name))
