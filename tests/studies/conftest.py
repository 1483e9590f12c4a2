import numpy as np
import pytest

from kinhash.datasets import Dataset

COLOURS = ("red", "blue")
ARTICLES = ("shoe", "hat", "tie")


@pytest.fixture(scope="session")
def shop():
    """Sixty products of three types: photographs, titles, colour and usage, in the usual order."""
    rng = np.random.default_rng(0)
    labels = np.arange(60, dtype=np.int64) % 3
    colours = np.array(COLOURS)[rng.integers(0, 2, 60)]
    vectors = (rng.normal(size=(3, 6))[labels] * 4 + rng.normal(size=(60, 6))).astype(np.float32)
    texts = tuple(f"{c} {ARTICLES[k]} of leather" for c, k in zip(colours, labels, strict=True))
    return Dataset(
        "fashion-products",
        vectors,
        labels=labels,
        images=rng.integers(0, 256, (60, 8, 6, 3), dtype=np.uint8),
        names=("Leather Shoes", "Hats", "Ties"),
        texts=texts,
        attributes={"baseColour": colours, "usage": np.where(np.arange(60) < 50, "work", "")},
        modalities={"image": vectors, "text": texts},
    )
