"""How fast is encoding? Against the bare matrix products of the same shapes in NumPy.

    python benchmarks/bench_encode.py [--maps]

Encoding standardises, brings to unit length, multiplies by W, shrinks, multiplies by S, compares
and packs; the bare products are `X @ W.T` and `H @ S.T` alone. Times are medians of alternating
runs, so only their ratio means anything. The codes are checked against the NumPy encoder first.

Then maps to 64 bits against the one product that costs most: 1,280 numbers, linearly, as a share
of the rate of `X @ W.T` with 64 columns; 384 numbers through a kernel with 1,000 anchors, as a
share of the rate of `X @ anchors.T`; "class rank" is what SparseHash learns. One thread, the
fastest of alternating runs in processor time, which other programs disturb least. `--maps`
measures only these.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from kinhash import _native
from kinhash.encoders import (
    ClassLevelsEncoder,
    ClassRankEncoder,
    Encoder,
    IstaEncoder,
    KernelClassLevelsEncoder,
    KernelClassRankEncoder,
    KernelEncoder,
    LinearEncoder,
    unit_length,
)

N_ROWS = 60_000
N_MAP_ROWS = 4096
N_BITS, N_ANCHORS, N_CLASSES, N_LEVELS = 64, 1000, 10, 3
N_RANK_BITS = N_BITS - 2 * N_CLASSES  # of SparseHash with nothing set


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


def maps(rng):
    """Return encoders of several kinds by name, each with the matrix of its largest product."""

    def floats(*shape):
        return rng.standard_normal(shape, np.float32)

    def common(n_features):
        return {"mean": 0.1 * floats(n_features), "scale": 0.5 + np.abs(floats(n_features))}

    levels = {
        "bias": floats(N_CLASSES),
        "class_codes": (rng.random((N_LEVELS, N_CLASSES, N_BITS)) < 0.1).astype(np.uint8),
        "exclusive": True,
    }
    rank = {
        "bias": floats(N_CLASSES + N_RANK_BITS),
        "class_codes": np.repeat(np.eye(N_CLASSES, dtype=np.uint8), 2, axis=1)[None],
        "exclusive": True,
        "G": floats(N_RANK_BITS, N_CLASSES),
        "temperature": 0.02,
        "unit_rows": False,
    }
    kernel = {"anchors": floats(N_ANCHORS, 384), "gamma": 1 / 384}
    wide, narrow = floats(N_BITS, 1280), floats(N_CLASSES, 1280)
    return {
        "linear": (LinearEncoder(**common(1280), W=wide, bias=floats(N_BITS)), wide),
        "class levels": (ClassLevelsEncoder(**common(1280), W=narrow, **levels), wide),
        "class rank": (
            ClassRankEncoder(**common(1280), W=floats(N_CLASSES + N_RANK_BITS, 1280), **rank),
            wide,
        ),
        "kernel": (
            KernelEncoder(
                **common(384), **kernel, W=floats(N_BITS, N_ANCHORS), bias=floats(N_BITS)
            ),
            kernel["anchors"],
        ),
        "kernel class levels": (
            KernelClassLevelsEncoder(
                **common(384), **kernel, W=floats(N_CLASSES, N_ANCHORS), **levels
            ),
            kernel["anchors"],
        ),
        "kernel class rank": (
            KernelClassRankEncoder(
                **common(384),
                **kernel,
                W=floats(N_CLASSES + N_RANK_BITS, N_ANCHORS),
                **rank,
            ),
            kernel["anchors"],
        ),
    }


def fastest(calls: list[Callable[[], object]], runs: int) -> list[float]:
    """Return the least processor time of each call; their runs alternate."""
    best = [np.inf] * len(calls)
    for _ in range(runs):
        for number, call in enumerate(calls):
            start = time.process_time()
            call()
            best[number] = min(best[number], time.process_time() - start)
    return best


def measure_maps(rng, runs):
    """Print the share of the rate of the bare product of each map."""
    print(f"\n{N_MAP_ROWS:,} rows to {N_BITS} bits, one thread; times in ms")
    print("map                  product      NumPy product  encode  share of its rate")
    with threadpool_limits(1):
        for name, (encoder, matrix) in maps(rng).items():
            X = rng.standard_normal((N_MAP_ROWS, encoder.n_features), np.float32)
            calls = (lambda X=X, m=matrix: X @ m.T), (lambda X=X, e=encoder: encoded(e, X))
            bare, ours = (1e3 * s for s in fastest(list(calls), runs))
            shape = f"{matrix.shape[1]} x {matrix.shape[0]}"
            print(f"{name:20} {shape:11}  {bare:13.1f}  {ours:6.1f}  {bare / ours:17.2f}")


def encoded(encoder: Encoder, X):
    """Encode with one thread."""
    return encoder.encode(X, n_threads=1)


def main():
    """Print one line per shape and number of threads, and one per map."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--maps", action="store_true", help="only the maps to 64 bits")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    if not options.maps:
        measure_networks(rng, options)
    measure_maps(rng, 3 * options.runs)


def measure_networks(rng, options):
    """Print one line per shape and number of threads."""
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
