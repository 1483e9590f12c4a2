# The compiled core; arrays are C-contiguous, and outputs are written in place.

from typing import Any

import numpy as np
import numpy.typing as npt

def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
def squared_distances(
    own: npt.NDArray[Any], other: npt.NDArray[Any], products: npt.NDArray[Any]
) -> None: ...
def standardise(
    X: npt.NDArray[Any], mean: npt.NDArray[Any], scale: npt.NDArray[Any], out: npt.NDArray[Any]
) -> int: ...
def pack(dense: npt.NDArray[Any], words: npt.NDArray[Any], signed: bool) -> None: ...
def unpack(words: npt.NDArray[Any], dense: npt.NDArray[Any], signed: bool) -> None: ...
def count_distances(
    queries: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    n_threads: int,
) -> None: ...
def count_pairs(
    queries: npt.NDArray[Any],
    query_ranks: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    ranks: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    relevant: npt.NDArray[Any],
    keys: npt.NDArray[Any],
    n_all: npt.NDArray[Any],
    n_relevant: npt.NDArray[Any],
    n_threads: int,
) -> int: ...
def pair_loss(
    *,
    A: npt.NDArray[Any],
    B: npt.NDArray[Any],
    similar: npt.NDArray[Any],
    known: npt.NDArray[Any],
    gA: npt.NDArray[Any],
    gB: npt.NDArray[Any],
    symmetric: bool,
    similar_share: float,
    margin: float,
    lam: float,
    alpha: float,
) -> list[float]: ...
def rerank(
    vectors: npt.NDArray[Any],
    queries: npt.NDArray[Any],
    offsets: npt.NDArray[Any],
    rows: npt.NDArray[Any],
    ids: npt.NDArray[Any],
    similarity: int,
    best_offsets: npt.NDArray[Any],
    chosen: npt.NDArray[Any],
    similarities: npt.NDArray[Any],
    n_threads: int,
) -> int: ...
def star(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    representatives: npt.NDArray[np.int64],
) -> None: ...
def near_pairs(
    codes: npt.NDArray[np.uint64],
    queries: npt.NDArray[np.uint64],
    first: int,
    word_radius: int,
    radius: int,
    n_threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

LONGEST_TEXT: int
MOST_TEXTS: int

def encode_texts(values: list[Any]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]: ...
def decode_texts(
    texts: npt.NDArray[Any], starts: npt.NDArray[Any], numbers: npt.NDArray[Any]
) -> list[str]: ...
def take_texts(
    texts: npt.NDArray[Any], starts: npt.NDArray[Any], numbers: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]: ...
def text_slots(
    texts: npt.NDArray[Any], starts: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.uint32], int, int]: ...
def find_texts(
    texts: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    slots: npt.NDArray[Any],
    asked_texts: npt.NDArray[Any],
    asked_starts: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
) -> None: ...

class NetworkEncoder:
    def __init__(
        self,
        *,
        mean: npt.NDArray[Any],
        scale: npt.NDArray[Any],
        W: npt.NDArray[Any],
        bias: npt.NDArray[Any],
        S: npt.NDArray[Any],
        tau: npt.NDArray[Any],
        cut: float,
        n_steps: int,
        unit_length: bool,
        two_sided: bool,
        coordinate_descent: bool,
    ) -> None: ...
    def encode(self, X: npt.NDArray[Any], words: npt.NDArray[Any], n_threads: int) -> int: ...

class Timeout(Exception): ...  # noqa: N818 - kinhash.errors.SearchTimeout is the public one

def polls() -> int: ...
def segment_arrays() -> dict[str, str]: ...
def segment_numbers() -> dict[str, type]: ...

class Answer: ...  # a capsule; only `answer_arrays` reads it

def answer_arrays(
    answer: Answer,
) -> tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32] | None,
]: ...

class Segment:
    def __init__(self, arrays: dict[str, npt.NDArray[Any]], numbers: dict[str, Any]) -> None: ...
    def n_alive(self) -> int: ...
    def with_alive(self, bits: npt.NDArray[Any]) -> Segment: ...

class Searcher:
    def __init__(self, segments: list[Segment]) -> None: ...
    def n_items(self) -> int: ...
    def radius(
        self,
        queries: npt.NDArray[Any],
        radius: int,
        sort: bool,
        n_threads: int,
        structure: str = "",
        timeout: float | None = None,
    ) -> Answer: ...
    def ranked_radius(
        self,
        queries: npt.NDArray[Any],
        ranks: npt.NDArray[Any],
        radius: int,
        total: bool,
        n_threads: int,
        timeout: float | None = None,
    ) -> Answer: ...
    def ranked_within(
        self,
        queries: npt.NDArray[Any],
        ranks: npt.NDArray[Any],
        radius: int,
        rank: int,
        total: bool,
        n_threads: int,
        timeout: float | None = None,
    ) -> Answer: ...
    def count(
        self,
        queries: npt.NDArray[Any],
        counts: npt.NDArray[Any],
        n_threads: int,
        structure: str = "",
        timeout: float | None = None,
    ) -> dict[str, Any]: ...
    def top_k(
        self,
        queries: npt.NDArray[Any],
        k: int,
        n_threads: int,
        timeout: float | None = None,
        work: dict[str, Any] | None = None,
    ) -> Answer: ...
    def ranked_top_k(
        self,
        queries: npt.NDArray[Any],
        ranks: npt.NDArray[Any],
        k: int,
        total: bool,
        n_threads: int,
        timeout: float | None = None,
        work: dict[str, Any] | None = None,
    ) -> Answer: ...

def build_segment(
    words: npt.NDArray[Any],
    ids: npt.NDArray[Any] | None,
    levels: int,
    n_chunks: int,
    groups: bool,
    n_far: int,
    n_listed: int,
    budget: float,
    ranks: npt.NDArray[Any] | None = None,
    n_threads: int = 0,  # 0: all cores
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]: ...
