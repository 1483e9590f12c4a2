"""The one table of what each method looks like: its colour and marker, in all figures and pages."""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Look(NamedTuple):
    """How a method is drawn; the marker tells methods apart where there is no colour."""

    colour: str
    marker: str


_OURS, _CROSS_MODAL_SSH = Look("#0072b2", "o"), Look("#d55e00", "s")

# Okabe and Ito's palette for what stands together most often; the others differ from it.
LOOKS = {
    "SparseHash": _OURS,
    "MultimodalSparseHash": _OURS,
    "MM-SparseHash": _OURS,
    "NNHash": Look("#d55e00", "s"),
    "LSH": Look("#8a6fb0", "^"),
    "ClassCode": Look("#009e73", "D"),
    "L2": Look("#1f2933", "x"),
    "cosine": Look("#7a8691", "+"),
    "KSH": Look("#cc79a7", "v"),
    "ITQ": Look("#e69f00", "P"),
    "AGH": Look("#56b4e9", "X"),
    "SSH": Look("#8c5a2b", "<"),
    "DH": Look("#9aa11f", ">"),
    "Nested": Look("#3b2f8f", "p"),
    "CSR": Look("#a0005a", "h"),
    "FlyHash": Look("#5f7f00", "*"),
    "FSDH": Look("#00788a", "d"),
    "OrthoHash": Look("#b04a4a", "H"),
    "CMSSH": _CROSS_MODAL_SSH,
    "CM-SSH": _CROSS_MODAL_SSH,
    "CCAITQ": Look("#e69f00", "P"),
    "CCA-ITQ": Look("#e69f00", "P"),
}
"""By the names that tables show; two names of one look are one method, or never in one table."""

_OTHERS = (
    Look("#6b5b95", "8"),
    Look("#a58200", "1"),
    Look("#4f6d3a", "2"),
    Look("#e377c2", "3"),
    Look("#2f9ec4", "4"),
    Look("#7f3b1d", "|"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d", "H", "8")


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return what each method looks like: the same wherever it is drawn.

    Variants of a method share its colour and differ in their markers. A method that has no look
    takes one of those that no other method has.

    Args:
        names: As tables show them: the method, then what distinguishes it.

    Example:
        >>> found = looks(["SparseHash, margin 7", "LSH", "SparseHash, margin 11"])
        >>> [look.colour for look in found.values()]
        ['#0072b2', '#8a6fb0', '#0072b2']
        >>> len({look.marker for look in found.values()})
        3
    """
    found: dict[str, Look] = {}
    unknown: dict[str, Look] = {}
    for name in dict.fromkeys(names):
        method = _method(name)
        look = look_of(name)
        if look is None:
            look = unknown.setdefault(method, _OTHERS[len(unknown) % len(_OTHERS)])
        used = {other.marker for other in found.values()}
        free = [marker for marker in (look.marker, *_MARKERS) if marker not in used]
        found[name] = Look(look.colour, free[0] if free else look.marker)
    return found


def look_of(name: str) -> Look | None:
    """Return the look of a method as tables name it; None if it has none of its own.

    Example:
        >>> look_of("AGH2") == LOOKS["AGH"], look_of("another")
        (True, None)
    """
    return LOOKS.get(_method(name))


def _method(name: str) -> str:
    """Return the method of a name: "SparseHash" of "SparseHash, margin 7", "AGH" of "AGH2"."""
    if name in LOOKS:
        return name
    first = re.split(r"[,(]", name)[0].strip()
    return first if first in LOOKS else first.rstrip("0123456789")
