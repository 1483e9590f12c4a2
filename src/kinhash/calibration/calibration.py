"""`Calibration`: how sure a distance makes us that two items are similar."""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Integers
from kinhash.calibration.observation import Observation, mixture
from kinhash.calibration.similar import related
from kinhash.calibration.steps import HALF, Steps, cells_of, errors
from kinhash.codes import Codes
from kinhash.errors import FormatError, InvalidInputError
from kinhash.pairs.pairs import Pairs
from kinhash.storage import check_names, value

N_OBSERVED = 2_000  # codes of a collection whose pairs are looked at, at most
SIGMAS = 1.96  # of 95 % intervals

_COUNTS = ("similar", "dissimilar")
_ARRAYS = {  # types in files
    "distances": "<i8",
    "rank_distances": "<i8",
    "similar": "<i8",
    "dissimilar": "<i8",
    "error": "<f8",
    "ratio": "<f8",
    "ratio_error": "<f8",
}
_ENTRIES = ("n_rows", "similar_share", "made_by")


class Cut(NamedTuple):
    """How far a search may go: nearer, or as near and at most as far by the rank bits.

    Attributes:
        distance: The largest distance of buckets.
        rank_distance: The largest rank distance at this distance; nearer items have any.
        precision: The share of similar ones among all pairs as far as that.
        low: Where the 95 % interval of the precision begins.
        high: Where it ends.
        recall: The share of all similar pairs that are as near as that.
    """

    distance: int
    rank_distance: int
    precision: float
    low: float
    high: float
    recall: float


@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """The share of similar pairs at each distance and rank distance, from rows held out.

    Pairs are ordered by distance, then rank distance, as a search orders what it finds, and this
    order is divided into steps. Counts of similar and of dissimilar pairs are kept apart, so that
    the precision is known for collections with another share of similar pairs. Intervals are of
    95 %, by leaving out rows: pairs that share a row depend on one another.

    Attributes:
        n_bits: Length of the codes.
        n_rank_bits: How many of them are rank bits.
        signed: Whether entries of buckets may be -1.
        n_rows: How many rows' pairs were counted.
        similar_share: The share of similar pairs among them.
        distances: int64, `(n_steps,)`: where each step ends ...
        rank_distances: ... int64, and how far within that distance.
        similar: int64: similar pairs as near as that.
        dissimilar: int64: dissimilar pairs as near as that.
        error: float64: the standard error of the log of the ratio of both shares.
        ratio: float64: how much more often similar pairs fall into the step than dissimilar ones;
            never increasing.
        ratio_error: float64: the standard error of its log.
        made_by: Fingerprint of the encoder that made the codes, if known.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 0, 0]])
        >>> found = Calibration.from_codes(codes, ["a", "a", "a", "b", "b"])
        >>> found.similar_share, found.radius_for(precision=0.8)
        (0.4, 1)
    """

    n_bits: int
    n_rank_bits: int
    signed: bool
    n_rows: int
    similar_share: float
    distances: Array
    rank_distances: Array
    similar: Integers
    dissimilar: Integers
    error: Array
    ratio: Array
    ratio_error: Array
    made_by: str | None = None

    DTYPES: ClassVar[dict[str, str]] = _ARRAYS

    @classmethod
    def from_codes(
        cls,
        codes: Codes,
        similar: npt.ArrayLike | Pairs,
        *,
        seed: int = 0,
        made_by: str | None = None,
    ) -> Self:
        """Return what the pairs of some rows say; a model must not have learned from these rows.

        Args:
            codes: `n` codes.
            similar: Which pairs are similar: `(n,)` labels, an `(n, n_tags)` matrix of 0 and 1
                (similar: a tag in common), or `Pairs` of rows. Without any dissimilar one among
                these, all pairs that are not listed are dissimilar; with one, only listed pairs
                count.
            seed: Draws rows where there are more than 3,000.
            made_by: Fingerprint of the encoder, against which an index checks its own.

        Raises:
            InvalidInputError: The labels do not fit the codes, or all pairs are similar, or none.
        """
        if not isinstance(codes, Codes):
            raise InvalidInputError(f"`codes` must be kinhash.Codes, got {type(codes).__name__}.")
        check_integer("seed", seed, 0)
        chosen = related(similar, len(codes), np.random.default_rng(seed))
        codes = codes[chosen.rows]
        steps = Steps.of(codes, chosen)
        error, ratio, ratio_error = errors(codes, chosen, steps)
        share = chosen.similar_share
        return cls(
            codes.n_bits,
            codes.n_rank_bits,
            codes.signed,
            n_rows=len(codes),
            similar_share=steps.similar_share if share is None else share,
            distances=steps.ends // (codes.n_rank_bits + 1),
            rank_distances=steps.ends % (codes.n_rank_bits + 1),
            similar=steps.similar,
            dissimilar=steps.dissimilar,
            error=error,
            ratio=ratio,
            ratio_error=ratio_error,
            made_by=made_by,
        )

    @property
    def n_steps(self) -> int:
        """How many steps the order is divided into."""
        return len(self.distances)

    def __repr__(self) -> str:
        return (
            f"Calibration(n_bits={self.n_bits}, n_rank_bits={self.n_rank_bits}, "
            f"n_rows={self.n_rows}, similar_share={self.similar_share:.3g})"
        )

    def check_fits(
        self, n_bits: int, n_rank_bits: int, *, signed: bool, made_by: str | None = None
    ) -> None:
        """Raise InvalidInputError unless it is of codes of these lengths, and of that encoder.

        What is not known, of whichever side, is not compared.
        """
        if (self.n_bits, self.n_rank_bits, self.signed) != (n_bits, n_rank_bits, signed):
            raise InvalidInputError(
                f"`calibration` is of {_kind(self.n_bits, self.n_rank_bits, signed=self.signed)}, "
                f"but the codes are {_kind(n_bits, n_rank_bits, signed=signed)}. Use that of the "
                "model that made them."
            )
        if None not in (self.made_by, made_by) and self.made_by != made_by:
            raise InvalidInputError(
                f"`calibration` is of encoder {self.made_by}, but the codes were made by encoder "
                f"{made_by}. Use that of the model that made them."
            )

    # What it says

    def within(self, similar_share: float | None = None) -> tuple[Array, Array, Array]:
        """Return the precision of all pairs up to the end of each step, and its interval.

        Args:
            similar_share: Of the collection; by default that of the rows it was made from.

        Returns:
            Three float64 arrays, `(n_steps,)`: precision, low and high.
        """
        return self._shares(self._log_ratios(), self.error, similar_share)

    def at(self, similar_share: float | None = None) -> tuple[Array, Array, Array]:
        """Return the share of similar pairs within each step alone, and its interval."""
        return self._shares(np.log(self.ratio), self.ratio_error, similar_share)

    def recall(self) -> Array:
        """Return the share of the similar pairs up to the end of each step: float64."""
        found: Array = self.similar / self.similar[-1]
        return found

    def precisions(
        self,
        distances: npt.ArrayLike,
        rank_distances: npt.ArrayLike | None = None,
        *,
        similar_share: float | None = None,
    ) -> Array:
        """Return how likely pairs at these distances are similar: float32, as many.

        Args:
            distances: Of buckets.
            rank_distances: Of the same pairs; None where they are not known: then it is the share
                at the distance, whatever the rank distance.
            similar_share: Of the collection; by default that of the rows it was made from.

        Raises:
            InvalidInputError: A distance is out of range, or there are not as many of both.
        """
        near = self._checked("distances", distances, self._farthest)
        chance = logit(self.checked_share(similar_share))
        if rank_distances is None and self.n_rank_bits:
            table = expit(chance + self._ratios_by_distance()).astype(np.float32)
            known: Array = table[near]
            return known
        ranks = np.zeros_like(near)
        if rank_distances is not None:
            ranks = self._checked("rank_distances", rank_distances, self.n_rank_bits)
            if ranks.shape != near.shape:
                raise InvalidInputError(
                    f"`rank_distances` must be one for each of {near.size} distances, got shape "
                    f"{ranks.shape}."
                )
        table = expit(chance + np.log(self.ratio)).astype(np.float32)
        found: Array = table[self._steps_of(self._cells(near, ranks))]
        return found

    def highest(self, similar_share: float | None = None) -> float:
        """Return the highest precision that is reached with a hundredth of the similar pairs.

        With fewer, a share would be luck.
        """
        return float(self.within(similar_share)[0].max())

    def cut(self, min_precision: float, *, similar_share: float | None = None) -> Cut:
        """Return how far a search may go so that this share of what it finds is similar.

        Args:
            min_precision: Of all answers together, greater than 0 and at most 1.
            similar_share: Of the collection; by default that of the rows it was made from.

        Raises:
            InvalidInputError: Codes do not reach it; says what they reach.
        """
        check_number("min_precision", min_precision, 0, 1, open_low=True)
        found = self.within(similar_share)
        steps = np.arange(self.n_steps)
        return self._farthest_of(
            steps, found, min_precision, similar_share, name="min_precision", better=""
        )

    def radius_for(self, *, precision: float, similar_share: float | None = None) -> int:
        """Return the largest radius within which this share of what is found is similar.

        Args:
            precision: Of all answers together, greater than 0 and at most 1.
            similar_share: Of the collection; by default that of the rows it was made from.

        Raises:
            InvalidInputError: No radius reaches it; says what radii reach.
        """
        check_number("precision", precision, 0, 1, open_low=True)
        last = np.flatnonzero(np.diff(self.distances, append=self._farthest + 1))
        found = [part[last] for part in self.within(similar_share)]
        better = ""
        if found[0].max() < precision <= self.highest(similar_share):
            better = " A search with `min_precision`, which may stop within a distance, reaches it."
        cut = self._farthest_of(
            last, found, precision, similar_share, name="precision", better=better
        )
        return int(cut.distance)

    def rows(self, similar_share: float | None = None) -> list[dict[str, float]]:
        """Return one row per step, for tables and figures: where it ends, and all shares."""
        names = ("distance", "rank_distance", "precision", "low", "high", "recall")
        here = [f"{name}_here" for name in names[2:5]]
        columns = [
            self.distances,
            self.rank_distances,
            *self.within(similar_share),
            self.recall(),
            *self.at(similar_share),
        ]
        return [
            dict(zip([*names, *here], row, strict=True))
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def observe(self, codes: Codes, others: Codes | None = None, *, seed: int = 0) -> Observation:
        """Return what the distances of a collection say: its share of similar pairs, and a drift.

        The share is the one that makes the distances most likely, whatever the labels. It cannot
        be told better than similar pairs differ from others.

        Args:
            codes: A collection, two codes or more.
            others: Compare with these instead: a collection that `codes` are searched in.
            seed: Draws codes where there are many.

        Raises:
            InvalidInputError: The codes are of other lengths, or too few to make a pair.
        """
        rng = np.random.default_rng(seed)
        for part in (codes,) if others is None else (codes, others):
            self.check_fits(part.n_bits, part.n_rank_bits, signed=part.signed)
        left = _some(codes, rng)
        right = left if others is None else _some(others, rng)
        if not len(right) or not len(left) or (others is None and len(left) < 2):
            raise InvalidInputError("`codes` must make at least one pair, got too few.")
        counts = np.zeros(self.n_steps, np.int64)
        ends = self.ends
        for start, cells in cells_of(left, right):
            if others is None:  # no item with itself, and each pair once
                mask = np.arange(start, start + len(cells))[:, None] < np.arange(len(right))
                cells = cells[mask]  # noqa: PLW2901 - what is left of them
            places = np.searchsorted(ends, cells.ravel())
            counts += np.bincount(places, minlength=self.n_steps)
        parts = [
            np.diff((part + HALF) / (part[-1] + HALF), prepend=0.0)
            for part in (self.similar, self.dissimilar)
        ]
        found = mixture(counts, *(part / part.sum() for part in parts))
        at = int(np.abs(found.seen - found.expected).argmax())
        return Observation(
            found.similar_share,
            float(abs(found.seen[at] - found.expected[at])),
            int(self.distances[at]),
            int(self.rank_distances[at]),
            float(found.expected[at]),
            float(found.seen[at]),
            int(counts.sum()),
        )

    # Files

    def facts(self) -> dict[str, float]:
        """Return what it is in a few numbers, as JSON has them."""
        return {
            "n_rows": self.n_rows,
            "similar_share": self.similar_share,
            "highest_precision": self.highest(),
        }

    def header(self) -> dict[str, Any]:
        """Return what a file says beside the arrays."""
        return {name: getattr(self, name) for name in _ENTRIES}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of a file."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def restored(
        cls,
        header: dict[str, Any],
        arrays: dict[str, Array],
        *,
        n_bits: int,
        n_rank_bits: int,
        signed: bool,
    ) -> Self:
        """Return the calibration that `header` and `arrays` described, of codes of these lengths.

        Raises:
            FormatError: They are not sound.
        """
        check_names("entry", header, _ENTRIES)
        check_names("array", arrays, _ARRAYS)
        n_rows = value(header, "n_rows", int)
        share = value(header, "similar_share", float)
        made_by = value({"made_by": None, **header}, "made_by", str, type(None))
        _require(2 <= n_rows < 2**31, f"`n_rows` must be a count of rows, the file has {n_rows}")
        _require(0 < share < 1, f"`similar_share` must lie between 0 and 1, the file has {share}")
        missing = [name for name in _ARRAYS if name not in arrays]
        _require(not missing, f"the array {missing[:1]} is missing")
        made = cls(n_bits, n_rank_bits, signed, n_rows, share, **arrays, made_by=made_by)
        made._check()
        return made

    def _check(self) -> None:
        """Raise FormatError unless the arrays of a file say what `from_codes` could have said."""
        n_steps = len(self.distances) if self.distances.ndim == 1 else 0
        for name, dtype in _ARRAYS.items():
            array = getattr(self, name)
            _require(
                array.dtype == dtype and array.shape == (n_steps,) and n_steps > 0,
                f"`{name}` must be {np.dtype(dtype)} of one shape with `distances`, the file has "
                f"{array.dtype} of shape {array.shape}",
            )
            _require(
                bool(np.isfinite(array).all() and (array >= 0).all()),
                f"`{name}` must hold finite numbers of at least 0",
            )
        for name, most in (("distances", self._farthest), ("rank_distances", self.n_rank_bits)):
            _require(bool((getattr(self, name) <= most).all()), f"`{name}` must be at most {most}")
        ends = self.ends
        _require(
            bool((np.diff(ends) > 0).all())
            and (int(self.distances[-1]), int(self.rank_distances[-1]))
            == (self._farthest, self.n_rank_bits),
            f"steps must end one after the other, the last at distance {self._farthest}",
        )
        for name in _COUNTS:
            counts = getattr(self, name)
            _require(
                bool((np.diff(counts) >= 0).all()) and 0 < counts[-1] < 2**53,
                f"`{name}` must hold counts that never decrease",
            )
        _require(
            bool((self.ratio > 0).all() and (np.diff(self.ratio) <= 0).all()),
            "`ratio` must be positive and never increase",
        )

    # How it is worked out

    @property
    def _farthest(self) -> int:
        return (self.n_bits - self.n_rank_bits) * (2 if self.signed else 1)

    def _steps_of(self, cells: Integers) -> Integers:
        """Return the step of each place in the nested order."""
        ends = self.ends
        if len(cells) < ends[-1]:
            found: Integers = np.searchsorted(ends, cells)
            return found
        # Many are looked up in a table of all places.
        return np.repeat(np.arange(self.n_steps), np.diff(ends, prepend=-1))[cells]

    def checked_share(self, similar_share: float | None) -> float:
        """Return a share of similar pairs; without, that of the rows it was made from.

        Raises:
            InvalidInputError: It is no number between 0 and 1.
        """
        if similar_share is None:
            return self.similar_share
        number = isinstance(similar_share, (int, float, np.number))
        if isinstance(similar_share, bool) or not number or not 0 < similar_share < 1:
            raise InvalidInputError(
                f"`similar_share` must be a number between 0 and 1, got {similar_share!r}."
            )
        return float(similar_share)

    def _log_ratios(self) -> Array:
        """Return log P(as near | similar) / P(as near | dissimilar) for the end of each step."""
        similar, dissimilar = (
            np.log((counts + HALF) / (counts[-1] + HALF))
            for counts in (self.similar, self.dissimilar)
        )
        found: Array = similar - dissimilar
        return found

    def _ratios_by_distance(self) -> Array:
        """Return the same for each distance alone, `(farthest + 1,)`, never increasing."""
        places = np.arange(self._farthest + 1) * (self.n_rank_bits + 1)
        first = np.searchsorted(self.ends, places)
        last = np.searchsorted(self.ends, places + self.n_rank_bits)
        shares = []
        for counts in (self.similar, self.dissimilar):
            here = counts[last] - np.concatenate([[0], counts])[first]
            shares.append(np.log((here + HALF) / (counts[-1] + HALF)))
        found: Array = np.minimum.accumulate(shares[0] - shares[1])
        return found

    def _shares(
        self, log_ratios: Array, errors: Array, similar_share: float | None
    ) -> tuple[Array, Array, Array]:
        log_odds = logit(self.checked_share(similar_share)) + log_ratios
        low, high = log_odds - SIGMAS * errors, log_odds + SIGMAS * errors
        return expit(log_odds), expit(low), expit(high)

    def _farthest_of(
        self,
        steps: Array,
        shares: tuple[Array, ...] | list[Array],
        precision: float,
        similar_share: float | None,
        *,
        name: str,
        better: str,
    ) -> Cut:
        """Return the last of the steps with that precision."""
        reached = np.flatnonzero(shares[0] >= precision)
        if not len(reached):
            at = int(shares[0].argmax())
            share = self.checked_share(similar_share)
            raise InvalidInputError(
                f"`{name}` {precision:g} is more than these codes reach where {share:.2%} of "
                f"all pairs are similar: the highest is {_below(shares[0][at])} (95 % interval "
                f"{_below(shares[1][at])} to {_below(shares[2][at])}), within "
                f"{self._named(int(steps[at]))}. Ask for less, or use longer codes.{better}"
            )
        at = int(reached[-1])
        step = int(steps[at])
        return Cut(
            int(self.distances[step]),
            int(self.rank_distances[step]),
            float(shares[0][at]),
            float(shares[1][at]),
            float(shares[2][at]),
            float(self.recall()[step]),
        )

    def _named(self, step: int) -> str:
        text = f"distance {self.distances[step]}"
        if self.rank_distances[step] < self.n_rank_bits:
            text += f" and rank distance {self.rank_distances[step]}"
        return text

    @property
    def ends(self) -> Integers:
        """Where each step ends: distance * (n_rank_bits + 1) + rank distance, ascending."""
        return self._cells(self.distances, self.rank_distances)

    def _cells(self, distances: Array, rank_distances: Array) -> Integers:
        """Return the places of distances in the nested order."""
        places: Integers = distances.astype(np.int64) * (self.n_rank_bits + 1) + rank_distances
        return places

    def _checked(self, name: str, values: npt.ArrayLike, most: int) -> Integers:
        array = np.asarray(values)
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() > most):
            raise InvalidInputError(f"`{name}` must be integers in [0, {most}].")
        return array.astype(np.int64)


def _below(share: float) -> str:
    """Return a share in digits that never say more than there is: what is less than 1 is not 1."""
    return f"{math.floor(1000 * share) / 1000:.3f}"


def _kind(n_bits: int, n_rank_bits: int, *, signed: bool) -> str:
    text = f"{n_bits} bits"
    if n_rank_bits:
        text += f", {n_rank_bits} of them rank bits"
    return text + (", signed" if signed else "")


def _require(holds: bool, what: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise FormatError(f"the calibration is not sound: {what}.")


def _some(codes: Codes, rng: np.random.Generator) -> Codes:
    if len(codes) <= N_OBSERVED:
        return codes
    return codes[np.sort(rng.choice(len(codes), N_OBSERVED, replace=False))]
