import warnings

import numpy as np
import pytest

from kinhash import SparseHash
from kinhash.errors import CollapseWarning
from kinhash.methods.modalities.modality import Modality, read_modalities
from kinhash.methods.networks.fit import Recipe, fit_networks
from kinhash.methods.networks.schedule import schedule_of
from kinhash.methods.networks.sparse import sparse_branch, sparse_health, sparse_loss
from kinhash.methods.parts.gaussian_units import units_at_rows
from kinhash.methods.recipes.parameters import PaperParameters
from kinhash.methods.supervision.views import view_source
from kinhash.pairs import LabelSource
from kinhash.pairs.sources import Relation


def paper(n_bits=64, **given):
    """Return the settings of the paper's recipe."""
    return PaperParameters(**({"n_bits": n_bits, "seed": 0, "verbose": False} | given))


MODEL = paper(16, max_steps=60)


def recipe(**changes):
    settings = {
        "title": "test",
        "n_bits": 16,
        "branch": lambda _, W: sparse_branch(MODEL, W, encoder="ista", n_layers=1),
        "loss": sparse_loss(MODEL),
        "schedule": schedule_of(MODEL),
        "health": sparse_health(MODEL, ["ista"], 3.0),
    }
    return Recipe(**(settings | changes))


@pytest.fixture
def rows(rng):
    y = rng.integers(3, size=150)
    return rng.normal(size=(150, 6)) + 6 * np.eye(3, 6)[y], y


def test_one_modality_is_what_sparsehash_fits(rows):
    X, y = rows
    fitted = fit_networks(recipe(), {"X": Modality.only(X)}, LabelSource.from_labels(y))
    model = SparseHash(16, recipe="paper", max_steps=60).fit(X, y)
    assert fitted.encoders["X"].encode(X) == model.encode(X)
    assert fitted.history == model.history_


def test_each_modality_gets_a_network_over_its_first_layer(rows):
    X, y = rows
    modalities = read_modalities({"a": X, "b": X[:, :3]}, n_words=10)
    source = view_source(modalities, y, None, n_neighbors=5, seed=0)
    seen = []

    def units(m):
        seen.append(m.name)
        if m.name == "a":
            return None
        return units_at_rows(m.vectors, m.mean, m.scale, 20, gamma=1.0, seed=0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)  # 60 steps are not many
        fitted = fit_networks(recipe(first_layer=units, mu={"a": 1, "b": 1}), modalities, source)
    assert seen == ["a", "b"]
    assert [fitted.encoders[name].kind for name in "ab"] == ["ista", "kernel-ista"]
    assert fitted.encoders["b"].n_features == 3


def test_similarities_between_zero_and_one_can_be_learned_from(rows):
    """A source may relate rows by any weights: next to labels, a teacher's doubts."""
    X, y = rows

    class Doubtful(LabelSource):
        def relate(self, chosen):
            similar, known = super().relate(chosen)
            return Relation(np.where(similar, 0.95, 0.05).astype(np.float32), known)

    labels = LabelSource.from_labels(y)
    fitted = fit_networks(recipe(), {"X": Modality.only(X)}, Doubtful(labels.labels, labels.units))
    dense = fitted.encoders["X"].encode(X).to_dense()
    D = np.abs(dense[:, None] - dense[None]).sum(axis=2)
    alike = y[:, None] == y
    assert D[~alike].mean() > D[alike].mean() + 1


def test_warnings_point_at_the_line_that_called(rows):
    X, y = rows
    sparse = recipe(loss=sparse_loss(paper(alpha=30.0)))  # of which no bit remains
    with pytest.warns(CollapseWarning) as caught:
        fit_networks(sparse, {"X": Modality.only(X)}, LabelSource.from_labels(y))
    assert {warning.filename for warning in caught} == {__file__}


def test_fewer_rows_than_bits_are_named(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="`X` has 12 rows, fewer than the 16 bits"):
        fit_networks(recipe(), {"X": Modality.only(X[:12])}, LabelSource.from_labels(y[:12]))
