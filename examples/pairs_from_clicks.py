"""Learn from pairs that users clicked together, with no labels at all."""

import itertools

import numpy as np
from sklearn.datasets import make_blobs

from kinhash import Pairs, SparseHash
from kinhash.metrics import evaluate_codes

rng = np.random.default_rng(0)
X, topic = make_blobs(1500, n_features=20, centers=10, cluster_std=8.0, random_state=1)
queries, items = slice(0, 200), slice(200, None)

# What a log holds: the items of each session. Here a visitor follows one topic, which the model
# is never told, and one click in twenty is an accident.
sessions = []
for _ in range(2000):
    wanted = np.flatnonzero(topic[items] == rng.integers(10))
    clicks = rng.choice(wanted, 3, replace=False)
    accidents = rng.random(3) < 0.05
    sessions.append(np.where(accidents, rng.integers(0, 1300, 3), clicks))

clicked = {tuple(sorted(pair)) for s in sessions for pair in itertools.combinations(s.tolist(), 2)}
left, right = np.array([pair for pair in sorted(clicked) if pair[0] != pair[1]]).T

# No dissimilar pair is listed, so every pair that nobody clicked together counts as dissimilar.
# Clicks stand for groups, the topics: that is what the paper's recipe learns from pairs, while the
# default takes pairs for near-duplicates.
model = SparseHash(recipe="paper", max_steps=500).fit(X[items], pairs=Pairs(left, right))

found = evaluate_codes(
    model.encode(X[queries]), topic[queries], model.encode(X[items]), topic[items]
)
print(f"{len(left):,} pairs of {len(X[items]):,} items")
for name in ("map", "f1@r2", "f1@r0", "unique_codes"):
    print(f"{name:14} {found[name]:8.3f}")
