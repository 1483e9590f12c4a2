"""Compare kinds of codes: the default, and the paper's one-sided, two-sided and limited ones."""

from sklearn.datasets import make_blobs

from kinhash import SparseHash
from kinhash.metrics import evaluate_codes

X, y = make_blobs(2000, n_features=20, centers=10, cluster_std=8.0, random_state=2)
queries, items = slice(0, 200), slice(200, None)

kinds = {
    "default": SparseHash(),
    "one-sided": SparseHash(recipe="paper", max_steps=500),
    "signed=True": SparseHash(recipe="paper", max_steps=500, signed=True),
    "encoder='cod'": SparseHash(recipe="paper", max_steps=500, encoder="cod", n_active=4),
}
print(f"{'':20} mAP    F1 r=0  unique  mean active  most active  bytes")
for name, model in kinds.items():
    codes = model.fit(X[items], y[items]).encode(X)
    found = evaluate_codes(codes[queries], y[queries], codes[items], y[items])
    print(
        f"{name:20} {found['map']:.3f}  {found['f1@r0']:.3f}  {found['unique_codes']:6.0f}"
        f"  {found['mean_active']:11.1f}  {codes.n_active.max():11d}  {codes[0].words.nbytes:5d}"
    )
