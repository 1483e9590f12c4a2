"""The table of encoders by the kind that files name, and how one comes back from a file."""

import reprlib
from typing import Any

from kinhash import storage
from kinhash.arrays import Array
from kinhash.encoders.anchor_graph import AnchorGraphEncoder
from kinhash.encoders.base import Encoder
from kinhash.encoders.class_levels import ClassLevelsEncoder, KernelClassLevelsEncoder
from kinhash.encoders.class_rank import ClassRankEncoder, KernelClassRankEncoder
from kinhash.encoders.classes import ClassEncoder
from kinhash.encoders.kernel import KernelEncoder
from kinhash.encoders.kernel_ista import KernelIstaEncoder
from kinhash.encoders.landmarks import LandmarkEncoder
from kinhash.encoders.linear import LinearEncoder
from kinhash.encoders.nested import NestedEncoder
from kinhash.encoders.network import CodEncoder, IstaEncoder
from kinhash.encoders.top_k import KernelTopKEncoder, TopKEncoder
from kinhash.errors import FormatError

ENCODERS: dict[str, type[Encoder]] = {
    e.kind: e
    for e in (
        IstaEncoder,
        CodEncoder,
        LinearEncoder,
        KernelEncoder,
        KernelIstaEncoder,
        AnchorGraphEncoder,
        ClassEncoder,
        ClassLevelsEncoder,
        KernelClassLevelsEncoder,
        ClassRankEncoder,
        KernelClassRankEncoder,
        TopKEncoder,
        KernelTopKEncoder,
        LandmarkEncoder,
    )
}
"""All but the nested kind, which is made of two of these."""


def restored_encoder(
    described: dict[str, Any], arrays: dict[str, Array], *, nested: bool = True
) -> Encoder:
    """Return the encoder that a header, or a part of it, describes.

    Args:
        described: Its kind as `encoder`, and its `settings`.
        arrays: Its arrays, by name; those of the parts of a nested one after `bucket/`, `rank/`.
        nested: Whether it may be one of two parts.

    Raises:
        FormatError: Its kind is unknown, or its arrays or settings do not fit.
    """
    kind = storage.value(described, "encoder", str)
    settings = storage.value(described, "settings", dict)
    if nested and kind == NestedEncoder.kind:
        return _nested(settings, arrays)
    if kind not in ENCODERS:
        raise FormatError(
            f"Unknown encoder {reprlib.repr(kind)}; this release reads "
            f"{', '.join(sorted([*ENCODERS, NestedEncoder.kind]))}. Upgrade kinhash."
        )
    return ENCODERS[kind].restore(arrays, settings)


def _nested(settings: dict[str, Any], arrays: dict[str, Array]) -> NestedEncoder:
    parts, known = [], []
    storage.check_names("setting", settings, ["bucket", "rank"])
    for part in ("bucket", "rank"):
        own = {
            name.removeprefix(f"{part}/"): array
            for name, array in arrays.items()
            if name.startswith(f"{part}/")
        }
        known += [f"{part}/{name}" for name in own]
        described = storage.value(settings, part, dict)
        storage.check_names("entry", described, ["encoder", "settings"])
        try:
            parts.append(restored_encoder(described, own, nested=False))
        except FormatError as error:
            raise FormatError(f"the {part}: {error}") from error
    storage.check_names("array", arrays, known)
    return NestedEncoder.checked(*parts)
