import subprocess
import sys

import numpy as np
import pytest
import torch

from kinhash.tensors import as_array

V = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("tensor", "dtype"),
    [
        (torch.tensor(V), np.float32),
        (torch.tensor(V, requires_grad=True), np.float32),
        (torch.tensor(V).bfloat16(), np.float32),
        (torch.tensor(V).half(), np.float16),
        (torch.tensor(V).double(), np.float64),
        (torch.tensor(V).int(), np.int32),
        (torch.tensor(V).to_sparse(), np.float32),
        (torch.tensor(V).T.contiguous().T, np.float32),
        (torch.tensor(V).bfloat16().requires_grad_(), np.float32),
    ],
)
def test_a_tensor_of_any_kind_is_an_array(tensor, dtype):
    found = as_array(tensor)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, V)


def test_memory_is_shared_where_numpy_has_the_type():
    tensor = torch.tensor(V, requires_grad=True)
    assert np.shares_memory(as_array(tensor), tensor.detach().numpy())


@pytest.mark.parametrize("data", [V, [[1.0]], None, torch.Tensor], ids=str)
def test_what_is_no_tensor_is_none(data):
    assert as_array(data) is None


def test_torch_is_not_imported():
    program = (
        "import sys, numpy\n"
        "from kinhash.tensors import as_array\n"
        "assert as_array(numpy.eye(2)) is None\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
