"""How sure the answers of `kinhash search` are: whose calibration tells, and how far to go."""

from pathlib import Path

import typer

from kinhash.calibration import Calibration
from kinhash.cli.inputs import AnyMethod
from kinhash.cli.messages import counted, note
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.index.precision import FEWEST as FEWEST_ITEMS
from kinhash.index.precision import needed
from kinhash.methods import HashMethod

_HAVE_ONE = (
    "kinhash train makes one for sparsehash from labels, and for others with --calibration-folds."
)
FEWEST_QUERIES = 100  # with fewer, the share of similar pairs is told by distances between items


def check_options(min_precision: float | None, similar_share: float | None) -> None:
    """Raise unless both are shares that can be meant.

    Raises:
        typer.BadParameter: They are not.
    """
    if min_precision is not None and not 0 < min_precision <= 1:
        raise _wrong(
            "--min-precision", f"must be greater than 0 and at most 1, got {min_precision}"
        )
    if similar_share is not None and not 0 < similar_share < 1:
        raise _wrong("--similar-share", f"must lie between 0 and 1, got {similar_share}")


def _wrong(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def calibration_of(method: AnyMethod, model: Path) -> Calibration:
    """Return the calibration of the model in a file.

    Raises:
        InvalidInputError: It has none.
    """
    found = method.calibration_ if isinstance(method, HashMethod) else None
    if found is None:
        raise InvalidInputError(f"{model} has no calibration. {_HAVE_ONE}")
    return found


def take_calibration(
    index: HammingIndex, items: Path, model: Path | None, method: AnyMethod | None, *, needed: bool
) -> None:
    """Give an index that has none the calibration of the model.

    Args:
        index: What is searched.
        items: Its file.
        model: The file of the model; None without.
        method: What is in it.
        needed: Whether nothing can be done without a calibration.

    Raises:
        InvalidInputError: One is needed, and there is none.
    """
    if index.calibration is None and isinstance(method, HashMethod):
        index.calibration = method.calibration_
    if needed and index.calibration is None:
        where = f"neither {items} nor {model} has one" if model else f"{items} has none"
        raise InvalidInputError(
            f"--min-precision and --similar-share need a calibration, and {where}. {_HAVE_ONE} An "
            "index keeps it after kinhash index --model."
        )


def share_of(index: HammingIndex, queries: Codes, given: float | None) -> float | None:
    """Return the share of similar pairs of a query and an item; None if distances say too little.

    Many queries tell it better than the items do, of which they may be unlike.
    """
    if given is not None or index.calibration is None or len(queries) < FEWEST_QUERIES:
        return given
    return index.observe(queries).similar_share if len(index) >= FEWEST_ITEMS else None


def tell(
    index: HammingIndex, min_precision: float, share: float | None, *, given: bool, n_queries: int
) -> None:
    """Say how far the search goes, and what to expect of it.

    Raises:
        InvalidInputError: The codes do not reach that precision.
    """
    cut = index.cut(min_precision, similar_share=share)
    within = f"distance {cut.distance}"
    if cut.rank_distance < index.n_rank_bits:
        within += f" and rank distance {cut.rank_distance}"
    if given:
        why = "as given"
    elif share is not None:
        why = f"by the distances of {counted(n_queries, 'query', 'queries')} to items"
    elif len(index) >= FEWEST_ITEMS:
        why, share = "by the distances between items", index.observe().similar_share
    else:  # which say too little
        why, share = "as where the calibration comes from", needed(index.calibration).similar_share
    note(
        f"Within {within}: {cut.precision:.1%} of the answers should be right (95 % interval "
        f"{cut.low:.1%} to {cut.high:.1%}), and {cut.recall:.1%} of what is similar be found, if "
        f"{share:.2%} of all pairs are similar, {why}."
    )
