"""How fast is training? Ours against the plain siamese loop, and the memory of a large fit.

    python benchmarks/bench_train.py [--fits]

SparseHash with nothing set and NNHash learn 64 bits of the same vectors; the ratio is of processor
times, of one thread. `--fits` measures only these. The plain loop sees the same batches, network
and optimiser; its loss is `torch.cdist(p=1)` and autograd. Times are medians of alternating runs,
so only their ratio means anything.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from kinhash import SparseHash
from kinhash.methods import NNHash
from kinhash.pairs import LabelSource
from kinhash.training.losses import SparseHashLoss, pair_weights
from kinhash.training.networks import IstaNetwork

N_ROWS, N_FEATURES, N_BITS, BATCH = 2000, 384, 64, 100


def fits(n_runs):
    """Print the processor time of a fit, of 2,000 rows of 1,280 numbers, beside NNHash's."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 10
    X = rng.standard_normal((N_ROWS, 1280), np.float32)
    X += 0.2 * rng.standard_normal((10, 1280), np.float32)[y]
    times = {SparseHash: [], NNHash: []}
    for method, seconds in times.items():
        for _ in range(n_runs):
            start = time.process_time()
            method(n_bits=N_BITS).fit(X, y)
            seconds.append(time.process_time() - start)
    ours, dense = (statistics.median(seconds) for seconds in times.values())
    print(f"a fit of {N_ROWS} x 1280, {N_BITS} bits, one thread, processor time")
    print(f"  SparseHash       {ours:8.1f} s")
    print(f"  NNHash           {dense:8.1f} s")
    print(f"  times as long    {ours / dense:8.2f}")


def one_epoch(loss, inputs, labels, seed):
    """Return the seconds of one epoch with the given loss, everything else alike."""
    rng = np.random.default_rng(seed)
    source = LabelSource.from_labels(labels)
    network = IstaNetwork(inputs[:N_BITS], beta=3.0, n_steps=1, signed=False)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, fused=True)
    start = time.perf_counter()
    for rows in source.batches(rng, BATCH):
        similar, known = (torch.from_numpy(part) for part in source.relate(rows))
        outputs = network(inputs[torch.from_numpy(rows)])
        optimiser.zero_grad()
        loss(outputs, similar, known).backward()
        optimiser.step()
    return time.perf_counter() - start


def ours(outputs, similar, known):
    """Return the loss by the native kernel."""
    return SparseHashLoss(margin=7.0, lam=0.1, alpha=0.001, similar_share=0.22)(
        outputs, outputs, similar, known
    ).total


def plain(outputs, similar, known):
    """Return the same loss as one would write it first."""
    pull, push = pair_weights(similar, known, 0.22)
    distances = torch.cdist(outputs, outputs, p=1)
    sizes = outputs.abs().sum(dim=1)
    pairs = torch.where(similar, distances, 0.05 * (7.0 - distances).clamp(min=0).square())
    return ((pull + push).float() * (pairs + 0.001 * (sizes[:, None] + sizes))).sum()


def compare(n_runs):
    """Print the seconds of an epoch both ways, and check that both learn the same."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=N_ROWS)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) + 0.3 * rng.normal(size=(10, N_FEATURES))[labels]
    inputs = torch.from_numpy((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32))

    outputs = torch.rand(BATCH, N_BITS, requires_grad=True)
    similar = torch.from_numpy(labels[:BATCH, None] == labels[:BATCH])
    gradients = [
        torch.autograd.grad(loss(outputs, similar, ~torch.eye(BATCH, dtype=bool)), outputs)[0]
        for loss in (ours, plain)
    ]
    assert torch.allclose(*gradients, atol=1e-6), "the two losses differ"

    times = {ours: [], plain: []}
    for run in range(n_runs + 1):
        for loss, seconds in times.items():
            found = one_epoch(loss, inputs, labels, seed=run)
            if run:  # the first run warms up
                seconds.append(found)
    medians = [statistics.median(seconds) * 1e3 for seconds in times.values()]
    print(f"one epoch of {N_ROWS} x {N_FEATURES}, {N_BITS} bits, batch {BATCH}, one thread")
    print(f"  ours             {medians[0]:8.1f} ms")
    print(f"  torch.cdist loop {medians[1]:8.1f} ms")
    print(f"  times as fast    {medians[1] / medians[0]:8.2f}")


def anonymous_memory():
    """Return the anonymous resident memory of this process, in MB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if "RssAnon" in x)
    return int(line.split()[1]) / 1024


def fit_large(path, n_rows):
    """Fit on a memory-mapped file, and print the peak of this process's anonymous memory."""
    X = np.load(path, mmap_mode="r")
    y = np.arange(n_rows) % 10
    peak, done = [anonymous_memory()], threading.Event()

    def watch():
        while not done.wait(0.01):
            peak[0] = max(peak[0], anonymous_memory())

    before = peak[0]
    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    SparseHash(recipe="paper").fit(X, y)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    print(f"fit of a memory-mapped {n_rows:,} x {N_FEATURES} float32 file, defaults")
    print(f"  seconds          {seconds:8.1f}")
    print(f"  peak RssAnon     {peak[0]:8.0f} MB ({before:.0f} before the fit)")


def write_large(path, n_rows):
    """Write random vectors of ten classes, in pieces."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, N_FEATURES)).astype(np.float32)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, N_FEATURES))
    for start in range(0, n_rows, 10_000):
        rows = np.arange(start, min(start + 10_000, n_rows))
        noise = rng.standard_normal((len(rows), N_FEATURES), np.float32)
        X[rows] = centres[rows % 10] + 2 * noise
    X.flush()


def main():
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large fit")
    parser.add_argument("--fits", action="store_true", help="only whole fits beside NNHash's")
    parser.add_argument("--fit", help=argparse.SUPPRESS)  # what the child process does
    options = parser.parse_args()
    if options.fit:
        fit_large(options.fit, options.rows)
        return
    with threadpool_limits(1):
        fits(3)
    if options.fits:
        return
    compare(options.runs)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "vectors.npy"
        write_large(path, options.rows)
        command = [sys.executable, __file__, "--fit", str(path), "--rows", str(options.rows)]
        subprocess.run(command, check=True)  # noqa: S603 - this very script


if __name__ == "__main__":
    main()
