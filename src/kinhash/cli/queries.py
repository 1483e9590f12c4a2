"""What `kinhash search` searches for: data, texts, or codes as they are."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from kinhash.cli import inputs, options, reranking
from kinhash.cli.inputs import AnyMethod
from kinhash.cli.like import items_like
from kinhash.cli.messages import counted, note
from kinhash.cli.reranking import Reranker
from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.datasets.user_files.packed import SUFFIXES, Form
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.methods import MultimodalMethod


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """What is searched for."""

    names: Sequence[int | str]
    codes: Codes
    is_known: Any  # (n_queries,) bool: whether there is anything to search with
    vectors: Any = None  # (n_queries, n_features) if matches are to be reranked
    own: Sequence[int | str] | None = None  # the items that the queries are, which are left out


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the queries come from: one of the first three, or `like`."""

    data: str | None
    texts: list[str] | None
    codes: Path | None
    column: str | None
    model: Path | None
    modality: str | None
    like: list[str] | None = None


def check_options(source: Source) -> None:
    """Raise unless there is one source of queries, with the options that go with it.

    Raises:
        typer.BadParameter: There is none, several, or an option of another one.
    """
    given = {"--queries": source.data, "--query-text": source.texts, "--codes": source.codes}
    options.check_one_of(given | {"--like": source.like})
    if source.codes is None and source.column is not None:
        raise _wrong("--column", "it names what holds the codes, which takes --codes")
    if source.codes is None and source.like is None:
        if source.model is None:
            raise _wrong("--model", "is missing: --queries and --query-text are encoded by it")
    else:
        for option, value in (("--model", source.model), ("--modality", source.modality)):
            if value is not None:
                given_as = "--codes are searched for as they are"
                if source.like is not None:
                    given_as = "--like takes the codes of items"
                raise _wrong(option, f"leave it out: {given_as}")


def _wrong(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def asked(
    source: Source,
    method: AnyMethod | None,
    index: HammingIndex,
    reranker: Reranker | None,
    *,
    read: Callable[..., Dataset],
    ids: str | None,
    n_threads: int | None,
) -> Asked:
    """Return what to search for.

    Args:
        source: One that `check_options` has seen.
        method: The model; None for codes.
        index: What is searched.
        reranker: What is to compare the vectors of the queries, if anything.
        read: `load_data`, told where to look.
        ids: What holds the ids of codes.
        n_threads: As for `encode`.

    Raises:
        KinhashError: The queries cannot be read, or do not fit the model or the index.
    """
    if source.like is not None:
        own, codes = items_like(source.like, index)
        return Asked(own, codes, np.ones(len(own), bool), own=own)
    if method is None or source.codes is not None:
        return _of_codes(source, index, ids)
    if source.texts is not None:
        return _of_texts(source, method, source.texts, n_threads)
    modalities = None if source.modality is None else (source.modality,)
    data = read(source.data or "", modalities=modalities)
    return _of_data(method, data, source.modality, n_threads, reranker)


def _of_codes(source: Source, index: HammingIndex, ids: str | None) -> Asked:
    path = source.codes or Path()
    is_foreign = path.suffix.lower() in SUFFIXES
    form = Form(index.n_bits, index.n_rank_bits, index.signed) if is_foreign else Form()
    stored = inputs.load_any_codes(path, form, column=source.column, ids=ids)
    holds, wanted = (inputs.kind_of(codes, ranked=True) for codes in (stored.codes, index))
    if holds != wanted:
        raise InvalidInputError(f"{path} holds {holds}, but the items have {wanted}.")
    if None not in (stored.made_by, index.made_by) and stored.made_by != index.made_by:
        note(
            f"warning: {path} was made by encoder {stored.made_by}, but the items by "
            f"{index.made_by}: distances mean something only if both are of one model."
        )
    n = len(stored.codes)
    names = range(n) if stored.ids is None else stored.ids.tolist()
    return Asked(names, stored.codes, np.ones(n, bool))


def _of_texts(source: Source, method: AnyMethod, texts: list[str], n_threads: int | None) -> Asked:
    if not isinstance(method, MultimodalMethod) or source.modality is None:
        raise InvalidInputError(
            f"--query-text needs a model that was trained on texts, but {source.model} holds a "
            f"{method.name} of vectors. Search with --queries."
        )
    codes, is_known = inputs.encoded_rows(method, texts, source.modality, n_threads=n_threads)
    for text, known in zip(texts, is_known, strict=True):
        if not known:
            note(f'The model knows none of the words of "{text}".')
    return Asked(texts, codes, is_known)


def _of_data(
    method: AnyMethod,
    dataset: Dataset,
    modality: str | None,
    n_threads: int | None,
    reranker: Reranker | None,
) -> Asked:
    vectors = reranker and reranking.query_vectors(reranker, dataset, modality)
    codes, is_known = inputs.encoded(method, dataset, modality, n_threads=n_threads)
    if not is_known.all():
        n_empty = int((~is_known).sum())
        note(f"{counted(n_empty, 'query', 'queries')} without a known word or entry: no match.")
    names = range(len(dataset)) if dataset.ids is None else dataset.ids.tolist()
    return Asked(names, codes, is_known, vectors)
