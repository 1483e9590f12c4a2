"""`Outcome`: what a recipe leaves, with a calibration from rows that were left out."""

import dataclasses
import logging
from typing import Any

from kinhash.arrays import Array
from kinhash.calibration import Calibration
from kinhash.codes import Codes
from kinhash.encoders import Encoder
from kinhash.errors import InvalidInputError
from kinhash.pairs import LabelSource, TagSource

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a recipe leaves."""

    encoder: Encoder
    history: list[dict[str, Any]]
    calibration: Calibration | None = None


def calibrated(
    left_out: Codes, source: LabelSource | TagSource, rows: Array, seed: int, encoder: Encoder
) -> Calibration | None:
    """Return what codes of rows say that were left out; None where all are similar, or none.

    Args:
        left_out: Codes of maps that have not learned from the row.
        source: Which rows are similar.
        rows: Their numbers in it.
        seed: Draws some where there are many.
        encoder: What has learned from all rows.
    """
    similar: Any = source.labels if isinstance(source, LabelSource) else source.tags
    try:
        return Calibration.from_codes(
            left_out, similar[rows], seed=seed, made_by=encoder.fingerprint
        )
    except InvalidInputError as error:
        logger.info("The codes are not calibrated: %s", error)
        return None
