"""`train_rank_bits`: signs of a linear map that order items by how likely they are similar."""

import numpy as np
import torch
from torch import Tensor

from kinhash.arrays import Array
from kinhash.progress import Report
from kinhash.training.loop import single_thread
from kinhash.training.losses.average_precision import average_precision

N_STEPS = 400
BATCH_ROWS = 400
RATE = 0.02
SLOPES = (1.0, 4.0)  # of the tanh that stands in for the sign, at the start and at the end


def similarity(likely: Tensor, *, exclusive: bool) -> Tensor:
    """Return the probability that two rows share a class, or about that, for tags."""
    shared = likely @ likely.T
    return shared if exclusive else 1 - torch.exp(-shared)


def train_rank_bits(
    inputs: Array,
    likely: Array,
    cells: Array,
    start: Array,
    *,
    exclusive: bool,
    seed: int,
    report: Report,
) -> tuple[Array, Array]:
    """Return weights `(n_bits, n_inputs)` and biases whose signs rank well.

    What is maximised is the average precision of the order that searches have: items of the
    query's own bucket first, then by the distance of the bits. In place of labels stand the
    probabilities that two rows are similar, so that rows may have no label.

    Args:
        inputs: `(n, n_inputs)` float32.
        likely: `(n, n_classes)` probabilities of classes or tags.
        cells: `(n,)` integers, equal for rows of one bucket.
        start: `(n_bits, n_inputs)`: the weights that the descent starts from.
        exclusive: Whether a row has one class, or any number of tags.
        seed: Draws the batches.
        report: Told of progress.
    """
    rng = np.random.default_rng(seed)
    n_bits = len(start)
    with single_thread():
        rows, share = torch.from_numpy(inputs), torch.from_numpy(likely.astype(np.float32))
        buckets = torch.from_numpy(cells.astype(np.int64))
        W = torch.tensor(start, dtype=torch.float32, requires_grad=True)
        bias = torch.zeros(n_bits, requires_grad=True)
        optimizer = torch.optim.Adam([W, bias], lr=RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_STEPS)
        for step in range(N_STEPS):
            chosen = torch.from_numpy(rng.permutation(len(inputs))[:BATCH_ROWS])
            slope = SLOPES[0] + (SLOPES[1] - SLOPES[0]) * step / N_STEPS
            soft = torch.tanh(slope * (rows[chosen] @ W.T + bias))
            # The loss sees bits, the gradient passes the tanh.
            bits = soft + (torch.sign(soft) - soft).detach()
            relevance = similarity(share[chosen], exclusive=exclusive)
            later = buckets[chosen][:, None] != buckets[chosen]
            known = 1 - torch.eye(len(chosen))
            distances = (n_bits - bits @ bits.T) / 2
            reached = average_precision(distances, relevance, later, known, n_bits)
            optimizer.zero_grad()
            (-reached.mean()).backward()  # type: ignore[no-untyped-call]  # torch
            optimizer.step()
            schedule.step()
            report(step + 1, N_STEPS)
    return W.detach().numpy(), bias.detach().numpy()
