"""What a command reads: data by name, by path or from stdin, and files that kinhash wrote."""

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array, Vectors
from kinhash.cli.data import Looked, batches_of
from kinhash.codes import Codes, StoredCodes
from kinhash.datasets import Batch, Dataset
from kinhash.datasets.dataset import vectors_of
from kinhash.datasets.user_files.packed import SUFFIXES as FOREIGN_SUFFIXES
from kinhash.datasets.user_files.packed import Form, read_codes
from kinhash.datasets.user_files.untyped import joined_ids
from kinhash.encoders import Encoder, check_finite
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.index.hamming import HammingIndex
from kinhash.loading import load
from kinhash.methods import HashMethod, MultimodalMethod
from kinhash.progress import progress_bar
from kinhash.storage import INDEX_MAGIC

AnyMethod = HashMethod | MultimodalMethod
Known = npt.NDArray[np.bool_]

_REMEDY = "Give the model that made them as --model, or encode the items again with this one."


def without_labels(data: Dataset) -> Dataset:
    """Return the data set as if nobody had labelled it."""
    return dataclasses.replace(data, labels=None, names=None)


def load_model(path: Path) -> AnyMethod:
    """Return the model in a file.

    Raises:
        InvalidInputError: The file cannot be read, or holds something else.
        FormatError: It is damaged or of another program.
    """
    found = None if holds_index(path) else load(path)
    if not isinstance(found, AnyMethod):
        holds = "an index" if found is None else "codes"
        raise _unwanted(path, "a model, such as `kinhash train` writes", holds)
    return found


def load_fitting_model(path: Path, modality: str | None) -> AnyMethod:
    """Return the model in a file, which must have that modality, or be without for None.

    Raises:
        KinhashError: As `load_model` and `check_modality`.
    """
    model = load_model(path)
    check_modality(path, model, modality)
    return model


def check_modality(path: Path, model: AnyMethod, modality: str | None) -> None:
    """Raise unless `modality` names one of the model's, or is None for a model without.

    Raises:
        InvalidInputError: It does not.
    """
    if isinstance(model, HashMethod):
        if modality is not None:
            raise InvalidInputError(
                f"--modality chooses one of several, but {path} holds a {model.name}, which takes "
                "one kind of vectors. Leave it out."
            )
    elif modality is None:
        raise InvalidInputError(
            f"{path} has the modalities {', '.join(model.modalities)}. Say which one is meant with "
            "--modality."
        )
    elif modality not in model.modalities:
        raise unknown_name(f"modality of {path}", modality, model.modalities)


def encoder_of(model: AnyMethod, modality: str | None) -> Encoder:
    """Return the model's encoder, of that modality if it has several."""
    if isinstance(model, HashMethod):
        return model.encoder_
    return model.encoders_[modality or model.modalities[0]]


def encoded(
    model: AnyMethod, data: Dataset, modality: str | None, *, n_threads: int | None = None
) -> tuple[Codes, Known]:
    """Return the codes of all rows, and whether each has anything that the model knows.

    Args:
        model: A fitted method.
        data: Loaded with this modality, if the model has several.
        modality: One that `check_modality` has seen.
        n_threads: As for `encode`.

    Raises:
        InvalidInputError: The rows do not fit the model.
    """
    if isinstance(model, HashMethod):
        return model.encode(vectors_of(data), n_threads=n_threads), np.ones(len(data), bool)
    name = modality or model.modalities[0]
    return encoded_rows(model, (data.modalities or {})[name], name, n_threads=n_threads)


def encoded_rows(
    model: MultimodalMethod,
    rows: Vectors,
    modality: str,
    *,
    n_threads: int | None = None,
) -> tuple[Codes, Known]:
    """Return the same of rows of one modality."""
    codes = model.encode(rows, modality=modality, n_threads=n_threads)
    return codes, model.has_content(rows, modality=modality)


@dataclasses.dataclass(frozen=True, eq=False)
class Encoded:
    """The codes of data that was read in batches.

    Attributes:
        codes: Of all rows.
        ids: Of the rows; None if they have none.
        n_empty: How many rows have nothing that the model knows.
    """

    codes: Codes
    ids: Array | None
    n_empty: int


def encoded_data(data: str, model: AnyMethod, modality: str | None, looked: Looked) -> Encoded:
    """Return the codes of data, of which one batch is in memory at a time.

    Args:
        data: A data set's name, a path, or "-".
        model: A fitted method.
        modality: One that `check_modality` has seen.
        looked: Where to look in the data.

    Raises:
        KinhashError: The data cannot be read, or does not fit the model.
    """
    if modality is not None:
        looked = dataclasses.replace(looked, modalities=(modality,))
    codes, ids, n_empty = [], [], 0
    title = f"Encoding {data}"
    with batches_of(data, looked) as (batches, n_rows), progress_bar(title) as report:
        for batch in batches:
            rows, is_known = _encoded_batch(batch, data, model, modality)
            codes.append(rows)
            ids += [] if batch.ids is None else [batch.ids]
            n_empty += int((~is_known).sum())
            if n_rows is not None:
                report(batch.first_row + len(batch), n_rows)
    return Encoded(Codes.concatenate(codes), joined_ids(ids) if ids else None, n_empty)


def _encoded_batch(
    batch: Batch, data: str, model: AnyMethod, modality: str | None
) -> tuple[Codes, Known]:
    if isinstance(model, MultimodalMethod):
        name = modality or model.modalities[0]
        return encoded_rows(model, (batch.modalities or {})[name], name)
    vectors = vectors_of(Dataset(data, batch.vectors, texts=batch.texts))
    try:
        return model.encode(vectors), np.ones(len(batch), bool)
    except InvalidInputError:
        if vectors.shape[1] == model.encoder_.n_features:
            check_finite(vectors, first_row=batch.first_row)  # says the row among all
        raise


def load_codes(path: Path, wanted: str = "codes, such as `kinhash encode` writes") -> StoredCodes:
    """Return the codes in a file, with their ids.

    Raises:
        InvalidInputError: The file cannot be read, or holds something else than is `wanted`.
        FormatError: It is damaged or of another program.
    """
    if holds_index(path):
        raise _unwanted(path, wanted, "an index")
    found = load(path)
    if not isinstance(found, StoredCodes):
        raise _unwanted(path, wanted, "a model")
    return found


def load_any_codes(path: Path, form: Form, *, column: str | None, ids: str | None) -> StoredCodes:
    """Return the codes in a file of this program, or of another tool.

    Raises:
        KinhashError: As `load_codes` or `read_codes`; or an option is given that the file does not
            need.
    """
    if path.suffix.lower() not in FOREIGN_SUFFIXES:
        for option, value in (("--bits", form.n_bits), ("--column", column), ("--ids", ids)):
            if value is not None:
                raise InvalidInputError(
                    f"{option} is for codes of another tool, {' '.join(FOREIGN_SUFFIXES)}, but "
                    f"{path} says itself what it holds. Leave it out."
                )
        return load_codes(path)
    with progress_bar(f"Reading {path}"):
        return read_codes(path, form=form, column=column, ids=ids)


def load_index(path: Path) -> HammingIndex:
    """Return the index in a file.

    Raises:
        InvalidInputError: The file cannot be read, or holds something else.
        FormatError: It is damaged or of another program.
    """
    if not holds_index(path):
        holds = "codes" if isinstance(load(path), StoredCodes) else "a model"
        raise _unwanted(path, "an index, such as `kinhash index` writes", holds)
    with progress_bar(f"Opening {path}"):
        return HammingIndex.load(path)


def load_items(path: Path, model: AnyMethod | None) -> HammingIndex:
    """Return the index in a file, or one of the codes in it, that `model` made.

    A model of several modalities may have made them of any: all share one space of codes. None
    stands for any model.

    Raises:
        InvalidInputError: The file cannot be read, holds a model, or items of another encoder.
        FormatError: It is damaged or of another program.
    """
    if holds_index(path):
        index = HammingIndex.load(path)
        made_by = index.made_by
    else:
        stored = load_codes(path, "an index or codes, such as `kinhash index` or `encode` writes")
        made_by = stored.made_by
        index = build_index(path, stored, memory="lean")  # for one search: the least to build
    if model is not None:
        check_made(path, index, made_by, model)
    return index


def check_made(
    path: Path, codes: HammingIndex | Codes, made_by: str | None, model: AnyMethod
) -> None:
    """Raise unless `model` can have made the codes from `path`.

    Raises:
        InvalidInputError: They have other lengths, or are of another encoder.
    """
    encoder = encoder_of(model, None)
    ranked = codes.n_rank_bits != encoder.n_rank_bits
    holds, makes = (kind_of(one, ranked=ranked) for one in (codes, encoder))
    if holds != makes:
        raise InvalidInputError(f"{path} holds {holds}, but the model makes {makes}. {_REMEDY}")
    _check_made_by(path, made_by, model)


def _check_made_by(path: Path, made_by: str | None, model: AnyMethod) -> None:
    several = () if isinstance(model, HashMethod) else model.modalities
    known = [encoder_of(model, name).fingerprint for name in several or (None,)]
    if made_by not in (None, *known):
        own = f"are {', '.join(known)}" if several else f"is {known[0]}"
        raise InvalidInputError(
            f"{path} was made by encoder {made_by}, but the model's {own}. {_REMEDY}"
        )


def build_index(path: Path, stored: StoredCodes, *, memory: str) -> HammingIndex:
    """Return an index of the codes that were read from `path`.

    Raises:
        InvalidInputError: Two of them have the same id.
    """
    with progress_bar(f"Indexing {path}"):
        try:
            return HammingIndex(stored.codes, stored.ids, memory=memory, made_by=stored.made_by)
        except InvalidInputError as error:
            told = str(error).replace("`ids`", "the ids")  # --ids is for data, not for this file
            raise InvalidInputError(f"{path}: {told}") from error


def holds_index(path: Path) -> bool:
    """Whether a file starts as an index does; what cannot be read does not."""
    try:
        with path.open("rb") as file:
            return file.read(len(INDEX_MAGIC)) == INDEX_MAGIC
    except OSError:
        return False


def kind_of(codes: HammingIndex | Encoder | Codes, *, ranked: bool) -> str:
    """Return in words what codes must share to be compared."""
    rank = f", {codes.n_rank_bits} of them rank bits" if ranked else ""
    return f"{'signed ' if codes.signed else ''}codes of {codes.n_bits} bits{rank}"


def _unwanted(path: Path, wanted: str, holds: str) -> InvalidInputError:
    return InvalidInputError(f"{path} must hold {wanted}, but it holds {holds}.")
