"""What `kinhash search --rerank` reads, and how it puts matches in order."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import typer

from kinhash.arrays import Array, Floats
from kinhash.cli import options
from kinhash.cli.data import load_data
from kinhash.datasets import DATASETS, Dataset
from kinhash.datasets.dataset import vectors_of
from kinhash.datasets.user_files.arrays import mapped_npy
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches
from kinhash.reranking import Ranked
from kinhash.reranking import rerank as by_vectors

N_CANDIDATES = 500
"""How many of the first items are put in order, unless said otherwise."""

_AS_THEY_ARE = (np.float32, np.float16, np.int8)  # types that stay in their file


@dataclasses.dataclass(frozen=True, eq=False)
class Reranker:
    """Vectors of the items, and how many of them are wanted in their order.

    Attributes:
        name: Where the vectors come from.
        vectors: `(n, n_features)`; those of an .npy file stay on disk.
        ids: Of the rows; None if row i is item i.
        metric: Which vectors are most similar: one of `kinhash.reranking.SIMILARITIES`.
        k: How many are wanted of each query; None for all that were found.
        n_candidates: How many a search for the nearest finds first.
    """

    name: str
    vectors: Array
    ids: Array | None
    metric: Any
    k: int | None
    n_candidates: int

    def __call__(self, found: Matches, queries: Floats, n_threads: int | None) -> Ranked:
        """Return the matches of some queries in the order of the vectors."""
        return by_vectors(
            found,
            queries,
            self.vectors,
            metric=self.metric,
            k=self.k or max(1, int(found.counts.max(initial=0))),
            ids=self.ids,
            n_threads=n_threads,
        )


def check_options(
    rerank: str | None,
    metric: options.Similarity | None,
    candidates: int | None,
    k: int | None,
    *,
    has_vectors: bool,
) -> None:
    """Raise unless the options about reranking go together.

    Raises:
        typer.BadParameter: They do not.
    """
    for name, value in (("--metric", metric), ("--candidates", candidates)):
        if value is not None and rerank is None:
            raise _wrong(name, "it says how to put matches in order, which takes --rerank")
    if rerank is not None and not has_vectors:
        raise _wrong("--rerank", "it compares vectors, so the queries must come from --queries")
    if candidates is not None and k is None:
        raise _wrong("--candidates", "it goes with --top-k; --radius finds its own candidates")
    if candidates is not None and k is not None and candidates < k:
        raise _wrong("--candidates", f"must be at least --top-k, which is {k}, got {candidates}")


def _wrong(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def opened(
    data: str | None,
    index: HammingIndex,
    *,
    metric: options.Similarity | None,
    k: int | None,
    candidates: int | None,
    root: Path | None,
) -> Reranker | None:
    """Return what puts matches of `index` in the order of the vectors in `data`; None without.

    Raises:
        InvalidInputError: An item has no vector there, or there are no vectors.
        KinhashError: As `load_data`.
    """
    if data is None:
        return None
    vectors, ids = _vectors(data, root)
    _check_items(data, index, len(vectors), ids)
    n_candidates = candidates or max(N_CANDIDATES, k or 0)
    chosen = (metric or options.Similarity.COSINE).value
    return Reranker(data, vectors, ids, chosen, k, n_candidates)


def _vectors(data: str, root: Path | None) -> tuple[Array, Array | None]:
    path = Path(data).expanduser()
    if path.suffix.lower() == ".npy" and path.is_file():
        mapped = mapped_npy(path)
        if mapped.ndim == 2 and mapped.dtype in _AS_THEY_ARE:
            return mapped, None
    root = root if data in DATASETS else None  # of a file, the folder does not count
    found = load_data(data, features=None, labels=None, ids=None, root=root)
    return vectors_of(found), found.ids


def _check_items(data: str, index: HammingIndex, n: int, ids: Array | None) -> None:
    """Raise unless each item of the index has a row."""
    items = index.ids
    if ids is None:
        is_row = items.dtype.kind == "i"
        known = (items >= 0) & (items < n) if is_row else np.zeros(len(items), bool)
    elif items.dtype == ids.dtype:  # all integers, or all strings
        known = np.isin(items, ids)
    else:
        known = np.zeros(len(items), bool)
    if known.all():
        return
    missing = items[~known][:1].tolist()[0]
    if ids is not None:
        raise InvalidInputError(
            f"--rerank {data} must have a vector of each item, but none has the id {missing!r}."
        )
    raise InvalidInputError(
        f"--rerank {data} has {n} rows without ids, so row i must be item i, but there is an item "
        f"{missing!r}. Give a file that has the ids beside the vectors: .npz, .parquet or .csv."
    )


def query_vectors(reranker: Reranker, queries: Dataset, modality: str | None) -> Floats:
    """Return the vectors of the queries, which must be of the width of the items'.

    Raises:
        InvalidInputError: They are texts, sparse, or of another width.
    """
    rows = vectors_of(queries) if modality is None else (queries.modalities or {})[modality]
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "fiu":
        raise InvalidInputError(
            f"--rerank compares vectors with vectors, but the queries are a modality {modality!r} "
            "without vectors of numbers. Leave --rerank out."
        )
    if rows.shape[1] != reranker.vectors.shape[1]:
        raise InvalidInputError(
            f"--rerank {reranker.name} has vectors of width {reranker.vectors.shape[1]}, but the "
            f"queries are {rows.shape[1]} wide. Both must be of the same kind."
        )
    return rows
