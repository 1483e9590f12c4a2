"""`Words`: texts as bags of their most frequent words."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Self, TypeGuard

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

from kinhash.arrays import Matrix
from kinhash.errors import InvalidInputError

N_WORDS = 1000  # as many tags as the paper's


@dataclasses.dataclass(frozen=True)
class Words:
    """A vocabulary: which word is which column.

    A word is two or more letters or digits; capitals do not matter.

    Attributes:
        words: One word per column, in alphabetical order.

    Example:
        >>> words = Words.of(["red shoes", "blue shoes", "red hat"], n_words=2)
        >>> words.words
        ('red', 'shoes')
        >>> words.bags(["Shoes, red shoes!", "green"]).toarray().tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str], *, n_words: int = N_WORDS) -> Self:
        """Return the `n_words` most frequent words of the texts.

        Raises:
            InvalidInputError: A text is no string, or no text has any word.
        """
        texts = check_texts(texts)
        try:
            found = CountVectorizer(max_features=n_words).fit(texts)
        except ValueError as error:  # an empty vocabulary
            raise InvalidInputError(
                f"None of the {len(texts)} texts has a word of two or more letters."
            ) from error
        return cls(tuple(found.get_feature_names_out().tolist()))

    def __len__(self) -> int:
        return len(self.words)

    def bags(self, texts: Iterable[str]) -> scipy.sparse.csr_array:
        """Return a row per text, float32: 1 for each word that it has; other words are ignored.

        Raises:
            InvalidInputError: A text is no string.
        """
        counter = CountVectorizer(vocabulary=self.words, binary=True, dtype=np.float32)
        return scipy.sparse.csr_array(counter.transform(check_texts(texts)))

    def of_bag(self, bag: Matrix) -> list[str]:
        """Return the words of one row of `bags`."""
        row = scipy.sparse.csr_array(bag).reshape((1, -1))
        return [self.words[column] for column in np.sort(row.nonzero()[1])]


def check_texts(texts: Iterable[str]) -> Sequence[str]:
    """Return the texts as a list.

    Raises:
        InvalidInputError: They are a single text, or one of them is no text.
    """
    if isinstance(texts, str):
        raise InvalidInputError(f"Texts must be a list of strings, got one string, {texts[:40]!r}.")
    listed = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"Texts must be strings, got {type(text).__name__} in row {row}. Use '' where an "
                "item has no text."
            )
    return listed


def are_texts(values: object) -> TypeGuard[Sequence[str]]:
    """Return whether these are texts rather than vectors: a list, tuple or array of strings."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and values.dtype.kind in "UTO"
    return isinstance(values, list | tuple) and any(isinstance(value, str) for value in values)
