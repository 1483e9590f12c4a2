"""Sets of codes as frames of Spark."""

import numpy as np
import pyarrow as pa
import pytest

from kinhash import Codes
from kinhash.engines.layout import Layout
from kinhash.methods import LSH


@pytest.fixture(scope="session")
def X():  # noqa: N802 - vectors
    return np.random.default_rng(5).normal(size=(300, 6)).astype(np.float32)


@pytest.fixture(scope="session")
def model(X):
    return LSH(n_bits=70, seed=0).fit(X)


@pytest.fixture
def frame(spark):
    """Return what makes a frame of ids and codes, whose rows are in no order."""

    def make(codes, ids, **more):
        columns = {"id": pa.array(ids), **Layout.of(codes).arrays(codes), **more}
        rows = np.random.default_rng(1).permutation(len(codes))
        return spark.createDataFrame(pa.table(columns).take(pa.array(rows))).repartition(2)

    return make


@pytest.fixture
def clustered():
    """Return what draws codes around few centres: some equal, some near, some empty."""

    def draw(n, n_bits, *, seed=0, n_rank_bits=0, signed=False):
        rng = np.random.default_rng(seed)
        centres = rng.integers(-1 if signed else 0, 2, (4, n_bits))
        centres[0] = 0
        dense = centres[rng.integers(0, 4, n)]
        for row in dense:
            at = rng.choice(n_bits, min(n_bits, rng.integers(0, 4)), replace=False)
            row[at] = rng.integers(-1 if signed else 0, 2, len(at))
        ranks = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
        return Codes.from_dense(dense, signed=signed, rank=ranks)

    return draw
