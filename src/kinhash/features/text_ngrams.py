"""Texts as vectors that show near-duplicates: their words and runs of four letters, hashed."""

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Words
from kinhash.progress import Progress
from kinhash.vocabulary import check_texts

N_FEATURES = 512
N_LETTERS = 4  # bytes of UTF-8, the blanks between words among them

_CHUNK_TEXTS = 2048
_MIX = np.uint64(0xD6E8FEB86659FD93)  # an odd number of many bits, as hash functions multiply by
# A change of these numbers changes all vectors.
_OF_PLACE = np.random.default_rng(0x6B696E).integers(0, 2**64, (64, 256), np.uint64)
_WORD = re.compile(r"\w+")
# Languages that put no blanks between words: each sign counts as one.
_SIGNS = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")


def text_ngrams(texts: Iterable[str], *, progress: Progress | None = None) -> npt.NDArray[np.int8]:
    """Return `N_FEATURES` features per text, of which the cosine is near 1 for near-duplicates.

    Each word, and each run of four letters of the text without punctuation, adds 1 or -1 to one
    feature, both chosen by its hash. Capitals and punctuation do not matter, the order of words
    hardly does. Rows without any word are zero; those of very long texts are scaled to fit.

    Args:
        texts: The texts.
        progress: Called with (texts done, texts in all).

    Raises:
        InvalidInputError: A text is no string.

    Example:
        >>> one, other, third = text_ngrams(["Red shoes, new", "red shoes -- NEW!", "blue hat"])
        >>> bool((one == other).all()), bool((one == third).all())
        (True, False)
    """
    listed = check_texts(texts)
    vectors = np.zeros((len(listed), N_FEATURES), np.int8)
    for start in range(0, len(listed), _CHUNK_TEXTS):
        chunk = listed[start : start + _CHUNK_TEXTS]
        rows, hashes = _ngrams([_plain(text) for text in chunk])
        signs = np.where(hashes >> np.uint64(63), 1, -1)
        places = rows * N_FEATURES + (hashes % np.uint64(N_FEATURES)).astype(np.int64)
        sums = np.bincount(places, signs, len(chunk) * N_FEATURES).reshape(len(chunk), N_FEATURES)
        largest = np.abs(sums).max(axis=1, keepdims=True)
        scaled = np.rint(sums * np.minimum(1, 127 / np.maximum(largest, 1)))
        vectors[start : start + len(chunk)] = scaled
        if progress is not None:
            progress(start + len(chunk), len(listed))
    return vectors


def _plain(text: str) -> bytes:
    """Return the words of a text in lower case, one blank after each."""
    lower = text.lower()
    if not lower.isascii():
        lower = _SIGNS.sub(r" \1 ", lower)
    return " ".join([*_WORD.findall(lower), ""]).encode(errors="replace")


def _ngrams(texts: list[bytes]) -> tuple[npt.NDArray[np.int64], Words]:
    """Return the hash of each word and of each run of letters, and the text that it is in."""
    joined = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([len(text) for text in texts])
    if not len(joined):
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    text_of = np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
    blanks = np.flatnonzero(joined == ord(" "))
    starts = np.r_[0, blanks[:-1] + 1]
    place = np.arange(len(joined)) - np.repeat(starts, np.diff(blanks, prepend=-1))
    words = np.add.reduceat(_OF_PLACE[place % len(_OF_PLACE), joined], starts)
    runs = np.zeros(max(0, len(joined) - N_LETTERS + 1), np.uint64)
    for at in range(N_LETTERS):
        runs += _OF_PLACE[at, joined[at : len(runs) + at]]
    within = text_of[: len(runs)] == text_of[N_LETTERS - 1 :]
    rows = np.concatenate([text_of[starts], text_of[: len(runs)][within]])
    return rows, _mixed(np.concatenate([words, ~runs[within]]))


def _mixed(hashes: Words) -> Words:
    """Return hashes all of whose bits depend on all bits."""
    mixed: Words = (hashes ^ (hashes >> np.uint64(32))) * _MIX
    return mixed ^ (mixed >> np.uint64(32))
