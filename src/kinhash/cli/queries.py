"""What `kinhash search` searches for: the codes of texts and of data."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinhash.cli import inputs, reranking
from kinhash.cli.inputs import AnyMethod
from kinhash.cli.messages import counted, note
from kinhash.cli.reranking import Reranker
from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError
from kinhash.methods import MultimodalMethod


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """What is searched for."""

    names: Sequence[int | str]
    codes: Codes
    is_known: Any  # (n_queries,) bool: whether there is anything to search with
    vectors: Any = None  # (n_queries, n_features) if matches are to be reranked


def of_texts(
    path: Path, method: AnyMethod, texts: list[str], modality: str | None, threads: int | None
) -> Asked:
    """Return texts to search for, which a model of texts encodes.

    Raises:
        InvalidInputError: The model in `path` is not one of texts.
    """
    if not isinstance(method, MultimodalMethod) or modality is None:
        raise InvalidInputError(
            f"--query-text needs a model that was trained on texts, but {path} holds a "
            f"{method.name} of vectors. Search with --queries."
        )
    codes, is_known = inputs.encoded_rows(method, texts, modality, n_threads=threads)
    for text, known in zip(texts, is_known, strict=True):
        if not known:
            note(f'The model knows none of the words of "{text}".')
    return Asked(texts, codes, is_known)


def of_data(
    method: AnyMethod,
    dataset: Dataset,
    modality: str | None,
    threads: int | None,
    reranker: Reranker | None,
) -> Asked:
    """Return all rows of a data set, with their vectors if a reranker is to compare these.

    Raises:
        InvalidInputError: The rows do not fit the model, or the reranker.
    """
    vectors = reranker and reranking.query_vectors(reranker, dataset, modality)
    codes, is_known = inputs.encoded(method, dataset, modality, n_threads=threads)
    if not is_known.all():
        n_empty = int((~is_known).sum())
        note(f"{counted(n_empty, 'query', 'queries')} without a known word or entry: no match.")
    names = range(len(dataset)) if dataset.ids is None else dataset.ids.tolist()
    return Asked(names, codes, is_known, vectors)
