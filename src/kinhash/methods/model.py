"""What every hashing method shares: checked input, codes, scikit-learn's face, files."""

import contextlib
import math
import os
import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
import sklearn.exceptions
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from kinhash import storage
from kinhash.arrays import Array, Labels, Matrix, Vectors
from kinhash.calibration import Calibration
from kinhash.codes import Codes
from kinhash.encoders import Encoder, check_finite, is_sparse, restored_encoder
from kinhash.encoders.frames import as_vectors
from kinhash.errors import FormatError, InvalidInputError, NotFittedError
from kinhash.methods.folds import cross_calibration
from kinhash.pairs import Pairs

# What the header of every model has.
ENTRIES = ("format", "kinhash", "kind", "method", "parameters", "history")
OF_ONE_ENCODER = (*ENTRIES, "feature_names", "calibration")
_CALIBRATION = "calibration/"  # what the names of its arrays begin with

if TYPE_CHECKING:
    # scikit-learn has no types: a base class of type Any would let every misspelt name pass.

    class BaseEstimator:
        """What users and this package call of scikit-learn's class of that name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102, FBT001, FBT002
        def set_params(self, **parameters: Any) -> Self: ...  # noqa: ANN401, D102 - of any type
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def __sklearn_tags__(self) -> Tags: ...

    class TransformerMixin:
        """The same of this one."""

        def fit_transform(self, X: Vectors, y: Labels | None = None) -> scipy.sparse.csr_matrix: ...  # noqa: D102

else:
    from sklearn.base import BaseEstimator, TransformerMixin


class _SklearnNotFittedError(NotFittedError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]  # untyped
    """Ours, which scikit-learn takes for its own; `kinhash.errors` stays free of that import."""


class Model(BaseEstimator):
    """What every method shares, whatever it takes in: it is fitted or not, and has a file.

    Attributes:
        history_: What was measured during training, one dict per look; empty if not iterative.
    """

    name: ClassVar[str]  # in METHODS, files and the command line

    history_: list[dict[str, float]]

    @contextlib.contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Put all attributes back if the block fails, or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _SklearnNotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call fit, or load a model."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters as files have them: plain values, lists and dicts."""
        return self.get_params(deep=False)

    def default_parameters(self) -> dict[str, Any]:
        """Return what the parameters are when nobody says, as files have them."""
        return type(self)().stored_parameters()

    def _header(self) -> dict[str, Any]:
        """Return what the file of every model says."""
        return {
            "kind": "model",
            "method": self.name,
            "parameters": self.stored_parameters(),
            "history": [_finite(record) for record in self.history_],
        }

    @classmethod
    def _from_header(cls, header: dict[str, Any]) -> Self:
        """Return the model that `_header` described, without its encoders."""
        model = cls._from_parameters(storage.value(header, "parameters", dict))
        history = storage.value(header, "history", list)
        for look in history:
            if type(look) is not dict or not all(_is_measure(one) for one in look.values()):
                raise FormatError(
                    "`history` must be a list of objects of numbers, "
                    f"the file has {reprlib.repr(look)} in it."
                )
        model.history_ = history
        return model

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Return the unfitted model that `stored_parameters` described."""
        known = cls._get_param_names()
        unknown = sorted(set(parameters) - set(known))
        if unknown:
            raise FormatError(
                f"{cls.__name__} has no parameter {reprlib.repr(unknown[0])}; this release knows "
                f"{', '.join(known)}. Upgrade kinhash."
            )
        return cls(**parameters)

    def _check_length(self, n_bits: int) -> None:
        """Raise FormatError unless the encoder of a file has as many bits as its parameters say."""
        said = self.get_params()["n_bits"]
        if type(said) is not int or said != n_bits:
            raise FormatError(
                f"the parameter `n_bits` must be {n_bits}, as the encoder has it, "
                f"the file has {reprlib.repr(said)}."
            )


def _is_measure(value: object) -> bool:
    return type(value) in {bool, int, type(None)} or (type(value) is float and math.isfinite(value))


class HashMethod(TransformerMixin, Model):
    """A method that learns codes: `fit` leaves an encoder, and everything else uses that.

    Attributes:
        encoder_: The fitted `Encoder`.
        history_: What was measured during training, one dict per look; empty if not iterative.
        calibration_: How likely two items at a distance are similar, a `Calibration`, from rows
            that the encoder has not learned from; None where `fit` holds no rows back: see
            `calibrate`.
        n_features_in_: Width of the training vectors.
    """

    unsupervised: ClassVar[bool] = False  # learns from vectors alone, so all there are may serve
    _takes_sparse: ClassVar[bool] = False

    encoder_: Encoder
    calibration_: Calibration | None = None
    n_features_in_: int
    feature_names_in_: Array  # only if the columns of the training vectors had names

    def fit(self, X: npt.ArrayLike, y: Labels | None = None) -> Self:
        """Learn from vectors, and from labels if the method uses them; returns self."""
        raise NotImplementedError

    def encode(self, X: Vectors, *, n_threads: int | None = None) -> Codes:
        """Return the codes of the rows of `X`.

        Args:
            X: `(n, n_features)` numbers; memory-mapped arrays are read a chunk at a time. A sparse
                matrix where the method was fitted on one.
            n_threads: Threads to use; all cores by default.

        Raises:
            NotFittedError: `fit` has not been called.
            InvalidInputError: Another width, or a row with NaN or infinity.
        """
        self._check_fitted()
        return self.encoder_.encode(self._checked(X, reset=False), n_threads=n_threads)

    def transform(self, X: Vectors) -> scipy.sparse.csr_matrix:
        """Return the codes as a sparse int8 matrix, `(n, n_bits)`, of 0/1 or -1/0/1.

        Of codes with rank bits, it is the bucket.
        """
        return scipy.sparse.csr_matrix(self.encode(X).to_dense())

    def calibrate(
        self,
        X: Vectors,
        y: Labels | None = None,
        *,
        pairs: Pairs | None = None,
        n_folds: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Set `calibration_` from rows that `fit` has not seen; returns self.

        Rows that it has learned from would promise too much. If there are no others, `n_folds`
        makes do with these: the method is fitted again that often, each time without a part of
        them, which is what it is then calibrated with.

        Args:
            X: `(n, n_features)` vectors.
            y: `(n,)` labels, or an `(n, n_tags)` matrix of 0 and 1 (similar: a tag in common).
            pairs: Pairs of rows, instead of `y`.
            n_folds: Parts of rows that `fit` has seen, 2 or more; with `y`. By default none: the
                rows are new.
            seed: Draws rows where there are more than 3,000, and the parts.

        Raises:
            NotFittedError: `fit` has not been called.
            InvalidInputError: Vectors or labels cannot be used, or all pairs are similar, or none.
        """
        if (y is None) == (pairs is None):
            raise InvalidInputError("Give either `y` or `pairs` to calibrate with.")
        if n_folds is not None:
            if y is None:
                raise InvalidInputError("`n_folds` goes with `y`, which is None.")
            self._check_fitted()
            self.calibration_ = cross_calibration(
                self, self._checked(X, reset=False), y, n_folds=n_folds, seed=seed
            )
            return self
        similar: Any = y if pairs is None else pairs
        self.calibration_ = Calibration.from_codes(
            self.encode(X), similar, seed=seed, made_by=self.encoder_.fingerprint
        )
        return self

    def radius_for(self, *, precision: float, similar_share: float | None = None) -> int:
        """Return the largest radius within which this share of what is found is similar.

        Args:
            precision: Of all answers together, greater than 0 and at most 1.
            similar_share: The share of similar ones among all pairs of a query and an item; by
                default that of the rows that the model was calibrated with.

        Raises:
            NotFittedError: `fit` has not been called.
            InvalidInputError: The model is not calibrated, or its codes do not reach that
                precision: then it says which they reach.
        """
        self._check_fitted()
        if self.calibration_ is None:
            raise InvalidInputError(
                f"This {type(self).__name__} is not calibrated: `fit` has held no labelled rows "
                "back. Call calibrate(X, y) with rows that it has not seen."
            )
        return self.calibration_.radius_for(precision=precision, similar_share=similar_share)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; an interrupted save leaves the old file."""
        self._check_fitted()
        arrays = dict(self.encoder_.arrays())
        if self.calibration_ is not None:
            arrays |= {f"{_CALIBRATION}{k}": a for k, a in self.calibration_.arrays().items()}
        storage.write(path, self._header(), arrays)

    def _header(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        header = super()._header() | {
            **self._described_encoder(),
            "feature_names": None if names is None else [str(name) for name in names],
        }
        if self.calibration_ is not None:
            header["calibration"] = self.calibration_.header()
        return header

    def _described_encoder(self) -> dict[str, Any]:
        return {"encoder": self.encoder_.kind, "settings": self.encoder_.settings()}

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the model that `save` wrote; see `kinhash.load`."""
        storage.check_names("entry", header, [*OF_ONE_ENCODER, "encoder", "settings"])
        model = cls._from_header(header)
        own, calibration = without_calibration(arrays)
        model.encoder_ = restored_encoder(header, own)
        model._restore_rest(header, calibration)  # noqa: SLF001 - its own class
        return model

    def _restore_rest(self, header: dict[str, Any], calibration: dict[str, Array]) -> None:
        """Set all that has to fit the encoder, once there is one."""
        self._check_length(self.encoder_.n_bits)
        self._restore_features(header)
        if "calibration" not in header:
            storage.check_names("array", calibration, ())
            return
        self.calibration_ = Calibration.restored(
            storage.value(header, "calibration", dict),
            calibration,
            n_bits=self.encoder_.n_bits,
            n_rank_bits=self.encoder_.n_rank_bits,
            signed=self.encoder_.signed,
        )

    def _restore_features(self, header: dict[str, Any]) -> None:
        """Set how many columns the vectors have, and their names, once there is an encoder."""
        self.n_features_in_ = self.encoder_.n_features
        names = storage.value(header, "feature_names", list, type(None))
        if names is None:
            return
        if len(names) != self.n_features_in_ or not all(type(name) is str for name in names):
            raise FormatError(
                f"`feature_names` must be null or {self.n_features_in_} strings, one for each "
                f"column of the encoder, the file has {reprlib.repr(names)}."
            )
        self.feature_names_in_ = np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are int8, whatever comes in
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _checked(self, X: Vectors, *, reset: bool) -> Matrix:
        """Return `X` as a 2-D array of numbers, not copied if it can be helped; or as csr.

        Whether it is finite is left to whoever reads it next, chunk by chunk. With `reset`, what
        an earlier fit has left is no longer valid.
        """
        X, named = as_vectors(X)
        if is_sparse(X) and not self._takes_sparse:
            raise InvalidInputError(
                f"`X` is sparse, but {type(self).__name__} takes dense vectors only. "
                "Convert it with X.toarray()."
            )
        expected: dict[str, Any] = {
            "dtype": "numeric",
            "accept_sparse": "csr" if self._takes_sparse else False,
            "ensure_all_finite": False,
            "ensure_min_samples": 2 if reset else 0,
        }
        try:
            if named is None:
                checked = validate_data(self, X, reset=reset, **expected)
            else:
                validate_data(self, named, reset=reset, skip_check_array=True)
                checked = check_array(X, estimator=self, input_name="X", **expected)
        except ValueError as error:
            if "could not convert" in str(error):
                raise InvalidInputError(f"`X` must hold numbers: {error}.") from error
            if "bytes/strings" in str(error):
                raise InvalidInputError("`X` must hold numbers, got text.") from error
            raise InvalidInputError(str(error)) from error
        if reset:
            self.calibration_ = None
        if not is_sparse(checked):
            return np.asarray(checked)
        rows = scipy.sparse.csr_array(checked)
        check_finite(rows)
        return rows


def without_calibration(arrays: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the arrays of an encoder, and those of a calibration without their prefix."""
    own = {name: one for name, one in arrays.items() if not name.startswith(_CALIBRATION)}
    rest = {name.removeprefix(_CALIBRATION): arrays[name] for name in arrays if name not in own}
    return own, rest


def _finite(record: dict[str, float]) -> dict[str, float | None]:
    """Return the record with None for what JSON has no number for."""
    return {name: value if math.isfinite(value) else None for name, value in record.items()}
