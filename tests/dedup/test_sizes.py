import numpy as np

from kinhash.dedup.sizes import SIZES, sizes_of


def test_groups_are_counted_by_size():
    counts = np.array([1, 2, 2, 3, 4, 9, 10, 99, 100, 5000])
    assert dict(zip(SIZES, sizes_of(counts), strict=True)) == {
        "2": 2,
        "3": 1,
        "4 to 9": 2,
        "10 to 99": 2,
        "100 or more": 2,
    }
    assert sizes_of(np.zeros(0, int)) == [0] * 5
