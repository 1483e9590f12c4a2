import math

import numpy as np
import pytest
import torch

from kinhash.pairs import LabelSource
from kinhash.pairs.sources import Relation
from kinhash.training.inputs import Inputs
from kinhash.training.loop import EARLY_STEP, train
from kinhash.training.losses import SparseHashLoss
from kinhash.training.networks import IstaNetwork
from kinhash.training.schedule import Schedule

LOSS = SparseHashLoss(margin=4.0, lam=0.3, alpha=0.001, similar_share=0.3)


def schedule(**changes):
    settings = {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "momentum": 0.9,
        "batch_size": 20,
        "max_epochs": 100,
        "max_steps": 60,
        "patience": 5,
        "validation_share": 0.0,
        "seed": 0,
        "device": "cpu",
    }
    return Schedule(**(settings | changes))


class Run:
    """A small problem: two classes, far apart in their first column."""

    def __init__(self, rng, **changes):
        self.labels = rng.integers(2, size=100)
        X = rng.normal(size=(100, 6)).astype(np.float32)
        X[:, 0] += 8 * self.labels
        self.inputs = Inputs(X, X.mean(axis=0), np.ones(6, np.float32), "cpu")
        self.source = LabelSource.from_labels(self.labels)
        start = torch.from_numpy(rng.normal(size=(8, 6)).astype(np.float32))
        self.network = IstaNetwork(start, beta=3.0, n_steps=1, signed=False)
        self.schedule = schedule(**changes)
        self.early, self.reports = [], []

    def __call__(self, loss=LOSS, source=None):
        return train(
            self.network,
            loss,
            source or self.source,
            self.inputs,
            self.schedule,
            report=lambda *args: self.reports.append(args),
            on_early=lambda *args: self.early.append(args),
        )


def test_the_loss_falls_and_every_look_is_recorded(rng):
    run = Run(rng)
    records, kept = run()
    assert [record["step"] for record in records] == sorted(
        {math.ceil(60 * (i + 1) / 50) for i in range(50)}
    )
    assert records[-1]["loss"] < 0.5 * records[0]["loss"]
    assert kept is records[-1]  # nothing is held out, so the last network is kept
    assert [record["kept"] for record in records] == [False] * (len(records) - 1) + [True]
    assert [(step, total) for step, total, _ in run.reports] == [(r["step"], 60) for r in records]


def test_the_kept_network_is_that_of_the_best_held_out_loss(rng):
    run = Run(rng, validation_share=0.3, learning_rate=0.5, max_steps=200, patience=3)
    records, kept = run()
    losses = [record["loss"] for record in records]
    assert kept["loss"] == min(losses)
    assert len(records) == losses.index(min(losses)) + 1 + 3
    rng = np.random.default_rng(0)
    _, held_out = run.source.split(rng, 0.3)
    rows = next(iter(held_out.batches(np.random.default_rng(0), 1000)))
    similar, known = (torch.from_numpy(part) for part in held_out.relate(rows))
    with torch.no_grad():
        outputs = run.network(run.inputs[rows])
        assert float(LOSS(outputs, outputs, similar, known).total) == pytest.approx(kept["loss"])


def test_with_too_few_rows_held_out_training_goes_on_to_the_end(rng):
    records, kept = Run(rng, validation_share=0.1, patience=1)()
    assert records[-1]["step"] == 60
    assert kept is records[-1]


def test_the_distances_before_and_after_the_first_steps_are_told_once(rng):
    run = Run(rng)
    run()
    assert len(run.early) == 1
    assert all(distance > 0 for distance in run.early[0])
    short = Run(rng, max_steps=EARLY_STEP)
    short()
    assert not short.early


def test_the_network_is_told_the_share_done_and_looked_at_as_it_will_encode(rng):
    told, modes = [], []

    class Told(IstaNetwork):
        def anneal(self, done):
            told.append(done)

        def forward(self, x):
            modes.append(self.training)
            return super().forward(x)

    run = Run(rng, max_steps=20)
    run.network = Told(run.network.W.detach(), beta=3.0, n_steps=1, signed=False)
    run()
    assert told == [step / 20 for step in range(20)]
    assert modes == [True, False] * 20  # a look after every step


def test_max_epochs_ends_a_run_too(rng):
    records, _ = Run(rng, max_epochs=2, max_steps=1000)()
    assert records[-1]["step"] == 10  # 100 rows in batches of 20
    assert records[-1]["epoch"] == 2


def test_a_run_is_repeatable():
    runs = [Run(np.random.default_rng(1), validation_share=0.3) for _ in range(2)]
    assert runs[0]() == runs[1]()
    assert torch.equal(runs[0].network.W, runs[1].network.W)


@pytest.mark.parametrize("change", [{"clip": 1e-6, "optimizer": "sgd"}, {"warm_up": 0.5}])
def test_clipping_and_warming_up_change_the_steps(change):
    plain = Run(np.random.default_rng(1), optimizer=change.get("optimizer", "adam"))
    changed = Run(np.random.default_rng(1), **change)
    start = changed.network.W.detach().clone()
    plain()
    changed()
    assert not torch.equal(plain.network.W, changed.network.W)
    if "clip" in change:  # a gradient of 1e-6 moves nothing to speak of
        assert torch.allclose(changed.network.W, start, atol=1e-3)


class Softened(LabelSource):
    """Rows of a class are similar by the given share only, and others by the rest."""

    share = 1.0

    def relate(self, rows):
        similar, known = super().relate(rows)
        return Relation(np.where(similar, self.share, 1 - self.share).astype(np.float32), known)


def test_similarities_between_zero_and_one_teach_in_proportion(rng):
    """At 1 they are the labels; at 1/2 every pair is the same, and nothing keeps classes apart."""
    distances = {}
    for share in (None, 1.0, 0.9, 0.5):
        run = Run(np.random.default_rng(1), max_steps=150)
        if share is not None:
            source = Softened(run.source.labels, run.source.units)
            object.__setattr__(source, "share", share)
        records, _ = run(source=None if share is None else source)
        rows = np.arange(100)
        with torch.no_grad():
            D = torch.cdist(run.network(run.inputs[rows]), run.network(run.inputs[rows]), p=1)
        alike = torch.from_numpy(run.labels[:, None] == run.labels)
        distances[share] = float(D[~alike].mean() - D[alike].mean())
        assert np.isfinite(records[-1]["loss"])
    assert distances[1.0] == distances[None]
    assert distances[1.0] > distances[0.9] > distances[0.5]
