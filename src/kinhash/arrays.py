"""The types of arrays that several modules speak of."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

    Sparse = sparray | spmatrix
else:  # SciPy takes a tenth of a second to import, and at run time the name says nothing
    Sparse = object

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

# As users have them.
Vectors = npt.ArrayLike | Sparse  # `X`: (n, n_features) numbers, or n texts
Labels = npt.ArrayLike | Sparse  # `y`: (n,) labels, or an (n, n_tags) matrix of 0 and 1

# As they are after a check. SciPy has no type with what arrays and sparse matrices share, and its
# stubs leave out operations that csr has.
Matrix = Any  # an array or csr, (n, n_features)
Csr = Any
