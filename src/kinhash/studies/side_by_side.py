"""`kinhash.compare`: several methods on the user's own arrays, measured side by side."""

import copy
import inspect
import shutil
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import sklearn.base

from kinhash.arguments import check_choice, check_integer
from kinhash.arrays import Array, Labels
from kinhash.codes import ORDERS, Order
from kinhash.datasets import Dataset, Split
from kinhash.datasets.user_files.fields import as_vectors
from kinhash.errors import ConstantColumnWarning, InvalidInputError, unknown_name
from kinhash.evaluation.fitting import Hasher
from kinhash.evaluation.neighbours import (
    evaluate_method_by_neighbours,
    evaluate_vectors_by_neighbours,
)
from kinhash.evaluation.protocol import evaluate_method, evaluate_raw
from kinhash.labels import check_complete, class_numbers, label_array, missing_rows
from kinhash.measures import OF_CODES
from kinhash.methods import METHODS, HashMethod, MultimodalMethod
from kinhash.metrics import METRICS, Metric
from kinhash.show.tables import Row, render
from kinhash.studies import own_methods
from kinhash.studies.records import AT_NEIGHBOURS, RAW, named

OTHERS = ("precision", "recall", "empty", "mean_matches")  # beside F1, within each radius


class Comparison(list[Row]):
    """What each method reached: one dict per method, which print as a table.

    `pandas.DataFrame(comparison)` makes a frame of it. Rates are fractions; the table shows them in
    percent.
    """

    def __str__(self) -> str:
        return render(self, "table", width=shutil.get_terminal_size().columns)

    def __repr__(self) -> str:
        return str(self)


def compare(
    methods: Iterable[str | type[Hasher] | Hasher],
    X: Any,  # noqa: ANN401 - any array-like
    y: Labels | None = None,
    *,
    n_bits: int = 64,
    seed: int = 0,
    n_train: int | None = None,
    n_query: int | None = None,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] | None = None,
    order: Order = "nested",
    metric: Metric = "cosine",
) -> Comparison:
    """Return what each method reaches on a random split of your data, as a table.

    Each is fitted on the training part of the split, and the database is searched with queries that
    it has never seen; see `Dataset.split`. Methods that take no labels are fitted on the vectors of
    the whole database. Without `y`, all are fitted on these alone, and measured by the share of
    each query's true 10 nearest vectors that they find.

    Args:
        methods: Names such as "sparsehash" (see `kinhash.methods.METHODS`); "l2" or "cosine" for
            the vectors themselves; import paths of your own classes, "module:Class"; classes; or
            unfitted instances, which are copied. Your own need `fit(X, y)`, or `fit(X)`, and
            `encode(X)`, which returns `kinhash.Codes`.
        X: `(n, d)` numbers.
        y: `(n,)` labels, a `(n, n_tags)` matrix of 0 and 1, or None.
        n_bits: Length of the codes, for names and classes that take it.
        seed: Of the split, and of names and classes that take it.
        n_train: Training items per class or tag, by default 200; without `y` in all, by default
            as many as there are.
        n_query: Queries per class or tag, by default 100; without `y` in all, by default 1,000.
            A sixth of each class at most.
        radii: Inclusive distances to measure within.
        at: Ranking lengths: of precision, by default 10; without `y` of recall, by default 100
            and 500.
        order: Of rankings by codes with rank bits, "nested" or "total".
        metric: Without `y`: what near means, "cosine" or "l2".

    Returns:
        A list of dicts in the order of `methods`, with the keys of `kinhash.metrics`. A method that
        refuses the data is left out, with a warning.

    Raises:
        InvalidInputError: A method is unknown or has no `fit` or `encode`, `X` or `y` cannot be
            used, an option is out of range, or all methods refuse the data.

    Example:
        >>> import kinhash
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> table = kinhash.compare(["lsh", "l2"], X, y, n_bits=32)
        >>> [(row["method"], row["n_bits"], row["map"] > 0.3) for row in table]
        [('LSH', 32, True), ('L2', None, True)]
    """
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InvalidInputError(f'`methods` must be a list, such as ["lsh"], got {methods!r}.')
    check_integer("n_bits", n_bits, 1)
    check_integer("seed", seed, 0)
    check_choice("order", order, ORDERS)
    check_choice("metric", metric, METRICS)
    chosen = [_chosen(one, n_bits, seed) for one in methods]
    if not chosen:
        raise InvalidInputError("`methods` must name at least one method, got none.")
    data = _dataset(X, y)
    part = data.split(seed, n_train=n_train, n_query=n_query)
    measured, refused = Comparison(), []
    for name, method in chosen:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantColumnWarning)
                if data.labels is None:
                    found = _without_labels(method, data, part, (radii, at), order, metric)
                else:
                    found = _with_labels(method, data, part, (radii, at), order)
        except InvalidInputError as error:
            refused.append(f"{name} is left out: {error}")
            continue
        length = None if isinstance(method, str) else _length(method)
        measured.append({"method": name, "n_bits": length, **found})
    if not measured:
        raise InvalidInputError(" ".join(refused))
    for sentence in refused:
        warnings.warn(sentence, stacklevel=2)
    return measured


Conditions = tuple[Sequence[int], Sequence[int] | None]  # radii, ranking lengths


def _with_labels(
    method: Hasher | Metric, data: Dataset, part: Split, conditions: Conditions, order: Order
) -> Row:
    """Return the measures that a table shows, in its order."""
    radii, lengths = conditions[0], (10,) if conditions[1] is None else conditions[1]
    if isinstance(method, str):
        metrics, _ = evaluate_raw(data, part, at=lengths, metric=method)
        seconds = 0.0
    else:
        found = evaluate_method(method, data, part, radii=radii, at=lengths, order=order)
        metrics, seconds = found.metrics, found.fit_seconds
    columns = [
        "map",
        *(f"mp@{k}" for k in lengths),
        *(f"f1@r{radius}" for radius in radii),
        *(f"{kind}@r{radius}" for radius in radii for kind in OTHERS),
        *OF_CODES,
    ]
    return {key: metrics[key] for key in columns if key in metrics} | {"fit_seconds": seconds}


def _without_labels(  # noqa: PLR0917 - what `compare` was asked
    method: Hasher | Metric,
    data: Dataset,
    part: Split,
    conditions: Conditions,
    order: Order,
    metric: Metric,
) -> Row:
    """Return the same, of the true neighbours."""
    radii, lengths = conditions[0], AT_NEIGHBOURS if conditions[1] is None else conditions[1]
    if isinstance(method, str):
        metrics, _ = evaluate_vectors_by_neighbours(
            data, part, ranked_by=method, at=lengths, metric=metric
        )
        return metrics | {"fit_seconds": 0.0}
    found = evaluate_method_by_neighbours(
        method, data, part, radii=radii, at=lengths, order=order, metric=metric
    )
    metrics = {key: value for key, value in found.metrics.items() if key != "sd_active"}
    return metrics | {"fit_seconds": found.fit_seconds}


def _chosen(
    one: str | type[Hasher] | Hasher, n_bits: int, seed: int
) -> tuple[str, Hasher | Metric]:
    """Return what a table calls a method, and the method itself or the metric of vectors."""
    parameters = {"n_bits": n_bits, "seed": seed}
    if isinstance(one, str):
        for metric in METRICS:
            if one == metric:
                return RAW[one], metric
        if one in METHODS:
            return METHODS[one].__name__, METHODS[one](**parameters)
        if not own_methods.is_path(one):
            raise unknown_name("method", one, (*METHODS, *RAW))
        kind = own_methods.load_class(one)
    elif inspect.isclass(one):
        kind = one
    else:
        return _copied(one)
    name = kind.__name__
    own_methods.check_face(kind, name)
    _check_one_modality(kind)
    made = own_methods.made(kind, name, parameters)
    return name, made if isinstance(made, HashMethod) else own_methods.Checked(made, name)


def _copied(method: Hasher) -> tuple[str, Hasher]:
    """Return the name and an unfitted copy of an instance, which stays as it is."""
    own_methods.check_face(type(method), type(method).__name__)
    _check_one_modality(type(method))
    if not isinstance(method, HashMethod):
        name = type(method).__name__
        return name, own_methods.Checked(copy.deepcopy(method), name)
    kind = type(method)
    usual = kind().stored_parameters()
    settings: dict[str, Any] = {"method": method.name}
    for key, value in method.stored_parameters().items():
        if key not in {"n_bits", "seed"} and value != usual[key]:
            is_method = isinstance(value, dict) and "method" in value
            settings[key] = {"method": value["method"]} if is_method else value
    known = METHODS.get(method.name) is kind
    return named(settings) if known else kind.__name__, sklearn.base.clone(method)


def _check_one_modality(kind: type[Any]) -> None:
    if issubclass(kind, MultimodalMethod):
        raise InvalidInputError(
            f"`methods` must take one kind of vectors, but {kind.__name__} takes several "
            "modalities. Compare those with kinhash reproduce."
        )


def _length(method: Hasher) -> int | None:
    """Return the method's number of bits, if it has one."""
    owner = method.method if isinstance(method, own_methods.Checked) else method
    n_bits = getattr(owner, "n_bits", None)
    return int(n_bits) if isinstance(n_bits, int | np.integer) else None


def _dataset(X: Any, y: Labels | None) -> Dataset:  # noqa: ANN401 - any array-like
    """Return `X` and `y` as a data set, or say why they cannot be one."""
    if scipy.sparse.issparse(X):
        raise InvalidInputError("`X` must be dense, got a sparse matrix. Pass X.toarray().")
    vectors = as_vectors(np.asarray(X), "`X`")
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise InvalidInputError(f"`X` must be finite, but row {row} has NaN or infinity.")
    labels = None if y is None else _labels(y)
    if labels is not None and len(labels) != len(vectors):
        raise InvalidInputError(f"`X` has {len(vectors)} rows but `y` has {len(labels)}.")
    return Dataset("X", vectors, labels=labels)


def _labels(y: Labels) -> Array:
    labels = label_array("`y`", y)
    check_complete("`y`", missing_rows(labels), drop="Drop those rows from `X` and `y`")
    if scipy.sparse.issparse(labels):
        matrix: Any = labels
        labels = np.asarray(matrix.toarray())
    if labels.ndim == 1:
        return class_numbers(labels).astype(np.int64)
    if labels.ndim != 2 or not np.isin(labels, (0, 1)).all():
        raise InvalidInputError(
            "`y` must hold one label per row, or a matrix of 0 and 1 with a column per tag, "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    return np.asarray(labels, np.uint8)
