"""Use codes inside scikit-learn: a pipeline, a grid search, and a scorer for codes themselves."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kinhash import SparseHash
from kinhash.metrics import evaluate_codes

X, y = load_digits(return_X_y=True)
X = X[:, 16:48]  # the middle of the image, where every pixel varies
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# `transform` gives a sparse int8 matrix; its l1 distance is the distance of the codes.
pipeline = make_pipeline(SparseHash(max_steps=200), KNeighborsClassifier(5, metric="l1"))
print(
    f"accuracy of 5 neighbours by code: {pipeline.fit(X_train, y_train).score(X_test, y_test):.3f}"
)


def mean_average_precision(model, X, y):
    """Return the mAP of searching one half of the held-out rows with the other."""
    codes = model.encode(X)
    return evaluate_codes(codes[::2], y[::2], codes[1::2], y[1::2])["map"]


search = GridSearchCV(
    SparseHash(max_steps=200),
    {"margin": [7, 14], "n_bits": [32, 64]},
    scoring=mean_average_precision,
    cv=3,
).fit(X_train, y_train)
print(f"best by mAP: {search.best_params_}, {search.best_score_:.3f}")
