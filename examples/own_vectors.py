"""Learn codes for your own vectors and labels, measure them, and find similar items."""

import numpy as np
from sklearn.datasets import make_blobs

import kinhash
from kinhash.metrics import evaluate_codes

# Put your own here: (n, d) numbers, and one label per row, of any type.
X, classes = make_blobs(2000, n_features=20, centers=8, cluster_std=9.0, random_state=0)
y = np.array(["boots", "coats", "hats", "jeans", "rings", "socks", "ties", "watches"])[classes]

# Queries that the model never sees: without them, measures mean nothing.
queries, items = slice(0, 200), slice(200, None)

model = kinhash.SparseHash(n_bits=64, seed=0).fit(X[items], y[items])
model.save("shop.kinhash")

model = kinhash.load("shop.kinhash")  # in another process, without torch
codes = model.encode(X)
found = evaluate_codes(codes[queries], y[queries], codes[items], y[items])
for name in ("map", "precision@r0", "recall@r0", "mean_matches@r0", "unique_codes"):
    print(f"{name:16} {found[name]:8.3f}")

# Items in the very bucket of query 0: one comparison of 64-bit words each.
same = np.flatnonzero(codes[items].words[:, 0] == codes[0].words[0, 0])
names, counts = np.unique(y[items][same], return_counts=True)
shared = dict(zip(names.tolist(), counts.tolist(), strict=True))
print(f"query 0 is of class {y[0]}; its bucket is shared by {shared}")

# The rank bits put them in order.
index = kinhash.HammingIndex(codes[items])
(row, distances), *_ = index.search_top_k(codes[queries], k=5)
print(f"its nearest: {y[items][row].tolist()} at distances {distances.tolist()}")
