"""Perceptual hashes of picture files: near for scaled, compressed or brightened copies."""

import concurrent.futures
import functools
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.fft

from kinhash.arguments import checked_threads
from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.progress import Progress

SIDE = 12  # lowest frequencies of the cosine transform in each direction
N_BITS = SIDE**2
_PIXELS = 48  # of the small grey picture that is transformed, in each direction
_LISTED = 3


def perceptual_hashes(
    paths: Sequence[str | os.PathLike[str]],
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Codes:
    """Return 144 bits per picture: which low frequencies are above their median.

    The picture in grey, 48 x 48 pixels, goes through a discrete cosine transform, of which the
    lowest 12 x 12 frequencies count, without the mean.

    Args:
        paths: Files of any format that Pillow reads; the first picture of several counts.
        n_threads: Threads to use; all cores by default.
        progress: Called with (pictures done, pictures in all).

    Raises:
        InvalidInputError: Files cannot be read; the message names the first ones.
        MissingExtraError: Pillow is not installed.
    """
    try:
        import PIL  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading pictures needs Pillow", "images") from error
    bits = np.zeros((len(paths), N_BITS), bool)
    unreadable = []
    with concurrent.futures.ThreadPoolExecutor(checked_threads("n_threads", n_threads)) as pool:
        for row, grey in enumerate(pool.map(_small, paths)):
            if isinstance(grey, str):
                unreadable.append(f"{paths[row]}: {grey}")
            else:
                bits[row] = phash(grey)
            if progress is not None:
                progress(row + 1, len(paths))
    if unreadable:
        more = ", ..." if len(unreadable) > _LISTED else ""
        raise InvalidInputError(
            f"{len(unreadable):,} of {len(paths):,} pictures cannot be read: "
            f"{'; '.join(unreadable[:_LISTED])}{more}. Leave them out."
        )
    return Codes.from_dense(bits)


def phash(grey: Array) -> npt.NDArray[np.bool_]:
    """Return the bits of one grey picture: `(144,)`.

    Args:
        grey: `(48, 48)` numbers.
    """
    frequencies = _cosines() @ grey @ _cosines().T
    flat = frequencies.ravel()
    found: npt.NDArray[np.bool_] = flat > np.median(flat[1:])
    found[0] = False  # the mean: how bright the picture is
    return found


@functools.cache
def _cosines() -> Array:
    transform: Array = scipy.fft.dct(np.eye(_PIXELS), axis=0, norm="ortho")[:SIDE]
    return transform


def _small(path: str | os.PathLike[str]) -> Array | str:
    """Return a picture in grey and small, or why it cannot be read."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - an extra

    try:
        with Image.open(Path(path)) as picture:
            picture.draft("L", (2 * _PIXELS, 2 * _PIXELS))  # a large JPEG is decoded small
            upright = ImageOps.exif_transpose(picture).convert("L")
            small = upright.resize((_PIXELS, _PIXELS), Image.Resampling.LANCZOS)
            return np.asarray(small, np.float64)
    except UnidentifiedImageError:
        return "not a picture"
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
