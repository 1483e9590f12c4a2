"""`Nested`: the codes of one method as buckets, and those of another to order what is in them."""

import inspect
import reprlib
import warnings
from typing import Any, ClassVar, Self

from sklearn.base import clone

from kinhash import storage
from kinhash.arguments import check_integer
from kinhash.arrays import Array, Labels, Vectors
from kinhash.codes import MAX_BITS
from kinhash.encoders import NestedEncoder
from kinhash.errors import ConstantColumnWarning, FormatError, InvalidInputError
from kinhash.methods.model import OF_ONE_ENCODER, HashMethod, without_calibration
from kinhash.methods.rivals.agh import AGH
from kinhash.methods.rivals.classcode import ClassCode
from kinhash.methods.rivals.csr import CSR
from kinhash.methods.rivals.dh import DH
from kinhash.methods.rivals.flyhash import FlyHash
from kinhash.methods.rivals.fsdh import FSDH
from kinhash.methods.rivals.itq import ITQ
from kinhash.methods.rivals.ksh import KSH
from kinhash.methods.rivals.lsh import LSH
from kinhash.methods.rivals.nnhash import NNHash
from kinhash.methods.rivals.orthohash import OrthoHash
from kinhash.methods.rivals.ssh import SSH
from kinhash.methods.sparsehash import SparseHash
from kinhash.pairs import Pairs

FLAT_METHODS: dict[str, type[HashMethod]] = {
    m.name: m
    for m in (
        AGH,
        ClassCode,
        CSR,
        DH,
        FlyHash,
        FSDH,
        ITQ,
        KSH,
        LSH,
        NNHash,
        OrthoHash,
        SparseHash,
        SSH,
    )
}
"""The methods whose codes have one part, by name: what a `Nested` is made of."""

SET_BY_NESTED = ("n_bits", "n_rank_bits", "seed")  # parameters of the parts
_FROM_VECTORS = (AGH, FlyHash, ITQ, LSH)  # learn from vectors alone


class Nested(HashMethod):
    """Stacks two methods: the bucket decides what is found, the rank where it stands.

    A code is the bucket, `n_bits - n_rank_bits` bits of one method, followed by `n_rank_bits` rank
    bits of another. Radii, lookups and groups see only the bucket; among items at the same
    distance, those with the nearer rank bits come first. So the bucket may be coarse, with many
    items in each, and the answers still have an order.

    `fit` fits clones of both methods, whose `n_bits` and `seed` it sets; and `n_rank_bits` to 0.

    Args:
        bucket: A method for the bucket, best a sparse one; `ClassCode()` if left at None.
        rank: A method for the rank bits, of unsigned codes; `ITQ()` if left at None.
        n_bits: Length of the codes, bucket and rank, 2 to 4,096.
        n_rank_bits: How many of them are rank bits.
        seed: Of both methods, where they have one.

    Attributes:
        bucket_: The fitted method of the bucket.
        rank_: The fitted method of the rank bits.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> X = X[:, X.std(axis=0) > 0]
        >>> model = Nested(ClassCode(levels=3), ITQ(), n_bits=62).fit(X[:1000], y[:1000])
        >>> codes = model.encode(X)
        >>> codes.n_bucket_bits, codes.n_rank_bits, codes.n_unique < 100
        (30, 32, True)
    """

    name = "nested"
    DEFAULTS: ClassVar[dict[str, type[HashMethod]]] = {"bucket": ClassCode, "rank": ITQ}

    bucket_: HashMethod
    rank_: HashMethod

    def __init__(
        self,
        bucket: HashMethod | None = None,
        rank: HashMethod | None = None,
        n_bits: int = 64,
        n_rank_bits: int = 32,
        seed: int = 0,
    ) -> None:
        self.bucket = bucket
        self.rank = rank
        self.n_bits = n_bits
        self.n_rank_bits = n_rank_bits
        self.seed = seed

    def fit(self, X: Vectors, y: Labels | None = None, *, pairs: Pairs | None = None) -> Self:
        """Learn both parts from the same vectors; returns self.

        A method that learns from vectors alone, such as ITQ or LSH, gets nothing else. After an
        exception or Ctrl-C the method is as it was.

        Args:
            X: `(n, n_features)` numbers.
            y: As both methods take it: `(n,)` class labels or an `(n, n_tags)` 0/1 matrix.
            pairs: Explicit pairs of rows, instead of `y`, where both methods take them.

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
        """
        with self._unchanged_on_failure():
            parts = self._checked_parts()
            vectors = self._checked(X, reset=True)
            for part, method in parts.items():
                _check_pairs(part, method, pairs)
            self.bucket_ = _fitted(parts["bucket"], vectors, y, pairs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantColumnWarning)  # the bucket has warned
                self.rank_ = _fitted(parts["rank"], vectors, y, pairs)
            self.bucket_.calibration_ = self.rank_.calibration_ = None  # of parts of these codes
            self.encoder_ = NestedEncoder.of(self.bucket_.encoder_, self.rank_.encoder_)
            self.history_ = []
        return self

    def _checked_parts(self) -> dict[str, HashMethod]:
        """Return unfitted methods of the right lengths, by part."""
        check_integer("n_bits", self.n_bits, 2, MAX_BITS)
        check_integer("n_rank_bits", self.n_rank_bits, 1, self.n_bits - 1)
        check_integer("seed", self.seed, 0)
        lengths = {"bucket": self.n_bits - self.n_rank_bits, "rank": self.n_rank_bits}
        parts = {}
        for part, n_bits in lengths.items():
            method = getattr(self, part)
            if method is None:
                method = self.DEFAULTS[part]()
            if not isinstance(method, HashMethod) or isinstance(method, Nested):
                what = "another Nested" if isinstance(method, Nested) else repr(method)
                raise InvalidInputError(
                    f"`{part}` must be a method with codes of one part, such as "
                    f"{self.DEFAULTS[part].__name__}(), or None, got {what}."
                )
            known = method.get_params(deep=False)
            given = {"n_bits": n_bits, "n_rank_bits": 0, "seed": self.seed}
            if known.get("n_rank_bits"):
                raise InvalidInputError(
                    f"`{part}` must be a method with codes of one part, got "
                    f"{known['n_rank_bits']} as its `n_rank_bits`. Leave that out."
                )
            parts[part] = clone(method).set_params(
                **{name: value for name, value in given.items() if name in known}
            )
        if getattr(parts["rank"], "signed", False):
            raise InvalidInputError(
                "`rank` must be a method of unsigned codes, got one with signed=True. "
                "Set signed=False."
            )
        n_stored = self.n_bits + lengths["bucket"] * bool(getattr(parts["bucket"], "signed", False))
        if n_stored > MAX_BITS:
            raise InvalidInputError(
                f"`n_bits` must be such that at most {MAX_BITS} bits are stored, got {n_stored}: "
                "each entry of a signed bucket takes two. Lower `n_bits`, or set signed=False."
            )
        return parts

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters as files have them; a method as its name and its parameters."""
        parameters = self.get_params(deep=False)
        for part in self.DEFAULTS:
            method = parameters[part]
            if isinstance(method, HashMethod):
                parameters[part] = {
                    "method": method.name,
                    "parameters": method.stored_parameters(),
                }
        return parameters

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        methods = {
            part: _unfitted(part, parameters[part])
            for part in cls.DEFAULTS
            if parameters.get(part) is not None
        }
        return super()._from_parameters(parameters | methods)

    def _described_encoder(self) -> dict[str, Any]:
        return {part: getattr(self, f"{part}_")._header() for part in self.DEFAULTS}  # noqa: SLF001 - its base

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the model that `save` wrote; see `kinhash.load`."""
        storage.check_names("entry", header, [*OF_ONE_ENCODER, *cls.DEFAULTS])
        model = cls._from_header(header)
        arrays, calibration = without_calibration(arrays)
        known = []
        for part in cls.DEFAULTS:
            own = {
                key.removeprefix(f"{part}/"): array
                for key, array in arrays.items()
                if key.startswith(f"{part}/")
            }
            known += [f"{part}/{key}" for key in own]
            described = storage.value(header, part, dict)
            method = _named(storage.value(described, "method", str))
            try:
                setattr(model, f"{part}_", method._restore(described, own))  # noqa: SLF001 - its base
            except FormatError as error:
                raise FormatError(f"the {part}: {error}") from error
        storage.check_names("array", arrays, known)
        bucket, rank = model.bucket_.encoder_, model.rank_.encoder_
        model.encoder_ = NestedEncoder.checked(bucket, rank)
        if type(model.n_rank_bits) is not int or model.n_rank_bits != rank.n_bits:
            raise FormatError(
                f"the parameter `n_rank_bits` must be {rank.n_bits}, as the rank has it, "
                f"the file has {reprlib.repr(model.n_rank_bits)}."
            )
        model._restore_rest(header, calibration)  # noqa: SLF001 - its own class
        return model


def _fitted(
    method: HashMethod, vectors: Array, y: Labels | None, pairs: Pairs | None
) -> HashMethod:
    if isinstance(method, _FROM_VECTORS):
        return method.fit(vectors)
    if pairs is not None:
        return method.fit(vectors, y, pairs=pairs)  # type: ignore[call-arg]  # those that take them
    return method.fit(vectors, y)


def _check_pairs(part: str, method: HashMethod, pairs: Pairs | None) -> None:
    if pairs is None or isinstance(method, _FROM_VECTORS):
        return
    if "pairs" not in inspect.signature(method.fit).parameters:
        raise InvalidInputError(
            f"`pairs` were given, but the {part}, {type(method).__name__}, does not learn from "
            "pairs. Pass labels, or choose another method, such as SparseHash or NNHash."
        )


def _named(name: str) -> type[HashMethod]:
    if name not in FLAT_METHODS:
        raise FormatError(
            f"a part is a {reprlib.repr(name)}; this release knows the methods "
            f"{', '.join(sorted(FLAT_METHODS))}. Upgrade kinhash."
        )
    return FLAT_METHODS[name]


def _unfitted(part: str, described: object) -> HashMethod:
    """Return the method that a file describes by its name and its parameters."""
    if type(described) is not dict or set(described) != {"method", "parameters"}:
        raise FormatError(
            f"the parameter `{part}` must be null or an object with `method` and `parameters`, "
            f"the file has {reprlib.repr(described)}."
        )
    method = _named(storage.value(described, "method", str))
    return method._from_parameters(storage.value(described, "parameters", dict))  # noqa: SLF001 - its base
