"""What do several modalities cost? Memory of a fit, and the time to encode bags of words.

    python benchmarks/bench_multimodal.py [--pairs 10000]

Fits `MultimodalSparseHash` on pairs of a 672-dimensional vector and a bag of 1,000 words, made up
by a seed, in a process of its own, and prints the most memory it held. Then encodes bags with 5 to
80 words each, sparse and as dense rows of 1,000 numbers: times are of the same run, in turns.
"""

import argparse
import multiprocessing
import resource
import statistics
import time

import numpy as np
import scipy.sparse

N_CLASSES, N_FEATURES, N_WORDS = 23, 672, 1000
ROWS, REPEATS = 20_000, 7


def bags(rng, labels, n_words):
    """Return rows of `n_words` words each; half of them are typical of the class."""
    n = len(labels)
    typical = 40 * labels[:, None] + rng.integers(0, 40, (n, n_words))
    words = np.where(
        rng.uniform(size=(n, n_words)) < 0.5, typical, rng.integers(0, N_WORDS, (n, n_words))
    )
    rows = np.repeat(np.arange(n), n_words)
    found = scipy.sparse.coo_array(
        (np.ones(words.size, np.float32), (rows, words.ravel())), shape=(n, N_WORDS)
    ).tocsr()
    found.data[:] = 1
    return found


def made_up(n, seed=0):
    """Return both modalities and the labels of n items."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, N_CLASSES, n)
    centres = rng.normal(size=(N_CLASSES, N_FEATURES))
    image = (centres[labels] + 3 * rng.normal(size=(n, N_FEATURES))).astype(np.float32)
    return {"image": image, "text": bags(rng, labels, 8)}, labels


def memory():
    """Return the most bytes that this process ever held."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fit(n, pipe):
    """Fit in this process, and send what it took."""
    import torch  # noqa: F401, PLC0415 - so that it counts before, not as the fit's

    from kinhash import MultimodalSparseHash  # noqa: PLC0415

    X, labels = made_up(n)
    before, start = memory(), time.perf_counter()
    model = MultimodalSparseHash(recipe="paper").fit(X, labels)
    pipe.send((before, memory(), time.perf_counter() - start))
    pipe.send(model)


def clock(call):
    """Return the seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=10_000)
    options = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=fit, args=(options.pairs, theirs))
    process.start()
    before, most, seconds = ours.recv()
    model = ours.recv()
    process.join()
    print(
        f"fit of {options.pairs:,} pairs: {most / 1e9:.2f} GB at most, of which "
        f"{before / 1e9:.2f} GB before it began (libraries and data); {seconds:.0f} s"
    )
    rng = np.random.default_rng(1)
    print("words  sparse, us per text  dense, us per text  ratio")
    for n_words in (5, 10, 20, 40, 80):
        sparse = bags(rng, rng.integers(0, N_CLASSES, ROWS), n_words)
        dense = sparse.toarray()
        calls = [
            lambda rows=rows: model.encode(rows, modality="text", n_threads=1)
            for rows in (sparse, dense)
        ]
        times = [[clock(call) for call in calls] for _ in range(REPEATS)]
        one, other = (1e6 * statistics.median(column) / ROWS for column in zip(*times, strict=True))
        print(f"{n_words:5}  {one:19.2f}  {other:18.2f}  {other / one:5.1f}")


if __name__ == "__main__":
    main()
