"""The search of `kinhash search`: how far it goes, and what it finds."""

import dataclasses

from kinhash.cli import options, precision
from kinhash.cli.like import without_own
from kinhash.cli.queries import Asked
from kinhash.cli.reranking import Reranker
from kinhash.codes import Codes, Order
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches
from kinhash.progress import progress_bar
from kinhash.reranking import Ranked

CHUNK_QUERIES = 1024  # between two steps of the progress bar


@dataclasses.dataclass(frozen=True)
class Reach:
    """How far a search goes, by one of the first three, and in which order."""

    radius: int | None
    min_precision: float | None
    k: int | None
    order: Order
    similar_share: float | None

    def check(self) -> None:
        """Raise unless there is one limit, which can be meant.

        Raises:
            typer.BadParameter: There is none, there are several, or a share is none.
        """
        options.check_one_of(
            {"--radius": self.radius, "--min-precision": self.min_precision, "--top-k": self.k}
        )
        precision.check_options(self.min_precision, self.similar_share)

    @property
    def needs_calibration(self) -> bool:
        """Whether nothing can be done without one."""
        return self.min_precision is not None or self.similar_share is not None


def searched(
    index: HammingIndex,
    asked: Asked,
    reranker: Reranker | None,
    reach: Reach,
    *,
    n_threads: int | None,
) -> list[Matches | Ranked]:
    """Return the matches, a chunk of queries at a time, which shows progress.

    Says how far it goes where a precision decides that.

    Raises:
        InvalidInputError: The codes do not reach that precision, or the queries do not fit.
    """
    queries = asked.codes[asked.is_known]
    share = precision.share_of(index, queries, reach.similar_share)
    if reach.min_precision is not None:
        given = reach.similar_share is not None
        precision.tell(index, reach.min_precision, share, given=given, n_queries=len(queries))
    found: list[Matches | Ranked] = []
    n_own = 0 if asked.own is None else 1
    with progress_bar("Searching") as report:
        for start in range(0, len(queries), CHUNK_QUERIES):
            chunk = queries[start : start + CHUNK_QUERIES]
            n = None if reach.k is None else reach.k + n_own
            if reranker is not None and n is not None:
                n = reranker.n_candidates
            matches = _matches(index, chunk, reach, n, share=share, n_threads=n_threads)
            if asked.own is not None:
                own = asked.own[start : start + CHUNK_QUERIES]
                found.append(without_own(matches, own, reach.k))
            elif reranker is None:
                found.append(matches)
            else:
                vectors = asked.vectors[asked.is_known][start : start + CHUNK_QUERIES]
                found.append(reranker(matches, vectors, n_threads))
            report(start + len(chunk), len(queries))
    return found


def _matches(
    index: HammingIndex,
    queries: Codes,
    reach: Reach,
    n: int | None,
    *,
    share: float | None,
    n_threads: int | None,
) -> Matches:
    """Return the n nearest, or all within reach; with their precision where it is known."""
    if n is not None:
        found = index.search_top_k(queries, n, order=reach.order, n_threads=n_threads)
    else:
        found = index.search_radius(
            queries,
            reach.radius,
            min_precision=reach.min_precision,
            similar_share=None if reach.min_precision is None else share,
            sort=True,
            order=reach.order,
            n_threads=n_threads,
        )
    if index.calibration is None:
        return found
    return index.with_precision(found, similar_share=share)
