"""GIST, the description of an image by the strength of its edges in a coarse grid.

The definition is that of Oliva and Torralba ("Modeling the shape of the scene", IJCV 2001) as
their program LMgist computes it: stretch to [0, 255], whiten and even out the local contrast,
filter with Gabor transfer functions, and average each response's magnitude over a grid of blocks.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import scipy.fft

from kinhash.arguments import checked_threads
from kinhash.arrays import Floats
from kinhash.errors import InvalidInputError

Spectra = npt.NDArray[np.complex64]

N_SCALES = 3
N_ORIENTATIONS = 8
N_BLOCKS = 4
N_FEATURES = N_SCALES * N_ORIENTATIONS * N_BLOCKS**2
MIN_SIDE = 16

# A change of any of these numbers, or of the arithmetic below, changes features: raise the version,
# so that features stored by an earlier release are not taken for these.
GIST_VERSION = 1
_CYCLES = 4  # what is slower than this many cycles per image is lighting, and is removed
_PREFILTER_BORDER = 5
_BORDER = 32
_TOP_FREQUENCY = 0.3  # cycles per pixel, of the finest scale
_SCALE_RATIO = 1.85

# Complex values filtered at once by a thread: small enough to stay in its cache.
_CHUNK_VALUES = 1 << 17


def gist(
    images: npt.NDArray[np.uint8],
    *,
    progress: Callable[[int, int], None] | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return 384 features per image: 3 scales x 8 orientations x 4 x 4 blocks.

    Each row depends on its own image alone, not on its neighbours or on `n_jobs`. The order is
    scale (fine to coarse), orientation, block row, block column.

    Args:
        images: `(n, h, w)` grey or `(n, h, w, 3)` colour images, sides of at least 16 pixels; a
            colour image counts as the mean of its channels. Shrink photographs first, to 256
            pixels or less: the grid is coarse, and time grows with the area.
        progress: Called with (images done, images in all) from the calling thread.
        n_jobs: Threads to use; None means one per core.

    Returns:
        An array of shape (n, 384).

    Raises:
        InvalidInputError: `images` have another shape or are smaller, or `n_jobs` is less than 1.
    """
    n_threads = checked_threads("n_jobs", n_jobs)
    _check(images)
    n, height, width = images.shape[:3]
    features = np.empty((n, N_FEATURES), dtype=np.float32)
    prefilter = _prefilter_transfer(height, width)
    gabors = _gabor_transfers(height + 2 * _BORDER, width + 2 * _BORDER)
    step = max(1, _CHUNK_VALUES // gabors[0].size)

    def fill(start: int) -> int:
        chunk = images[start : start + step]
        features[start : start + len(chunk)] = _described(chunk, prefilter, gabors)
        return start + len(chunk)

    pool = ThreadPoolExecutor(n_threads)
    try:
        for done in pool.map(fill, range(0, n, step)):
            if progress is not None:
                progress(done, n)
    finally:
        # Whoever interrupts must not wait for the images that are still queued.
        pool.shutdown(cancel_futures=True)
    return features


def _check(images: npt.NDArray[np.uint8]) -> None:
    is_grey = images.ndim == 3
    is_colour = images.ndim == 4 and images.shape[3] == 3
    if not (is_grey or is_colour) or min(images.shape[1:3]) < MIN_SIDE:
        raise InvalidInputError(
            f"`images` must have the shape (n, h, w) or (n, h, w, 3) with h and w of at least "
            f"{MIN_SIDE}, got {images.shape}."
        )


def _described(images: npt.NDArray[np.uint8], prefilter: Floats, gabors: Floats) -> Floats:
    spectra = _spectra(_prefiltered(_stretched(_grey(images)), prefilter))
    blocks = [_block_means(_magnitudes(spectra, gabor)) for gabor in gabors]
    return np.stack(blocks, axis=1).reshape(len(images), N_FEATURES)


def _grey(images: npt.NDArray[np.uint8]) -> Floats:
    if images.ndim == 3:
        return images.astype(np.float32)
    return np.asarray(images.mean(axis=3, dtype=np.float32))


def _stretched(grey: Floats) -> Floats:
    """Return the images with their values spread over [0, 255]; a flat image becomes 0."""
    low = grey.min(axis=(1, 2), keepdims=True)
    spread = grey.max(axis=(1, 2), keepdims=True) - low
    scale = np.float32(255) / np.where(spread > 0, spread, np.float32(1))
    return np.asarray((grey - low) * scale)


def _prefilter_transfer(height: int, width: int) -> Floats:
    """Return the low-pass transfer function on the padded square, for `rfft2`."""
    side = max(height, width) + 2 * _PREFILTER_BORDER
    side += side % 2
    fy = np.fft.fftfreq(side, 1 / side)[:, None]
    fx = np.fft.rfftfreq(side, 1 / side)[None, :]
    transfer = np.exp(-(fx**2 + fy**2) * (np.log(2) / _CYCLES**2))
    return np.asarray(transfer, dtype=np.float32)


def _prefiltered(images: Floats, low_pass: Floats) -> Floats:
    """Return the images' logarithm without slow changes of light, at even local contrast."""
    _, height, width = images.shape
    side = len(low_pass)
    border = _PREFILTER_BORDER
    after_y, after_x = side - height - border, side - width - border
    padded = np.pad(
        np.log1p(images), ((0, 0), (border, after_y), (border, after_x)), mode="symmetric"
    )
    detail = padded - _filtered(padded, low_pass)
    contrast = np.sqrt(np.abs(_filtered(detail**2, low_pass)))
    even = detail / (np.float32(0.2) + contrast)
    return np.asarray(even[:, border : border + height, border : border + width], dtype=np.float32)


def _filtered(images: Floats, transfer: Floats) -> Floats:
    spectra = scipy.fft.rfft2(images) * transfer
    return np.asarray(scipy.fft.irfft2(spectra, s=images.shape[1:]), dtype=np.float32)


def _gabor_transfers(height: int, width: int) -> Floats:
    """Return the transfer functions, (24, height, width), in the order of `fft2`."""
    fy = np.fft.fftfreq(height)[:, None]
    fx = np.fft.fftfreq(width)[None, :]
    radius = np.hypot(fx, fy)
    angle = np.arctan2(fy, fx)
    transfers = []
    for scale in range(N_SCALES):
        radial = 3.5 * (radius * _SCALE_RATIO**scale / _TOP_FREQUENCY - 1) ** 2
        for orientation in range(N_ORIENTATIONS):
            turned = angle + np.pi * orientation / N_ORIENTATIONS
            turned -= 2 * np.pi * (turned > np.pi)
            spread = 2 * np.pi * (N_ORIENTATIONS / 8) ** 2
            transfers.append(np.exp(-radial - spread * turned**2))
    return np.stack(transfers).astype(np.float32)


def _spectra(images: Floats) -> Spectra:
    border = ((0, 0), (_BORDER, _BORDER), (_BORDER, _BORDER))
    padded = np.pad(images, border, mode="symmetric")
    return np.asarray(scipy.fft.fft2(padded), dtype=np.complex64)


def _magnitudes(spectra: Spectra, gabor: Floats) -> Floats:
    """Return the strength of one filter's response at every pixel of the images themselves."""
    # The border is dropped after the first of the two passes: two thirds of the second pass would
    # be spent on rows that nobody reads.
    rows = scipy.fft.ifft(spectra * gabor, axis=1, overwrite_x=True)[:, _BORDER:-_BORDER]
    response = scipy.fft.ifft(rows, axis=2)[:, :, _BORDER:-_BORDER]
    return np.abs(response)


def _block_means(values: Floats) -> Floats:
    """Return the means over a grid of 4 x 4 blocks, (n, 4, 4); blocks may differ by a pixel."""
    _, height, width = values.shape
    tops = np.arange(N_BLOCKS) * height // N_BLOCKS
    lefts = np.arange(N_BLOCKS) * width // N_BLOCKS
    sums = np.add.reduceat(np.add.reduceat(values, lefts, axis=2), tops, axis=1)
    areas = np.outer(np.diff(tops, append=height), np.diff(lefts, append=width))
    return np.asarray(sums / areas.astype(np.float32), dtype=np.float32)
