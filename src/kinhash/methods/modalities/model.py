"""`MultimodalMethod`: what methods with several modalities share: fit, encode, files."""

import os
import reprlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash import storage
from kinhash.arrays import Array, Labels, Matrix, Vectors
from kinhash.codes import Codes
from kinhash.encoders import Encoder, is_sparse, restored_encoder
from kinhash.encoders.frames import as_modality
from kinhash.errors import FormatError, InvalidInputError, unknown_name
from kinhash.methods.modalities.modality import Modality, as_rows, read_modalities
from kinhash.methods.model import ENTRIES, Model
from kinhash.pairs import Pairs
from kinhash.vocabulary import N_WORDS, Words, are_texts

# The values of a mixed dict, such as an array and a list of texts, have no type in common but
# `object` in the eyes of mypy: hence Any.
AnyLabels = Labels | Mapping[str, Any] | None
AnyPairs = Pairs | Mapping[Any, Pairs] | None


class MultimodalMethod(Model):
    """A method that learns an encoder for each modality, all into one space of codes.

    Attributes:
        encoders_: The fitted `Encoder` of each modality, by name.
        words_: The vocabulary of each modality that was fitted on texts, by name.
        history_: What was measured during training, one dict per look.
    """

    encoders_: dict[str, Encoder]
    words_: dict[str, Words]

    n_words: int = N_WORDS

    def _learn(self, modalities: dict[str, Modality], y: AnyLabels, pairs: AnyPairs) -> None:
        """Set `encoders_` and `history_`."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def fit(
        self,
        X: Mapping[str, Any],
        y: AnyLabels = None,
        *,
        pairs: AnyPairs = None,
    ) -> Self:
        """Learn from several modalities and what is similar in them; returns self.

        After an exception or Ctrl-C the method is as it was.

        Args:
            X: By name of the modality: `(n, n_features)` numbers, a sparse matrix, or texts. Row i
                of each is item i. An item lacks a modality where its row is NaN throughout, has no
                entry (sparse), or no word.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag), of the
                items. Or a dict with the labels of the rows of a modality: rows need not be paired
                then, and without pairing none may be left out. Without `y` and `pairs`, the views
                of one item are similar, and items near to one another in a modality.
            pairs: Explicit similar and dissimilar pairs of items, instead of `y`. Or a dict:
                `pairs["image"]` are pairs of rows of that modality, and `pairs["image", "text"]`,
                made by `Pairs.across`, of rows of two.

        Raises:
            InvalidInputError: A parameter, a modality or the labels cannot be used.
        """
        with self._unchanged_on_failure():
            self._check_parameters()
            modalities = read_modalities(X, n_words=self.n_words)
            self.words_ = {name: m.words for name, m in modalities.items() if m.words is not None}
            self._learn(modalities, y, pairs)
        return self

    @property
    def modalities(self) -> tuple[str, ...]:
        """The names of the modalities, in the order of `fit`."""
        self._check_fitted()
        return tuple(self.encoders_)

    def encode(self, X: Vectors, *, modality: str, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows of `X`.

        A sparse row without an entry, or a text without a known word, has the empty code.

        Args:
            X: `(n, n_features)` numbers, a sparse matrix, or texts if it was fitted on texts.
            modality: Which one it is.
            n_threads: Threads to use; all cores by default.

        Raises:
            NotFittedError: `fit` has not been called.
            InvalidInputError: There is no such modality, another width, or a row with NaN or
                infinity.
        """
        encoder, rows = self._encoder(modality), self._rows(X, modality)
        codes = encoder.encode(rows, n_threads=n_threads)
        if not is_sparse(rows):
            return codes
        empty = np.diff(rows.indptr) == 0
        if not empty.any():
            return codes
        words = codes.words.copy()
        words[empty] = 0
        ranks = codes.rank_words.copy()
        ranks[empty] = 0
        return Codes(
            words,
            codes.n_bits,
            signed=codes.signed,
            rank_words=ranks,
            n_rank_bits=codes.n_rank_bits,
        )

    def has_content(self, X: Vectors, *, modality: str) -> npt.NDArray[np.bool_]:
        """Return a boolean per row: whether there is anything to search with, such as a known word.

        Raises:
            NotFittedError: `fit` has not been called.
            InvalidInputError: There is no such modality.
        """
        rows = self._rows(X, modality)
        if is_sparse(rows):
            filled: npt.NDArray[np.bool_] = np.diff(rows.indptr) > 0
            return filled
        return np.ones(len(rows), bool)

    def _encoder(self, modality: str) -> Encoder:
        self._check_fitted()
        if modality not in self.encoders_:
            raise unknown_name("modality", str(modality), tuple(self.encoders_))
        return self.encoders_[modality]

    def _rows(self, X: Vectors, modality: str) -> Matrix:
        encoder = self._encoder(modality)
        X = as_modality(X)
        if modality in self.words_ and are_texts(X):
            return self.words_[modality].bags(X)
        if are_texts(X):
            raise InvalidInputError(
                f"Modality {modality!r} was fitted on vectors of {encoder.n_features} numbers, not "
                "on texts. Turn the texts into the same vectors, or fit on texts."
            )
        rows = as_rows(modality, X)
        if rows.shape[1] != encoder.n_features:
            raise InvalidInputError(
                f"{modality!r} has {rows.shape[1]} columns, but the encoder takes vectors of "
                f"{encoder.n_features} numbers."
            )
        return rows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; an interrupted save leaves the old file."""
        self._check_fitted()
        described = {}
        arrays: dict[str, Array] = {}
        for name, encoder in self.encoders_.items():
            words = self.words_.get(name)
            described[name] = {
                "encoder": encoder.kind,
                "settings": encoder.settings(),
                "words": None if words is None else list(words.words),
            }
            arrays |= {f"{name}/{key}": array for key, array in encoder.arrays().items()}
        # A list keeps the order, which a sorted JSON object would not.
        header = self._header() | {"modalities": [[name, one] for name, one in described.items()]}
        storage.write(path, header, arrays)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the model that `save` wrote; see `kinhash.load`."""
        storage.check_names("entry", header, [*ENTRIES, "modalities"])
        model = cls._from_header(header)
        model.encoders_, model.words_ = {}, {}
        known = []
        for name, described in _named_modalities(storage.value(header, "modalities", list)):
            own = {
                key.removeprefix(f"{name}/"): array
                for key, array in arrays.items()
                if key.startswith(f"{name}/")
            }
            known += [f"{name}/{key}" for key in own]
            encoder = restored_encoder(described, own)
            model._check_length(encoder.n_bits)  # noqa: SLF001 - its own class
            words = storage.value(described, "words", list, type(None))
            if words is not None:
                model.words_[name] = _restored_words(name, words, encoder)
            model.encoders_[name] = encoder
        storage.check_names("array", arrays, known)
        if len({encoder.signed for encoder in model.encoders_.values()}) != 1:
            raise FormatError("some modalities have signed codes and some unsigned ones.")
        if len({encoder.n_rank_bits for encoder in model.encoders_.values()}) != 1:
            raise FormatError("the codes of some modalities have more rank bits than others.")
        return model


def _named_modalities(modalities: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the names of modalities and what a file says of each, once that is known to be so."""
    for pair in modalities:
        if type(pair) is not list or [type(part) for part in pair] != [str, dict]:
            raise FormatError(
                "`modalities` must be a list of pairs of a name and an object, "
                f"the file has {reprlib.repr(pair)} in it."
            )
        storage.check_names("entry", pair[1], ["encoder", "settings", "words"])
    names = [name for name, _ in modalities]
    if not names or len(set(names)) < len(names) or any(not n or "/" in n for n in names):
        raise FormatError(
            "`modalities` must be one or more, with different names that have no slash, "
            f"the file has {reprlib.repr(names)}."
        )
    return [(name, described) for name, described in modalities]


def _restored_words(name: str, words: list[Any], encoder: Encoder) -> Words:
    texts = all(isinstance(word, str) for word in words)
    if not texts or len(set(words)) != encoder.n_features or len(words) != encoder.n_features:
        raise FormatError(
            f"the vocabulary of {name!r} must be {encoder.n_features} different words, one for "
            "each column of its encoder."
        )
    return Words(tuple(words))


def two_modalities(method: str, modalities: Mapping[str, Modality]) -> tuple[Modality, Modality]:
    """Return the two modalities of a method that takes no more.

    Raises:
        InvalidInputError: There are others.
    """
    if len(modalities) != 2:
        raise InvalidInputError(
            f"{method} takes two modalities, got {', '.join(map(repr, modalities))}. Use "
            "MultimodalSparseHash for any number."
        )
    first, second = modalities.values()
    return first, second
