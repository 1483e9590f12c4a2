"""How fast is encoding? Against the bare matrix products of the same shapes in NumPy.

    python benchmarks/bench_encode.py

Encoding standardises, brings to unit length, multiplies by W, shrinks, multiplies by S, compares
and packs; the bare products are `X @ W.T` and `H @ S.T` alone. Times are medians of alternating
runs, so only their ratio means anything. The codes are checked against the NumPy encoder first.
"""

import argparse
import statistics
import time

import numpy as np
from threadpoolctl import threadpool_limits

from kinhash import _native
from kinhash.encoders import IstaEncoder, unit_length

N_ROWS = 60_000


def random_encoder(rng, n_features, n_bits):
    """Return an encoder with arrays like those of a trained one."""

    def floats(*shape):
        return rng.standard_normal(shape, np.float32)

    return IstaEncoder(
        mean=floats(n_features),
        scale=np.abs(floats(n_features)),
        W=unit_length(floats(n_bits, n_features)),
        S=0.1 * floats(n_bits, n_bits),
        tau=0.05 * np.abs(floats(n_bits)),
        beta=3.0,
        n_steps=1,
        two_sided=False,
    )


def check(encoder, X):
    """Return how many bits differ from NumPy's, all of them at a rounding boundary."""
    outputs = encoder.forward(X)
    wrong = encoder.encode(X).to_dense() != np.rint(outputs)
    assert np.all(np.abs(outputs[wrong] - 0.5) < 1e-4), "codes differ from NumPy's"
    return int(wrong.sum())


def bare_products(X, encoder):
    """Multiply by W and by S, and nothing else."""
    return (X @ encoder.W.T) @ encoder.S.T


def seconds(work, *arguments, **options):
    """Return how long a call takes.

    NumPy's threads keep a core busy for a while after a product, waiting for the next one: they
    are given the time to go to sleep, before either side is timed.
    """
    time.sleep(0.15)
    start = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - start


def main():
    """Print one line per shape and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{N_ROWS:,} rows, {_native.instruction_set()}; times in ms")
    print("dims  bits  threads  NumPy products  encode  ratio  bits at a boundary")
    for n_features in (384, 768):
        X = rng.standard_normal((N_ROWS, n_features), np.float32)
        for n_bits in (64, 128):
            encoder = random_encoder(rng, n_features, n_bits)
            n_wrong = check(encoder, X[:5000])
            for n_threads in (1, None):
                times = [], []
                with threadpool_limits(n_threads):
                    for run in range(options.runs + 1):
                        products = seconds(bare_products, X, encoder)
                        encoding = seconds(encoder.encode, X, n_threads=n_threads)
                        if run:  # the first run warms up
                            times[0].append(products)
                            times[1].append(encoding)
                bare, ours = (statistics.median(t) * 1e3 for t in times)
                threads = n_threads or "all"
                print(
                    f"{n_features:4}  {n_bits:4}  {threads:>7}  {bare:14.1f}  {ours:6.1f}  "
                    f"{ours / bare:5.2f}  {n_wrong:18}"
                )


if __name__ == "__main__":
    main()
