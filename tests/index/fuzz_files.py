"""Damages index files at random and asks them everything: fuzz_files.py FOLDER ROUNDS SEED.

Ends with 0 if every answer came back, or an error that Python code may raise; a crash ends the
process, and `faulthandler` a question that takes too long.
"""

import faulthandler
import sys
from pathlib import Path

import numpy as np

from kinhash import Codes, HammingIndex
from kinhash.errors import FormatError, KinhashError
from kinhash.index import file
from kinhash.index.reference import ORDERS

PATIENCE = 60  # seconds for all questions to one small file
STRUCTURES = ("lookup", "deletions", "chunks", "groups", "scan", "neighbours")


def flip(rng, part):
    at = rng.integers(0, len(part), rng.integers(1, 4))
    part[at] ^= (1 << rng.integers(0, 8, len(at))).astype(np.uint8)


def noise(rng, part):
    first = rng.integers(0, len(part))
    part[first:][: rng.integers(1, 65)] = rng.integers(0, 256)


def random_bytes(rng, part):
    part[:] = rng.integers(0, 256, len(part), dtype=np.uint8)


def zeros(_rng, part):
    part[:] = 0


def ones(_rng, part):
    part[:] = 255


def small_numbers(rng, part):
    """Numbers in range but out of order: the damage that bounds alone do not stop."""
    numbers = part[: len(part) // 4 * 4].view(np.uint32)
    numbers[:] = rng.integers(0, max(2, len(numbers)), len(numbers))


def low_then_high(_rng, part):
    """Every range of a table as long as can be."""
    numbers = part[: len(part) // 4 * 4].view(np.uint32)
    numbers[0::2], numbers[1::2] = 0, 2**32 - 1


DAMAGES = (flip, noise, random_bytes, zeros, ones, small_numbers, low_then_high)


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def ask(question, *arguments, **options):
    """Call; only errors that say something about the input may come."""
    try:
        return question(*arguments, **options)
    except (KinhashError, ValueError, IndexError):
        return None


def ask_everything(path, queries):
    try:
        index = HammingIndex.load(path, verify=False)
    except FormatError:
        return False
    n, searcher = len(index), index._state.searcher
    for radius in range(5):
        matches = index.search_radius(queries, radius, sort=True)
        assert len(matches.ids) == matches.offsets[-1] <= n * len(queries)
        assert len(matches.ids) == 0 or 0 <= matches.distances.min() <= radius
        for structure in STRUCTURES:
            searcher.radius(queries.words, radius, False, 2, structure)  # noqa: FBT003 - native
        index.count_radius(queries, radius)
        index.explain(queries, radius=radius)
        index.search_radius(queries, radius, allowed=np.arange(n) % 3 == 0)
        index.search_radius(queries, radius, allowed=index.ids[::5])
    index.search_radius(queries, index.n_bits)
    for order in ORDERS:
        index.search_radius(queries, 3, sort=True, order=order)
        for k in (1, 10, n, n + 1):
            matches = index.search_top_k(queries, k, order=order)
            # Nothing is left unwritten: an id of the file, or -1 where it leads to too few.
            if index._state.names is None:
                assert np.isin(matches.ids, np.append(index._state.segments[0].ids, -1)).all()
                assert ((matches.ids == -1) == (matches.distances == -1)).all() or -1 in index.ids
            else:
                assert set(matches.ids) <= {*index.ids, ""}
        index.explain(queries, k=3, order=order)
    ask(lambda: list(index.iter_buckets()))
    ask(lambda: index.codes(index.ids[::-1]))
    ask(lambda: [i in index for i in (0, 1, 10**12)])
    for radius in (0, 1, 3):
        ask(index.duplicates, radius)
    new = [f"new {i}" for i in range(len(queries))]
    ask(index.add, queries, np.arange(len(queries)) + 10**9 if index._state.names is None else new)
    ask(lambda: [name in index for name in new])
    ask(index.search_radius, queries, 2)
    ask(index.remove, index.ids[:3])
    ask(index.update, queries[:1], index.ids[:1])
    ask(index.search_top_k, queries, 5)
    ask(index.save, path)
    return True


def main(folder, rounds, seed):
    rng = np.random.default_rng(seed)
    asked = 0
    for original in sorted(p for p in Path(folder).iterdir() if p.is_file()):
        raw = np.fromfile(original, np.uint8)
        stored = file.read(original, mmap=False)
        index = HammingIndex.load(original)
        near = index.codes(rng.choice(index.ids, 12))
        n_rank_bits = index.n_rank_bits
        far = Codes.from_dense(
            rng.random((4, index.n_bits - n_rank_bits)) < 0.1,
            signed=index.signed,
            rank=rng.random((4, n_rank_bits)) < 0.5 if n_rank_bits else None,
        )
        queries = Codes.concatenate([near, far])
        sections = [s for s in stored.header["sections"] if s["length"]]
        for turn in range(rounds):
            for section in sections:
                damage = DAMAGES[(turn + int(rng.integers(2))) % len(DAMAGES)]
                damaged = raw.copy()
                hit = [section] if turn % 4 else [section, *rng.choice(sections, 2)]
                for one in hit:
                    damage(rng, damaged[one["offset"] : file._end(one)])
                if section["name"] == "offsets":  # else the first look would stop it
                    mended = damaged[section["offset"] : file._end(section)].view(np.uint32)
                    mended[0], mended[-1] = 0, stored.header["n_items"]
                path = Path(folder) / "damaged" / original.name
                path.parent.mkdir(exist_ok=True)
                damaged.tofile(path)
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
                say(original.name, damage.__name__, *(s["name"] for s in hit))
                asked += ask_everything(path, queries)
                faulthandler.cancel_dump_traceback_later()
    assert asked > rounds
    say(asked, "damaged files were asked")


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
