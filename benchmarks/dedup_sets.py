"""Data with planted near-duplicates: clustered vectors and edited texts."""

import numpy as np

N_FEATURES = 384
SHARE = 0.1  # of the rows are copies
LOWEST, HIGHEST = 0.85, 1.0  # cosines of copies and what they are copies of
IN_CLUSTER = 0.5  # cosine of two rows of a cluster, about
BLOCK = 20_000


def unit(X):
    """Bring rows to unit length, in place."""
    X /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X


def vectors(n, seed=0):
    """Return clustered unit vectors, some of them copies, and which row each comes from."""
    rng = np.random.default_rng(seed)
    n_copies = int(SHARE * n)
    n_own = n - n_copies
    centres = unit(rng.standard_normal((n // 200, N_FEATURES), np.float32))
    X = np.empty((n, N_FEATURES), np.float32)
    for start in range(0, n_own, BLOCK):
        rows = slice(start, min(start + BLOCK, n_own))
        noise = unit(rng.standard_normal((rows.stop - start, N_FEATURES), np.float32))
        # Squares of sizes, as the parts are nearly orthogonal, so clusters differ in how tight
        # they are.
        which = rng.integers(0, len(centres), rows.stop - start)
        tight = rng.uniform(IN_CLUSTER - 0.2, IN_CLUSTER + 0.2, len(centres))[which, None]
        X[rows] = unit(
            np.sqrt(tight).astype(np.float32) * centres[which]
            + np.sqrt(1 - tight).astype(np.float32) * noise
        )
    source = np.arange(n)
    source[n_own:] = rng.integers(0, n_own, n_copies)
    for start in range(n_own, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        of = X[source[rows]]
        noise = rng.standard_normal(of.shape, np.float32)
        noise = unit(noise - np.einsum("ij,ij->i", noise, of)[:, None] * of)
        cosine = rng.uniform(LOWEST, HIGHEST, (len(of), 1)).astype(np.float32)
        X[rows] = unit(cosine * of + np.sqrt(1 - cosine**2) * noise)
    order = rng.permutation(n)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return X[order], place[source[order]]


def planted_pairs(X, source, limit):
    """Return pairs of rows of one source that are at least so similar, the larger row first."""
    order = np.lexsort((np.arange(len(source)), source))
    starts = np.flatnonzero(np.r_[True, np.diff(source[order]) > 0])
    pairs = []
    for group in np.split(order, starts[1:]):
        if len(group) > 1:
            left, right = np.triu_indices(len(group), 1)
            pairs.append(np.stack([group[right], group[left]], axis=1))
    pairs = np.concatenate(pairs)
    cosines = np.einsum("ij,ij->i", X[pairs[:, 0]], X[pairs[:, 1]], dtype=np.float64)
    return np.sort(pairs[cosines >= limit], axis=1)[:, ::-1]


# Texts


_FIRST = (*"bcdfghjklmnprstvwz", "st", "tr", "ch", "sh", "pr")
_SOUNDS = [first + then for first in _FIRST for then in (*"aeiou", "ai", "ea", "er", "on")]


def texts(n, seed=0):
    """Return texts of 12 to 70 words, a fifth of them edited copies, and the source of each.

    Words have Zipf's frequencies, and 200 topics their own. A third of the texts begin with one of
    40 passages that others share, and a twentieth are half of another text: neither is a duplicate.
    """
    rng = np.random.default_rng(seed)
    words = _vocabulary(rng, 30_000)
    shares = np.cumsum(1 / np.arange(3, len(words) + 3))

    def drawn(k):
        return [words[i] for i in np.searchsorted(shares / shares[-1], rng.random(k))]

    topics = [rng.integers(200, len(words), 200) for _ in range(200)]
    passages = [drawn(int(rng.integers(6, 14))) for _ in range(40)]
    n_copies, n_halves = n // 5, n // 20
    made = []
    for _ in range(n - n_copies - n_halves):
        topic = topics[int(rng.integers(0, len(topics)))]
        own = drawn(int(rng.integers(12, 60)))
        own = [words[int(rng.choice(topic))] if rng.random() < 0.3 else word for word in own]
        made.append((passages[int(rng.integers(0, 40))] if rng.random() < 0.3 else []) + own)
    n_own = len(made)
    source = list(range(n_own))
    for i in rng.integers(0, n_own // 2, n_copies):
        made.append(_edited(made[i], lambda: drawn(1)[0], rng))
        source.append(int(i))
    for i in rng.integers(0, n_own, n_halves):
        half = made[i][: len(made[i]) // 2]
        made.append(half + drawn(len(made[i]) - len(half)))
        source.append(len(source))
    order = rng.permutation(n)
    return [_written(made[i], rng) for i in order], np.array(source)[order]


def _vocabulary(rng, n):
    found = {}
    while len(found) < n:
        found[
            "".join(rng.choice(_SOUNDS, 1 + int(rng.integers(0, 2 + min(2, len(found) // 500)))))
        ] = 1
    return list(found)


def _edited(words, drawn, rng):
    """Return words with 2 to 20 % of edits; some cut short, some with their halves exchanged."""
    words = list(words)
    for _ in range(max(1, rng.binomial(len(words), rng.uniform(0.02, 0.2)))):
        at, kind = int(rng.integers(0, len(words))), int(rng.integers(0, 5))
        if kind == 0:
            words[at] = _mistyped(words[at], rng)
        elif kind == 1 and len(words) > 5:
            del words[at]
        elif kind == 2:
            words.insert(at, drawn())
        elif kind == 3:
            words[at] = drawn()
        elif at:
            words[at - 1], words[at] = words[at], words[at - 1]
    if rng.random() < 0.2:
        words = words[: len(words) - max(1, len(words) // 8)]
    if rng.random() < 0.1:
        words = words[len(words) // 2 :] + words[: len(words) // 2]
    return words


def _mistyped(word, rng):
    if len(word) < 3:
        return f"{word}e"
    at = int(rng.integers(0, len(word) - 1))
    return [
        f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}",
        word[:at] + word[at + 1 :],
        f"{word[:at]}{chr(97 + int(rng.integers(0, 26)))}{word[at + 1 :]}",
    ][int(rng.integers(0, 3))]


def _written(words, rng):
    text, kind = " ".join(words), rng.random()
    if kind < 0.15:
        return text.upper()
    if kind < 0.3:
        return f"{text.capitalize()}."
    return text.replace(" ", ", ", 1).title() if kind < 0.4 else text
