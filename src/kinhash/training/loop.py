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
from kinhash.pairs import Source
from kinhash.progress import Report
from kinhash.training.losses import PairLoss, mean_distances
from kinhash.training.networks import Network
from kinhash.training.schedule import Schedule, divided

N_LOOKS = 50  # looks at the held-out part, evenly spaced over the run
N_HELD_OUT = 1000  # rows that each look takes, at most
EARLY_STEP = 50  # by now the dissimilar pairs have moved apart, or never will

Record = dict[str, float]
Loss = Callable[[Any, Any, Tensor, Tensor], PairLoss]  # A, B, similar, known


class Rows(Protocol):
    """Inputs of `training/inputs.py`."""

    def __getitem__(self, rows: Array) -> Any:  # noqa: ANN401 - a tensor, or one per modality
        """Return the given rows as the network takes them."""
        ...


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
    network: Network,
    loss: Loss,
    source: Source,
    inputs: Rows,
    schedule: Schedule,
    *,
    report: Report,
    on_early: Callable[[float, float], None],
) -> tuple[list[Record], Record]:
    """Train `network` in place and leave it at its best held-out loss.

    Args:
        network: The branch that both sides of the siamese pair share, or one per modality.
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
    parts = divided(source, schedule, rng)
    learned, held_out = parts or (source, source)
    stops_early = parts is not None
    network.to(schedule.device)
    siamese = _Siamese(network, loss, inputs, schedule.device)
    probe = next(iter(held_out.batches(np.random.default_rng(schedule.seed), N_HELD_OUT)))
    per_epoch = learned.n_batches(schedule.batch_size)
    total = min(schedule.max_epochs * per_epoch, schedule.max_steps)
    descent = _Descent(network, schedule, total)
    best = _Best(network, schedule.patience if stops_early else None)
    looks = {math.ceil(total * (i + 1) / N_LOOKS) for i in range(N_LOOKS)}
    initial = math.nan
    for step, rows in enumerate(_deal(learned, rng, schedule.batch_size, total), start=1):
        network.anneal((step - 1) / total)
        found = siamese.loss_of(learned, rows)
        if step == 1:
            initial = found.terms["dissimilar_distance"]
        if step == EARLY_STEP + 1:
            on_early(initial, found.terms["dissimilar_distance"])
        descent.step(found.total)
        if step in looks:
            record = {"step": step, "kept": False, "epoch": step / per_epoch}
            record |= siamese.measures_of(held_out, probe)
            report(step, total, f"loss {record['loss']:.3f}  {record['active']:.1f} active bits")
            if not best.goes_on_after(record):
                break
    return best.records, best.restore()


@dataclasses.dataclass(frozen=True)
class _Siamese:
    """A network that sees both items of each pair, and the loss of what it makes of them."""

    network: Network
    loss: Loss
    inputs: Rows
    device: str

    def loss_of(self, source: Source, rows: Array) -> PairLoss:
        """Return the loss over the pairs of a batch."""
        outputs = self.network(self.inputs[rows])
        return self.loss(outputs, outputs, *self._relation(source, rows))

    @torch.no_grad()
    def measures_of(self, source: Source, rows: Array) -> Record:
        """Return the loss over a batch, its terms, and what the codes themselves look like."""
        self.network.eval()  # as it will encode
        outputs, relation = self.network(self.inputs[rows]), self._relation(source, rows)
        self.network.train()
        found = self.loss(outputs, outputs, *relation)
        codes = self.network.binary(outputs)
        active = codes != 0
        distances = mean_distances(torch.cdist(codes, codes, p=1), *relation)
        return {
            "loss": float(found.total),
            **found.terms,
            "code_distance": distances["dissimilar_distance"],
            "active": float(active.sum(dim=1).float().mean()),
            "unique": len(torch.unique(codes, dim=0)) / len(codes),
            "empty": float((~active.any(dim=1)).float().mean()),
        }

    def _relation(self, source: Source, rows: Array) -> tuple[Tensor, Tensor]:
        similar, known = source.relate(rows)
        return torch.from_numpy(similar).to(self.device), torch.from_numpy(known).to(self.device)


class _Best:
    """The records of a run, and the network with the lowest held-out loss.

    Args:
        network: What is trained.
        patience: Looks without a better loss before the run ends; None: the last network is kept.
    """

    def __init__(self, network: Network, patience: int | None) -> None:
        self.records: list[Record] = []
        self._network, self._patience = network, patience
        self._kept: Record = {"loss": math.inf}
        self._state = network.state_dict()
        self._n_stale = 0

    def goes_on_after(self, record: Record) -> bool:
        """Take in a record of the network as it is now; return whether to train on."""
        self.records.append(record)
        if record["loss"] < self._kept["loss"] or self._patience is None:
            self._kept, self._n_stale = record, 0
            self._state = copy.deepcopy(self._network.state_dict())
            return True
        self._n_stale += 1
        return self._n_stale < self._patience

    def restore(self) -> Record:
        """Put the kept network in place, and return its record, marked."""
        self._network.load_state_dict(self._state)
        self._kept["kept"] = True
        return self._kept


class _Descent:
    """Steps down the gradient, at a rate that changes with each."""

    def __init__(self, network: Network, schedule: Schedule, total: int) -> None:
        self._network, self._clip = network, schedule.clip
        self._optimiser = _optimiser(network, schedule)
        self._rates = _rates(self._optimiser, schedule, total)

    def step(self, loss: Tensor) -> None:
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip is not None:
            nn.utils.clip_grad_norm_(self._network.parameters(), self._clip)
        self._optimiser.step()
        self._network.project()
        self._rates.step()


def _optimiser(network: Network, schedule: Schedule) -> torch.optim.Optimizer:
    groups = network.parameter_groups()
    rate, momentum = schedule.learning_rate, schedule.momentum
    if schedule.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=momentum, fused=True)
    decays = any(group["weight_decay"] for group in groups)
    kind = torch.optim.AdamW if decays else torch.optim.Adam
    return kind(groups, lr=rate, betas=(momentum, 0.999), fused=True)


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


def _deal(
    source: Source, rng: np.random.Generator, batch_size: int, n_batches: int
) -> Iterator[Array]:
    """Deal epoch after epoch, `n_batches` batches in all."""
    n_dealt = 0
    while n_dealt < n_batches:
        for rows in source.batches(rng, batch_size):
            yield rows
            n_dealt += 1
            if n_dealt == n_batches:
                return
