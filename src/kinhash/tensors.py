"""Tensors of torch as arrays, without importing torch."""

import sys
from typing import Any

import numpy as np

from kinhash.arrays import Array


def as_array(data: object) -> Array | None:
    """Return a tensor of torch as an array; memory is shared where that is possible.

    Whether it requires gradients and on which device it is does not matter. Numbers that NumPy
    does not have, such as bfloat16, become float32, which holds them exactly.

    Returns:
        The array, or None if it is no tensor. Whoever has one has imported torch.
    """
    torch: Any = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if kind is None or not isinstance(data, kind):
        return None
    tensor = data.detach().cpu()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_floating_point() and tensor.dtype not in _known(torch):
        tensor = tensor.to(torch.float32)
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


def _known(torch: Any) -> tuple[object, ...]:  # noqa: ANN401 - untyped
    return torch.float16, torch.float32, torch.float64
