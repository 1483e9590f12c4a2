import numpy as np

from kinhash.datasets.user_files.batches import Batch

X = np.zeros((2, 3), np.float32)


def test_a_batch_has_as_many_rows_as_its_content():
    assert len(Batch(7, vectors=X)) == 2
    assert len(Batch(0, texts=("a", "b", "c"))) == 3
    assert len(Batch(0, modalities={"image": X})) == 2
