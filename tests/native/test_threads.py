"""Threads of the core: how many stay, and what happens without memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
needs_proc = pytest.mark.skipif(not TASKS.is_dir(), reason="counts the threads that /proc lists")

COUNT = """
import os
import numpy as np
from kinhash import HammingIndex
from kinhash.codes import Codes

codes = Codes(np.random.default_rng(0).integers(0, 2**63, (40000, 1)).astype(np.uint64), 64)
index = HammingIndex(codes)
expected = index.count_radius(codes[:20000], 10, n_threads=1)
before = len(os.listdir("/proc/self/task"))
for _ in range(3):
    found = index.count_radius(codes[:20000], 10, n_threads=256)
    assert (found == expected).all()
print(len(os.listdir("/proc/self/task")) - before)
"""


@needs_proc
def test_a_call_with_many_threads_leaves_at_most_one_per_core():
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= (os.cpu_count() or 1)


# Raises the limit from just above what the process has until the search works: so memory runs out
# at many places, in the caller and in the worker threads.
STARVE = """
import resource, sys
import numpy as np
from kinhash import HammingIndex
from kinhash.codes import Codes

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

codes = Codes(np.random.default_rng(0).integers(0, 2**20, (60000, 1)).astype(np.uint64), 64)
index = HammingIndex(codes, memory="lean")
failed = 0
for megabytes in range(1, 400, 7):
    resource.setrlimit(resource.RLIMIT_AS, (used() + megabytes * 2**20, resource.RLIM_INFINITY))
    try:
        index.search_radius(codes[:2000], 6, n_threads=8)
    except MemoryError:
        failed += 1
    try:
        HammingIndex(codes)
    except MemoryError:
        failed += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
assert index.search_radius(codes[:1], 0).offsets[-1] >= 1
print("failed", failed > 0)
"""


@needs_proc
@pytest.mark.skipif("KINHASH_SANITISED" in os.environ, reason="the sanitiser needs address space")
def test_without_memory_a_search_raises_memory_error_and_the_process_lives():
    done = subprocess.run(
        [sys.executable, "-c", STARVE],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stdout) == (0, "failed True\n"), done.stderr[-2000:]
