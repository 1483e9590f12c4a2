# The compiled core; arrays are C-contiguous, and outputs are written in place.

from typing import Any

import numpy.typing as npt

def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
def pack(dense: npt.NDArray[Any], words: npt.NDArray[Any], signed: bool) -> None: ...
def unpack(words: npt.NDArray[Any], dense: npt.NDArray[Any], signed: bool) -> None: ...
def pair_loss(
    *,
    A: npt.NDArray[Any],
    B: npt.NDArray[Any],
    similar: npt.NDArray[Any],
    known: npt.NDArray[Any],
    gA: npt.NDArray[Any],
    gB: npt.NDArray[Any],
    symmetric: bool,
    similar_share: float,
    margin: float,
    lam: float,
    alpha: float,
) -> list[float]: ...

class NetworkEncoder:
    def __init__(
        self,
        *,
        mean: npt.NDArray[Any],
        scale: npt.NDArray[Any],
        W: npt.NDArray[Any],
        bias: npt.NDArray[Any],
        S: npt.NDArray[Any],
        tau: npt.NDArray[Any],
        cut: float,
        n_steps: int,
        unit_length: bool,
        two_sided: bool,
        coordinate_descent: bool,
    ) -> None: ...
    def encode(self, X: npt.NDArray[Any], words: npt.NDArray[Any], n_threads: int) -> int: ...
