"""Use codes inside scikit-learn: a pipeline, a grid search, and a scorer for codes themselves."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kinhash import SparseHash
from kinhash.metrics import evaluate_codes

X, y = load_digits(return_X_y=True)
X = X[:, X.std(axis=0) > 1]  # some pixels hardly vary; fit would say so
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# `transform` gives a sparse int8 matrix; its l1 distance is the distance of the buckets.
pipeline = make_pipeline(SparseHash(), KNeighborsClassifier(5, metric="l1"))
accuracy = pipeline.fit(X_train, y_train).score(X_test, y_test)
print(f"accuracy of 5 neighbours by code: {accuracy:.3f}")


def mean_average_precision(model: SparseHash, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mAP of searching one half of the held-out rows with the other."""
    codes = model.encode(X)
    return evaluate_codes(codes[::2], y[::2], codes[1::2], y[1::2])["map"]


search = GridSearchCV(
    SparseHash(),
    {"n_rank_bits": [0, 16]},
    scoring=mean_average_precision,
    cv=2,
).fit(X_train, y_train)
print(f"best by mAP: {search.best_params_}, {search.best_score_:.3f}")
