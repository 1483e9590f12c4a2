import sys

import pytest

from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.methods.networks.schedule import check_descent, check_torch, rate_of, schedule_of
from kinhash.methods.recipes.parameters import PaperParameters


def paper(n_bits=64, **given):
    """Return the settings of the paper's recipe."""
    return PaperParameters(**({"n_bits": n_bits, "seed": 0, "verbose": False} | given))


def test_the_rate_is_that_of_the_optimizer_unless_given():
    assert rate_of(paper()) == 0.01
    assert rate_of(paper(optimizer="sgd")) == 0.05
    assert rate_of(paper(learning_rate=0.3)) == 0.3


def test_a_schedule_has_the_parameters_of_the_method():
    model = paper(batch_size=50, max_epochs=3, max_steps=9, patience=2, seed=5, momentum=0.5)
    found = schedule_of(model, warm_up=0.2, clip=5.0)
    assert (found.batch_size, found.max_epochs, found.max_steps) == (50, 3, 9)
    assert (found.patience, found.seed, found.momentum) == (2, 5, 0.5)
    assert (found.warm_up, found.clip, found.learning_rate) == (0.2, 5.0, 0.01)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bits": 0}, r"`n_bits` must be an integer in \[1, 4096\], got 0"),
        ({"beta": 0}, "`beta` must be a number greater than 0, got 0"),
        ({"learning_rate": -1}, "`learning_rate` must be a number greater than 0, got -1"),
        ({"momentum": 1}, "`momentum` must be .* got 1"),
        ({"max_steps": 0}, "`max_steps` must be an integer of at least 1, got 0"),
        ({"max_epochs": 0.5}, "`max_epochs` must be an integer, got 0.5"),
        ({"validation_share": 1}, "`validation_share` must be .* got 1"),
        ({"patience": 0}, "`patience` must be an integer of at least 1, got 0"),
        ({"n_neighbors": 0}, "`n_neighbors` must be an integer of at least 1, got 0"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        check_descent(paper(**parameters))


def test_devices_that_cannot_be_used_are_named(monkeypatch):
    check_torch("cpu")
    with pytest.raises(InvalidInputError, match="`device` 'abacus' cannot be used"):
        check_torch("abacus")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kinhash\[train\]'"):
        check_torch("cpu")
