"""Features that are slow to extract, kept on disk between runs."""

import hashlib
import logging
import tokenize
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.errors import InvalidInputError
from kinhash.storage import atomic

_log = logging.getLogger(__name__)

_DIGEST_BYTES = hashlib.sha256().digest_size


def fingerprint(recipe: str, data: npt.NDArray[np.uint8]) -> str:
    """Return 16 hexadecimal digits that change with `recipe` and with any byte of `data`."""
    digest = hashlib.sha256(f"{recipe} {data.shape}".encode())
    digest.update(np.ascontiguousarray(data).data)
    return digest.hexdigest()[:16]


def cached_features(
    path: Path, shape: tuple[int, int], extract: Callable[[], npt.NDArray[np.float32]]
) -> npt.NDArray[np.float32]:
    """Return the features stored at `path`, or those of `extract()`, which are then stored there.

    A stored file that is damaged is replaced. Where nothing can be stored, a warning is logged and
    the features are returned all the same.
    """
    stored = _read(path, shape)
    if stored is not None:
        return stored
    features = extract()
    try:
        _write(path, features)
    except (OSError, InvalidInputError) as error:
        _log.warning("Features are not stored, and will be extracted again next time. %s", error)
    return features


def _read(path: Path, shape: tuple[int, int]) -> npt.NDArray[np.float32] | None:
    try:
        with path.open("rb") as file:
            features = np.lib.format.read_array(file, allow_pickle=False)
            digest = file.read(_DIGEST_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, tokenize.TokenError) as error:
        _log.warning("%s cannot be read (%s); its features are extracted again.", path, error)
        return None
    is_whole = (
        features.shape == shape
        and features.dtype == np.float32
        and hashlib.sha256(np.ascontiguousarray(features).data).digest() == digest
    )
    if not is_whole:
        _log.warning("%s is damaged; its features are extracted again.", path)
        return None
    stored: npt.NDArray[np.float32] = features
    return stored


def _write(path: Path, features: npt.NDArray[np.float32]) -> None:
    """Store a .npy file; the digest behind its last value tells a damaged file from a whole one."""
    content = np.ascontiguousarray(features, dtype=np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as part, part.open("wb") as file:
        np.save(file, content, allow_pickle=False)
        file.write(hashlib.sha256(content.data).digest())
