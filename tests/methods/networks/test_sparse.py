import pytest
import torch

from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.methods.networks.sparse import (
    check_sparse,
    sparse_branch,
    sparse_health,
    sparse_loss,
)
from kinhash.methods.recipes.parameters import PaperParameters
from kinhash.training.networks import CodNetwork, IstaNetwork


def paper(n_bits=64, **given):
    """Return the settings of the paper's recipe."""
    return PaperParameters(**({"n_bits": n_bits, "seed": 0, "verbose": False} | given))


def test_the_loss_has_the_parameters_of_the_method():
    loss = sparse_loss(paper(margin=5, lam=0.2, alpha=0.01, similar_share=0.4))
    assert (loss.margin, loss.lam, loss.alpha, loss.similar_share) == (5, 0.2, 0.01, 0.4)


def test_each_encoder_has_its_network():
    W = torch.eye(12)
    ista = sparse_branch(paper(12), W, encoder="ista", n_layers=3, weight_decay=2.0)
    assert isinstance(ista, IstaNetwork)
    assert (ista.n_steps, ista.beta, ista.weight_decay) == (3, 3.0, 2.0)
    cod = sparse_branch(paper(12, signed=True), W, encoder="cod", n_layers=3)
    assert isinstance(cod, CodNetwork)
    assert (cod.n_steps, cod.signed) == (8, True)


@pytest.mark.parametrize(
    ("model", "encoder", "distance"),
    [
        (paper(64, margin=7), "ista", 7),
        (paper(4, margin=7), "ista", 4),
        (paper(64, margin=7, n_active=2), "cod", 4),
        (paper(64, margin=20), "cod", 16),
    ],
)
def test_no_more_is_wanted_than_codes_can_differ(model, encoder, distance):
    assert sparse_health(model, [encoder], 3.0).distance == distance


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({}, "Raise `lam` (now 0.1) or `margin` (now 7)."),
        # push over pull: 0.1 * 7 * 0.2 / 0.8 = 0.175
        (
            {"similar_share": 0.8},
            "The push is weak against the pull (0.17 to 1): raise `lam` (now 0.1) to 1.4.",
        ),
        ({"alpha": 1.0}, "Lower `alpha` (now 1) to 0.01 or less."),
        ({"learning_rate": 0.5}, "Lower `learning_rate` (now 0.5) to 0.01."),
        ({"beta": 30.0}, "Lower `beta` (now 30) to 10."),
    ],
)
def test_the_advice_names_the_parameter_that_is_farthest_off(parameters, advice):
    assert sparse_health(paper(**parameters), ["ista"], 3.0).remedy == advice


def test_a_push_weaker_than_the_pull_is_announced_before_training():
    with pytest.warns(CollapseWarning, match="Codes may collapse. The push is weak"):
        check_sparse(paper(lam=0.01), ["ista"])


def test_a_number_of_active_bits_needs_coordinate_descent():
    check_sparse(paper(n_active=5), ["ista", "cod"])
    with pytest.raises(InvalidInputError, match="`n_active` is guaranteed only by encoder='cod'"):
        check_sparse(paper(n_active=5), ["ista"])


def test_signed_codes_have_half_as_many_entries():
    check_sparse(paper(2048, signed=True), ["ista"])
    check_sparse(paper(4096), ["ista"])
    message = "`n_bits` must be at most 2048 with signed=True, got 2049: a signed entry takes two"
    with pytest.raises(InvalidInputError, match=message):
        check_sparse(paper(2049, signed=True), ["ista"])
