"""The training loop: stochastic gradient descent over the pairs of each batch."""

import contextlib
import copy
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from kinhash.arrays import Array
from kinhash.encoders import CHUNK_ROWS, Encoder, as_float32, is_sparse, unit_length
from kinhash.pairs import Source
from kinhash.progress import Report
from kinhash.training.losses import PairLoss, mean_distances
from kinhash.training.network import MultimodalNetwork

# Standardised inputs up to this size are kept in memory; larger ones are read batch by batch.
RESIDENT_BYTES = 128 * 2**20
N_LOOKS = 50  # looks at the held-out part, evenly spaced over the run
N_HELD_OUT = 1000  # rows that each look takes, at most
FEWEST_HELD_OUT = 20  # with fewer units than this held out, their loss is noise: train to the end
EARLY_STEP = 50  # by now the dissimilar pairs have moved apart, or never will


class Branch(Protocol):
    """A network of `training/network.py`."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs of a batch."""
        ...

    def project(self) -> None:
        """Bring the parameters back to where they mean something."""
        ...

    def binary(self, outputs: Tensor) -> Tensor:
        """Return the codes behind the outputs."""
        ...

    def encoder(self, mean: Array, scale: Array) -> Encoder:
        """Return what was learned as plain arrays."""
        ...


class Lift(Protocol):
    """A fixed first layer of the network."""

    @property
    def n_outputs(self) -> int:
        """How many outputs it has."""
        ...

    def __call__(self, X: Array) -> Array:
        """Return its outputs for standardised vectors, float32."""
        ...


Loss = Callable[[Any, Any, Tensor, Tensor], PairLoss]  # A, B, similar, known


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    optimizer: str
    learning_rate: float
    momentum: float
    batch_size: int
    max_epochs: int
    max_steps: int
    patience: int
    validation_share: float
    seed: int
    device: str
    weight_decay: float = 0.0
    warm_up: float = 0.0  # share of the steps over which the rate rises, before it falls
    clip: float | None = None  # longest step, as the norm of the gradient


class Inputs:
    """Rows of `X` as the network sees them, on the device: standardised, of unit length or lifted.

    Args:
        X: The training vectors; of a sparse matrix, only the rows of a batch are ever dense.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        device: Where torch trains.
        lift: From standardised vectors to `n_outputs` inputs of the network, instead of unit
            length.
    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401 - an array or csr
        mean: Array,
        scale: Array,
        device: str,
        lift: Lift | None = None,
    ) -> None:
        self._X, self._mean, self._scale, self._device = X, mean, scale, device
        self._view = unit_length if lift is None else lift
        self._resident: Tensor | None = None
        width = X.shape[1] if lift is None else lift.n_outputs
        if X.shape[0] * width * 4 > RESIDENT_BYTES:
            return
        if not is_sparse(X):
            self._resident = self._standardised(np.arange(len(X)))
        elif lift is not None:  # its outputs are dense, and cost more than a batch of sparse rows
            starts = range(0, X.shape[0], CHUNK_ROWS)
            rows = [np.arange(low, min(low + CHUNK_ROWS, X.shape[0])) for low in starts]
            self._resident = torch.cat([self._standardised(some) for some in rows])

    def _standardised(self, rows: Array) -> Tensor:
        chosen: Any = self._X[rows]
        if is_sparse(chosen):
            chosen = chosen.toarray()
        chunk = self._view((as_float32(chosen) - self._mean) * self._scale)
        return torch.from_numpy(chunk).to(self._device)

    def __getitem__(self, rows: Array) -> Tensor:
        """Return the given rows, `(b, n_features)`."""
        if self._resident is None:
            return self._standardised(rows)
        return self._resident[torch.from_numpy(rows).to(self._device)]


@contextlib.contextmanager
def single_thread() -> Iterator[None]:
    """Train on one thread: the batches are so small that handing them out costs more."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def train(
    network: Any,  # noqa: ANN401 - an nn.Module that is a Branch
    loss: Loss,
    source: Source,
    inputs: Any,  # noqa: ANN401 - Inputs, or MultimodalInputs
    schedule: Schedule,
    *,
    report: Report,
    on_early: Callable[[float, float], None],
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Train `network` in place and leave it at its best held-out loss.

    Args:
        network: The branch that both sides of the siamese pair share.
        loss: Of the outputs of a batch.
        source: Deals the batches.
        inputs: Gives the vectors of a batch.
        schedule: How long and how fast.
        report: Told of progress.
        on_early: Told the mean distance of dissimilar pairs before the first and after the
            EARLY_STEP-th step.

    Returns:
        One record per look at the held-out part (at the training part, if too little is held
        out): the loss and its terms, the mean distances of the outputs, and of the codes the
        distance of dissimilar pairs, active bits, share of unique and of empty ones. And the
        record of the network that is kept, also marked `kept`.
    """
    rng = np.random.default_rng(schedule.seed)
    learned, held_out = source.split(rng, schedule.validation_share)
    stops_early = held_out.n_units >= FEWEST_HELD_OUT
    if not stops_early:
        learned = held_out = source
    probe = next(iter(held_out.batches(np.random.default_rng(schedule.seed), N_HELD_OUT)))
    network.to(schedule.device)
    optimiser = _optimiser(network, schedule)
    per_epoch = learned.n_batches(schedule.batch_size)
    total = min(schedule.max_epochs * per_epoch, schedule.max_steps)
    rates = _rates(optimiser, schedule, total)
    looks = {math.ceil(total * (i + 1) / N_LOOKS) for i in range(N_LOOKS)}

    def evaluate(source: Source, rows: Array) -> PairLoss:
        similar, known = _relation(source, rows, schedule.device)
        outputs = network(inputs[rows])
        return loss(outputs, outputs, similar, known)

    def look(step: int) -> dict[str, float]:
        with torch.no_grad():
            found, codes = evaluate(held_out, probe), network.binary(network(inputs[probe]))
            relation = _relation(held_out, probe, schedule.device)
        return {
            "step": step,
            "kept": False,
            "epoch": step / per_epoch,
            "loss": float(found.total),
            **found.terms,
            **_code_measures(codes, *relation),
        }

    records: list[dict[str, float]] = []
    kept, best, stale, initial = {"loss": math.inf}, network.state_dict(), 0, math.nan
    batches = _endless(learned, rng, schedule.batch_size)
    for step, rows in zip(range(1, total + 1), batches, strict=False):
        found = evaluate(learned, rows)
        if step == 1:
            initial = found.terms["dissimilar_distance"]
        if step == EARLY_STEP + 1:
            on_early(initial, found.terms["dissimilar_distance"])
        optimiser.zero_grad()
        found.total.backward()  # type: ignore[no-untyped-call]
        _step(network, optimiser, schedule)
        rates.step()
        if step not in looks:
            continue
        record = look(step)
        records.append(record)
        report(step, total, f"loss {record['loss']:.3f}  {record['active']:.1f} active bits")
        if record["loss"] < kept["loss"] or not stops_early:
            kept, best, stale = record, copy.deepcopy(network.state_dict()), 0
        else:
            stale += 1
            if stale >= schedule.patience:
                break
    network.load_state_dict(best)
    kept["kept"] = True
    return records, kept


def _step(network: Any, optimiser: torch.optim.Optimizer, schedule: Schedule) -> None:  # noqa: ANN401 - see train
    if schedule.clip is not None:
        nn.utils.clip_grad_norm_(network.parameters(), schedule.clip)
    optimiser.step()
    network.project()


def _optimiser(network: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    rate, momentum, decay = schedule.learning_rate, schedule.momentum, schedule.weight_decay
    groups: Any = network.parameters()
    if isinstance(network, MultimodalNetwork):  # has a decay for each
        groups = network.parameter_groups()
        decay = max(network.weight_decays)
    if schedule.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=momentum, weight_decay=decay, fused=True)
    betas = (momentum, 0.999)
    if decay:
        return torch.optim.AdamW(groups, lr=rate, betas=betas, weight_decay=decay, fused=True)
    return torch.optim.Adam(groups, lr=rate, betas=betas, fused=True)


def _rates(
    optimiser: torch.optim.Optimizer, schedule: Schedule, total: int
) -> torch.optim.lr_scheduler.LRScheduler:
    """Return what changes the rate after each step: down along a cosine, and perhaps up before."""
    if schedule.warm_up == 0:
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, total)
    return torch.optim.lr_scheduler.OneCycleLR(
        optimiser,
        max_lr=schedule.learning_rate,
        total_steps=total + 1,
        pct_start=schedule.warm_up,
        cycle_momentum=False,
    )


def _endless(source: Source, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
    while True:
        yield from source.batches(rng, batch_size)


def _relation(source: Source, rows: Array, device: str) -> tuple[Tensor, Tensor]:
    similar, known = source.relate(rows)
    return torch.from_numpy(similar).to(device), torch.from_numpy(known).to(device)


def _code_measures(codes: Tensor, similar: Tensor, known: Tensor) -> dict[str, float]:
    """Return what the codes themselves look like, apart from the outputs that the loss sees."""
    active = codes != 0
    distances = mean_distances(torch.cdist(codes, codes, p=1), similar, known)
    return {
        "code_distance": distances["dissimilar_distance"],
        "active": float(active.sum(dim=1).float().mean()),
        "unique": len(torch.unique(codes, dim=0)) / len(codes),
        "empty": float((~active.any(dim=1)).float().mean()),
    }
