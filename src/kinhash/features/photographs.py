"""What photographs are compared by: the GIST of the grey picture, and where its colours are."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Floats
from kinhash.features.cache import cached_features, fingerprint
from kinhash.features.gist import GIST_VERSION, gist
from kinhash.features.gist import N_FEATURES as N_GIST
from kinhash.progress import Progress

Images = npt.NDArray[np.uint8]

GRID = 2  # colours are counted in 2 x 2 blocks
BINS = (8, 3, 3)  # of hue, saturation and value
N_COLOURS = BINS[0] * BINS[1] * BINS[2]
N_FEATURES = N_GIST + GRID**2 * N_COLOURS

# A change of any number here, or of the arithmetic below, changes features: raise the version.
COLOUR_VERSION = 1
_GIST_SIDE = 64


def photo_features(images: Images, *, progress: Progress | None = None) -> Floats:
    """Return 672 features per photograph: 384 of GIST, then 288 of colour.

    GIST sees the picture in grey, stretched to 64 x 64 pixels. The colours are `colour_histogram`;
    both parts have lengths near 1, so that neither drowns the other in a distance.

    Args:
        images: `(n, h, w, 3)`.
        progress: Called with (images done, images in all) while GIST is extracted.
    """
    from PIL import Image  # noqa: PLC0415  (an extra)

    features = np.empty((len(images), N_FEATURES), dtype=np.float32)
    squares = np.empty((len(images), _GIST_SIDE, _GIST_SIDE), dtype=np.uint8)
    for row, image in enumerate(images):
        photo = Image.fromarray(image)
        grey = photo.convert("L").resize((_GIST_SIDE, _GIST_SIDE), Image.Resampling.BILINEAR)
        squares[row] = np.asarray(grey)
        features[row, N_GIST:] = colour_histogram(np.asarray(photo.convert("HSV")))
    features[:, :N_GIST] = gist(squares, progress=progress)
    return features


def colour_histogram(hsv: Images) -> Floats:
    """Return how much of each colour each block of one picture has, 4 blocks x 72 colours.

    The square roots of the shares of the picture's pixels, so that the vector has length 1 where
    blocks are equally large. Order: block row, block column, hue, saturation, value.

    Args:
        hsv: `(h, w, 3)`, hue, saturation and value in [0, 255].
    """
    height, width, _ = hsv.shape
    cells = np.arange(height)[:, None] * GRID // height * GRID + np.arange(width) * GRID // width
    for channel, n_bins in enumerate(BINS):
        cells = cells * n_bins + hsv[:, :, channel].astype(np.int64) * n_bins // 256
    counts = np.bincount(cells.ravel(), minlength=GRID**2 * N_COLOURS)
    return np.asarray(np.sqrt(counts / cells.size), dtype=np.float32)


def cached_photo_features(
    name: str, images: Images, root: Path, progress: Progress | None
) -> Floats:
    """Return the features of `images`, stored under `root` when first asked for."""
    key = fingerprint(f"photo {GIST_VERSION} {COLOUR_VERSION}", images)
    return cached_features(
        root / "features" / f"{name}-gist-{key}.npy",
        (len(images), N_FEATURES),
        lambda: photo_features(images, progress=progress),
    )
