"""The bucket of the strong recipe: how long it is, the words of classes, what to warn of."""

import math

import numpy as np

from kinhash.arrays import Array
from kinhash.errors import CollapseWarning, warn
from kinhash.methods.parts.arranged_words import arranged
from kinhash.methods.parts.confusable_words import WORD_BITS, class_words, confusable

# So sharp that the bucket is the word of the likeliest class.
ONE_CLASS = 0.02
MUCH_SHARED, MOSTLY_SHARED = 0.2, 0.6  # of the codes of two classes


def n_bucket_bits(n_bits: int, n_rank_bits: int | None, n_classes: int) -> int:
    """Return the length of the bucket: two bits for each class if that leaves the most to rank.

    Else a quarter of the code, or up to half of it until the words of all classes have room.
    """
    if n_rank_bits is not None:
        return n_bits - n_rank_bits
    if _roomy(n_classes) <= 3 * n_bits // 8:
        return _roomy(n_classes)
    length = max(n_bits // 4, math.ceil(math.log2(n_classes)) + 1)
    while length < n_bits // 2 and not _has_room(n_classes, length):
        length += 1
    return min(n_bits, length)


def _has_room(n_classes: int, n_bits: int) -> bool:
    """Return whether there surely are that many words of one weight that differ in 4 bits or more.

    Graham and Sloane, *Lower bounds for constant weight codes* (1980): C(n, w) / n of weight w.
    """
    return any(math.comb(n_bits, w) >= n_classes * n_bits for w in WORD_BITS)


def class_bucket(
    counts: Array,
    n_bucket_bits: int,
    n_bits: int,
    rng: np.random.Generator,
    *,
    alike: Array | None = None,
) -> Array:
    """Return the word of each class, uint8 `(n_classes, n_bucket_bits)`.

    Args:
        counts: `(n_classes, n_classes)`, rows left out by true and predicted class.
        n_bucket_bits: Length of the words.
        n_bits: Length of the whole code.
        rng: Draws candidates.
        alike: `(n_classes, n_classes)`: beyond radius 2, too, the larger the nearer; or None.

    Warns:
        UserWarning: There is no room for that many classes; says what has.
    """
    found = confusable(counts)
    words, n_amiss = class_words(found, n_bucket_bits, rng)
    if n_amiss:
        better = math.ceil(_roomy(len(counts)) * n_bits / n_bucket_bits)
        warn(
            f"{n_bucket_bits} bucket bits have no room for {len(counts)} classes: {n_amiss} pairs "
            f"of classes are found together, or not, against what is best. n_bits={better} has.",
            UserWarning,
        )
    return words if alike is None else arranged(words, found, alike, rng)


def warn_of_shared_codes(counts: Array, names: Array, *, where: str = "") -> None:
    """Warn of classes whose rows, when they are left out, mostly get the codes of another.

    Either another class's code is their commonest, or the two share most of their codes.

    Args:
        counts: As `class_bucket` takes them.
        names: What the user calls the classes.
        where: What the message begins with.
    """
    texts = class_texts(names)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    told: dict[frozenset[int], str] = {}
    for own in np.flatnonzero(counts.sum(axis=1)).tolist():
        others = np.where(np.arange(len(counts)) == own, -1, counts[own])
        other = int(others.argmax())
        both = float(np.minimum(shares[own], shares[other]).sum())
        if counts[own, other] <= counts[own, own] and both < MOSTLY_SHARED:
            continue
        text = f"{texts[own]} and {texts[other]} share {both:.0%} of their codes"
        if both < MUCH_SHARED:  # the rows of the other one are elsewhere themselves
            text = f"{shares[own, other]:.0%} of {texts[own]} have the code of {texts[other]}"
        told.setdefault(frozenset({own, other}), text)
    if told:
        warn(
            f"{where}{first_of([*told.values()])}: these vectors do not tell them apart. Add rows "
            "of them, use other vectors, or give them one label.",
            CollapseWarning,
        )


def class_texts(names: Array) -> list[str]:
    """Return what to call each class in a message."""
    texts = [str(name) for name in names.tolist()]
    if len(set(texts)) < len(texts):  # 1 and "1"
        texts = [repr(name) for name in names.tolist()]
    return texts


def first_of(told: list[str]) -> str:
    """Return the first three of what there is to tell, and how many more there are."""
    more = f", and {len(told) - 3} more" if len(told) > 3 else ""
    return "; ".join(told[:3]) + more


def _roomy(n_classes: int) -> int:
    """Return in how many bits each class has two of its own."""
    return 2 * n_classes
