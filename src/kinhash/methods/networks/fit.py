"""`fit_networks`: the one way to train, for one modality and for several."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kinhash.arrays import Array, Matrix
from kinhash.encoders import Encoder, as_float32, unit_length
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import warn
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.networks.collapse import Health, warn_after, warn_early
from kinhash.methods.parts.gaussian_units import GaussianUnits, with_units
from kinhash.pairs import Source, Views
from kinhash.progress import progress_bar
from kinhash.training.schedule import Schedule

if TYPE_CHECKING:
    from torch import Tensor

    from kinhash.training.networks import Branch

MAX_CHECKED_ROWS = 10_000  # of each modality, encoded at the end to look for a collapse


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a method hands over: everything about training but the data.

    Attributes:
        title: What the progress bar says.
        n_bits: Length of the codes.
        branch: From the name of a modality and its initial W `(n_bits, n_inputs)` to its network.
        loss: Over the outputs of pairs: see `training/losses/`.
        schedule: How long and how fast.
        health: What to warn of.
        first_layer: The fixed layer below the network of a modality, or None: standardised
            vectors go in, of unit length.
        mu: For each modality, the weight of the pairs within it against those across.
        verbose: Show a progress bar on a terminal.
    """

    title: str
    n_bits: int
    branch: Callable[[str, "Tensor"], "Branch"]
    loss: Any
    schedule: Schedule
    health: Health
    first_layer: Callable[[Modality], GaussianUnits | None] = lambda _: None
    mu: Mapping[str, float] = dataclasses.field(default_factory=dict)
    verbose: bool = False


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What training leaves: an encoder for each modality, and what was measured on the way."""

    encoders: dict[str, Encoder]
    history: list[dict[str, float]]


def fit_networks(recipe: Recipe, modalities: Mapping[str, Modality], source: Source) -> Fitted:
    """Train a network for each modality, all into one space of codes.

    Args:
        recipe: Network, loss, first layer, schedule, collapse checks.
        modalities: The training rows; one modality or several.
        source: Deals batches of their rows (of several modalities: `Views`), and relates them.

    Warns:
        CollapseWarning: Nearly all items get the same or the empty code; says what to change.
        UserWarning: There are fewer rows than bits.
    """
    import torch  # noqa: PLC0415 - only training needs it

    from kinhash.training.inputs import Inputs, MultimodalInputs  # noqa: PLC0415 - torch
    from kinhash.training.loop import Rows, single_thread, train  # noqa: PLC0415 - torch
    from kinhash.training.losses import MultimodalLoss  # noqa: PLC0415 - torch
    from kinhash.training.networks import MultimodalNetwork, Network  # noqa: PLC0415 - torch

    seed, device = recipe.schedule.seed, recipe.schedule.device
    for modality in modalities.values():
        _warn_of_few_rows(modality, recipe.n_bits)
    # One thread for matrix products, too: how they are cut up would change the last digits.
    progress = progress_bar(recipe.title, shown=recipe.verbose)
    with single_thread(), one_blas_thread(), progress as report:
        lifts = {name: recipe.first_layer(m) for name, m in modalities.items()}
        branches = {
            name: recipe.branch(
                name,
                torch.from_numpy(_initial_dictionary(m, lifts[name], recipe.n_bits, seed + number)),
            )
            for number, (name, m) in enumerate(modalities.items())
        }
        inputs = [
            Inputs(m.filled(), m.mean, m.scale, device, lifts[name])
            for name, m in modalities.items()
        ]
        network: Network = next(iter(branches.values()))
        loss = recipe.loss
        rows: Rows = inputs[0]
        if isinstance(source, Views):
            network = MultimodalNetwork(tuple(branches.values()))
            weights = tuple(recipe.mu[name] for name in modalities)
            loss = MultimodalLoss(recipe.loss, weights, tuple(modalities))
            rows = MultimodalInputs(inputs, source.starts)
        history, kept = train(
            network,
            loss,
            source,
            rows,
            recipe.schedule,
            report=report,
            on_early=lambda initial, early: warn_early(recipe.health, initial, early),
        )
    encoders = {
        name: with_units(branch.encoder(m.mean, m.scale), lifts[name])
        for (name, branch), m in zip(branches.items(), modalities.values(), strict=True)
    }
    codes = {name: encoders[name].encode(_checked_rows(m)) for name, m in modalities.items()}
    warn_after(recipe.health, codes, kept)
    return Fitted(encoders, history)


def _warn_of_few_rows(modality: Modality, n_bits: int) -> None:
    n_rows = int(modality.present.sum())
    if n_rows < n_bits:
        warn(
            f"{modality.label} has {n_rows} rows, fewer than the {n_bits} bits: the rest of the "
            "network starts at random. Lower `n_bits` or add rows.",
            UserWarning,
        )


def _initial_dictionary(
    modality: Modality, lift: GaussianUnits | None, n_bits: int, seed: int
) -> Array:
    """Return `n_bits` random training vectors as the network sees them: the initial W."""
    rng = np.random.default_rng(seed)
    there = np.flatnonzero(modality.present)
    chosen = modality.vectors[there[np.sort(rng.permutation(len(there))[:n_bits])]]
    dense = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    standard = (as_float32(dense) - modality.mean) * modality.scale
    atoms = (unit_length if lift is None else lift)(standard)
    atoms = atoms[np.any(atoms, axis=1)]
    # Too few different rows: random directions make up the number.
    used = modality.scale > 0 if lift is None else np.ones(lift.n_outputs, bool)
    rest = rng.standard_normal((n_bits - len(atoms), len(used))).astype(np.float32)
    return rng.permutation(np.concatenate([atoms, unit_length(rest * used)]))


def _checked_rows(modality: Modality) -> Matrix:
    rows = np.flatnonzero(modality.present)
    return modality.vectors[rows[:: math.ceil(len(rows) / MAX_CHECKED_ROWS)]]
