"""Which settings are tried: a ladder for each method, the same for everybody."""

from collections.abc import Sequence
from typing import Any

from kinhash.errors import InvalidInputError, unknown_name
from kinhash.methods import METHODS

Settings = dict[str, Any]  # "method" and those of its parameters that differ from the defaults

WITH_LABELS = ("sparsehash", "classcode", "itq")
WITHOUT_LABELS = ("sparsehash", "itq", "lsh")

# From coarse to fine, and what is quick first: a search whose time is over has seen the best part.
_OWN: dict[str, Sequence[Settings]] = {
    "classcode": [
        {"n_bits": 32},
        *({"n_bits": 64, "levels": levels} for levels in (2, 3, 6)),
    ],
    "itq": [{"n_bits": n_bits} for n_bits in (8, 12, 16, 24, 32, 48, 64)],
    "sparsehash": [
        {"n_bits": 64},
        {"n_bits": 32},
        {"n_bits": 96},
        {"n_bits": 128},
        {"n_bits": 64, "n_rank_bits": 16},
        {"n_bits": 64, "transfer": 0.5},
    ],
}
_OWN_WITHOUT_LABELS: dict[str, Sequence[Settings]] = {
    "itq": [{"n_bits": n_bits} for n_bits in (8, 16, 32, 64, 128, 256)],
    "lsh": [{"n_bits": n_bits} for n_bits in (16, 32, 64, 128, 256)],
    "sparsehash": [{"n_bits": n_bits} for n_bits in (64, 128, 256)],
}
_USUAL: Sequence[Settings] = [{"n_bits": n_bits} for n_bits in (16, 32, 64)]


def ladder(
    methods: Sequence[str] | None, *, has_labels: bool, most_bytes: float = float("inf")
) -> list[Settings]:
    """Return the settings to try, in this order, whose codes are not longer than `most_bytes`.

    Args:
        methods: Names in `kinhash.methods.METHODS`; by default a few that suit the data.
        has_labels: Whether there are labels to learn from.
        most_bytes: Length of a code that is not exceeded.

    Raises:
        InvalidInputError: A name is unknown or there twice, or no settings are left.

    Example:
        >>> ladder(["itq"], has_labels=True, most_bytes=1)
        [{'method': 'itq', 'n_bits': 8}]
    """
    chosen = methods or (WITH_LABELS if has_labels else WITHOUT_LABELS)
    for name in chosen:
        if name not in METHODS:
            raise unknown_name("method", name, METHODS)
        if list(chosen).count(name) > 1:
            raise InvalidInputError(f"`methods` name {name} twice. Leave one out.")
    own = _OWN if has_labels else _OWN | _OWN_WITHOUT_LABELS
    found = [{"method": name, **one} for name in chosen for one in own.get(name, _USUAL)]
    short = [one for one in found if -(-one["n_bits"] // 8) <= most_bytes]
    if not short:
        least = min(-(-one["n_bits"] // 8) for one in found)
        raise InvalidInputError(
            f"Codes of at most {most_bytes:g} bytes are wished for, but the shortest that are "
            f"tried have {least}: the nearest that can be met is bytes<={least}."
        )
    return short


def told(settings: Settings) -> str:
    """Return settings in words.

    Example:
        >>> told({"method": "classcode", "n_bits": 64, "levels": 3})
        'ClassCode, 64 bits, levels 3'
    """
    more = [f"{key} {value}" for key, value in settings.items() if key not in ("method", "n_bits")]
    return ", ".join([name_of(settings), f"{settings['n_bits']} bits", *more])


def name_of(settings: Settings) -> str:
    """Return the method's name as tables have it."""
    return METHODS[settings["method"]].__name__
