"""Small pictures as `data:` URIs, for pages; needs Pillow."""

import base64
import io
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.errors import InvalidInputError, MissingExtraError

SIDE = 240  # pixels, at most
_LEAST = 96  # smaller pictures are enlarged


def thumbnail(picture: str | os.PathLike[str] | npt.NDArray[np.uint8]) -> str:
    """Return a picture, at most 240 pixels wide and high, as a `data:` URI of a JPEG.

    Args:
        picture: A file, or `(h, w)` or `(h, w, 3)` pixels.

    Raises:
        InvalidInputError: The file cannot be read.
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("Showing pictures needs Pillow", "images") from error
    try:
        if isinstance(picture, np.ndarray):
            small = Image.fromarray(picture).convert("RGB")
        else:
            with Image.open(Path(picture)) as opened:
                small = ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InvalidInputError(f"{picture} cannot be read as a picture: {error}.") from error
    small.thumbnail((SIDE, SIDE))
    if max(small.size) < _LEAST:
        factor = _LEAST // max(small.size)
        width, height = small.size
        small = small.resize((width * factor, height * factor), Image.Resampling.NEAREST)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
