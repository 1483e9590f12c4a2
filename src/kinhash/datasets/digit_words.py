"""Digits with words: the pictures of digits, and short texts that are made up for them."""

from pathlib import Path

import numpy as np

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.digits import load_digits
from kinhash.progress import Progress

NAMES = (
    ("zero", "null", "cero"),
    ("one", "eins", "un"),
    ("two", "zwei", "deux"),
    ("three", "drei", "trois"),
    ("four", "vier", "quatre"),
    ("five", "cinco", "cinq"),
    ("six", "sechs", "seis"),
    ("seven", "sieben", "sept"),
    ("eight", "acht", "huit"),
    ("nine", "neun", "nueve"),
)
"""What each digit is called, in English first."""

TRAITS = {
    "even": (0, 2, 4, 6, 8),
    "odd": (1, 3, 5, 7, 9),
    "prime": (2, 3, 5, 7),
    "square": (0, 1, 4, 9),
    "loop": (0, 6, 8, 9),
}
"""Words that several digits share."""

NOISE = ("big", "black", "bold", "grey", "ink", "neat", "paper", "pen", "scan", "small", "thin")
"""Words that say nothing of the digit."""

SEED = 0
NAME_SHARE = 0.45  # of the digit's names that its text has
TRAIT_SHARE = 0.6  # of its traits
WRONG_SHARE = 0.05  # of the texts that have the name of another digit, too


def load_digit_words(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return all images of "digits", each with a text of a few words.

    The texts are made up, always the same ones: some names of the digit, some of its traits, and
    one or two words that say nothing. About one in six has no name of its digit, and one in twenty
    has the name of another. `modalities` are "image", the vectors, and "text".

    Args:
        root: Not needed: the images come with scikit-learn.
        features: "pixels", the default.
        progress: Not needed.

    Raises:
        InvalidInputError: `features` is unknown.
    """
    digits = load_digits(root, features, progress)
    rng = np.random.default_rng(SEED)
    texts = tuple(_text(int(digit), rng) for digit in np.asarray(digits.labels))
    return Dataset(
        "digits-words",
        digits.vectors,
        labels=digits.labels,
        images=digits.images,
        names=tuple(names[0] for names in NAMES),
        texts=texts,
        modalities={"image": digits.vectors, "text": texts},
    )


def _text(digit: int, rng: np.random.Generator) -> str:
    words = [name for name in NAMES[digit] if rng.random() < NAME_SHARE]
    words += [
        trait for trait, having in TRAITS.items() if digit in having and rng.random() < TRAIT_SHARE
    ]
    if rng.random() < WRONG_SHARE:
        other = NAMES[(digit + rng.integers(1, len(NAMES))) % len(NAMES)]
        words.append(other[rng.integers(len(other))])
    words += rng.choice(NOISE, rng.integers(1, 3), replace=False).tolist()
    return " ".join(words[i] for i in rng.permutation(len(words)))
