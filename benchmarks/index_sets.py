"""The codes that the index is measured on: real, clustered, uniform sparse, dense and wide."""

import dataclasses
import json
from pathlib import Path

import numpy as np
from index_record import WIDE, wide_bits

from kinhash import Codes

N_QUERIES = 1000
CHUNK = 1 << 20  # items drawn at a time

ITEMS_PER_CENTRE = 300
ZIPF = 0.7
FLIPS = (0.8, 0.13, 0.05, 0.02)  # probability of 0, 1, 2 and 3 flipped bits
ONE_MORE_FLIP = 0.3  # share of queries with one more bit flipped

REAL = {
    "real": {"margin": 7},
    "real-fine": {"margin": 11, "alpha": 0.005},
    "real-signed": {"margin": 11, "alpha": 0.005, "signed": True},
}
SIZES = {"100k": 100_000, "200k": 200_000, "1m": 1_000_000, "10m": 10_000_000, "50m": 50_000_000}


@dataclasses.dataclass
class CodeSet:
    """Items and queries, and a sentence on where they come from."""

    name: str
    about: str
    items: Codes
    queries: Codes


def make(name):
    """Return the code set `name`: one of `REAL`, or a kind and a size such as `clustered1m`."""
    if name in REAL:
        return _real(name)
    if name in WIDE:
        return _wide(name)
    for kind, draw in (("clustered", _clustered), ("uniform", _uniform), ("dense", _dense)):
        if name.removeprefix(kind) in SIZES:
            n = SIZES[name.removeprefix(kind)]
            rng = np.random.default_rng(n)
            words = np.empty(n, np.uint64)
            about = draw(rng, words)
            queries = _queries(rng, words)
            return CodeSet(name, about, _codes(words[:, None]), _codes(queries[:, None]))
    raise SystemExit(
        f"error: no code set {name!r}; there are {', '.join((*REAL, *WIDE))}, and clustered, "
        f"uniform or dense followed by {', '.join(SIZES)}"
    )


def save(name, folder):
    """Draw a code set into a folder, for `load`; return how many items it has."""
    made = make(name)
    for part in ("items", "queries"):
        np.save(f"{folder}/{part}.npy", getattr(made, part).words)
    said = {"name": name, "about": made.about, "signed": made.items.signed}
    said["n_bits"] = made.items.n_bits
    Path(folder, "set.json").write_text(json.dumps(said), encoding="utf-8")
    return len(made.items)


def load(folder):
    """Return the code set in a folder."""
    said = json.loads(Path(folder, "set.json").read_text(encoding="utf-8"))
    items, queries = (
        _codes(np.load(f"{folder}/{part}.npy"), said["n_bits"], signed=said["signed"])
        for part in ("items", "queries")
    )
    return CodeSet(said["name"], said["about"], items, queries)


def _codes(words, n_bits=64, *, signed=False):
    words.flags.writeable = False  # so that Codes need not copy them
    return Codes(words, n_bits, signed=signed)


def _real(name):
    from kinhash import SparseHash  # noqa: PLC0415 - only here is torch needed
    from kinhash.datasets import load  # noqa: PLC0415

    settings = REAL[name]
    data = load("cifar10", features="gist")
    part = data.split(seed=0)
    model = SparseHash(n_bits=64, recipe="paper", **settings)
    codes = model.fit(data.vectors[part.train], data.labels[part.train]).encode(data.vectors)
    said = ", ".join(f"{key}={value}" for key, value in settings.items())
    about = (
        f"CIFAR-10 GIST, SparseHash(n_bits=64, {said}) trained on 2,000 labels; "
        "the 59,000 database items of split(seed=0), its 1,000 query items"
    )
    return CodeSet(name, about, codes[part.database], codes[part.query])


def single_bits(rng, n, n_bits=64):
    """Return n words with one random bit set in each."""
    return np.uint64(1) << rng.integers(0, n_bits, n, dtype=np.uint64)


def _random_bits(rng, n_active, n_bits=64):
    """Return a word per entry of `n_active` with that many different random bits set."""
    words = np.zeros(len(n_active), np.uint64)
    short = np.flatnonzero(n_active > 0)
    while len(short):
        words[short] |= single_bits(rng, len(short), n_bits)
        short = short[np.bitwise_count(words[short]) < n_active[short]]
    return words


def _chunks(words):
    return (words[start : start + CHUNK] for start in range(0, len(words), CHUNK))


def clustered(rng, words, n_bits=64):
    """Fill words near random centres; return a sentence, each word's centre, how many there are."""
    n_centres = len(words) // ITEMS_PER_CENTRE
    centres = _random_bits(rng, 3 + rng.binomial(6, 0.5, n_centres), n_bits)
    weights = np.cumsum(np.arange(1, n_centres + 1) ** -ZIPF)
    chosen = np.empty(len(words), np.int32)
    for chunk, rows in zip(_chunks(words), _chunks(chosen), strict=True):
        rows[:] = np.searchsorted(weights, rng.random(len(chunk)) * weights[-1])
        np.minimum(rows, n_centres - 1, out=rows)
        n_flips = np.searchsorted(np.cumsum(FLIPS)[:-1], rng.random(len(chunk)), side="right")
        chunk[:] = centres[rows] ^ _random_bits(rng, n_flips, n_bits)
    about = (
        f"{n_centres:,} random centres of 3 to 9 active bits (6 on average) with Zipf weights "
        f"(exponent {ZIPF}); items are centres with 0/1/2/3 flipped bits, probabilities "
        f"{'/'.join(map(str, FLIPS))}"
    )
    return about, chosen, n_centres


def _clustered(rng, words):
    return clustered(rng, words)[0]


def _uniform(rng, words):
    for chunk in _chunks(words):
        chunk[:] = _random_bits(rng, np.full(len(chunk), 6))
    return "6 random active bits in each code"


def _dense(rng, words):
    for chunk in _chunks(words):
        chunk[:] = rng.integers(0, 1 << 64, len(chunk), dtype=np.uint64)
    return "64 random bits in each code"


def _wide(name):
    """Return codes like the signs of embeddings: centres, with some of the bits flipped."""
    n_bits, n = wide_bits(name), SIZES[name.split("-")[1]]
    rng = np.random.default_rng(n_bits)
    n_words = -(-n_bits // 64)
    unused = np.uint64((1 << (-n_bits % 64)) - 1) << np.uint64(n_bits % 64)

    def draw(shape):
        return rng.integers(0, 1 << 64, (*shape, n_words), dtype=np.uint64)

    def near_centres(n_codes):
        codes = centres[rng.integers(0, n_centres, n_codes)]
        for chunk in _chunks(codes):
            flips = draw(chunk.shape[:1]) & draw(chunk.shape[:1]) & draw(chunk.shape[:1])
            near = np.flatnonzero(rng.random(len(chunk)) < 1 / 2)
            flips[near] &= draw(near.shape)
            chunk[:] ^= flips
        codes[:, -1] &= ~unused
        return _codes(codes, n_bits)

    n_centres = n // ITEMS_PER_CENTRE
    centres = draw((n_centres,))
    about = (
        f"{n_centres:,} random centres of {n_bits:,} bits; items and queries are centres with each "
        "bit flipped with probability 1/8 or 1/16, half of the codes each"
    )
    return CodeSet(name, about, near_centres(n), near_centres(N_QUERIES))


def _queries(rng, words):
    """Return items, some of them with one more bit flipped."""
    queries = words[rng.integers(0, len(words), N_QUERIES)]
    changed = np.flatnonzero(rng.random(N_QUERIES) < ONE_MORE_FLIP)
    queries[changed] ^= single_bits(rng, len(changed))
    return queries
