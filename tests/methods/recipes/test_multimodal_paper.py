"""The parameters of the network for several modalities; its fits: MultimodalSparseHash tests."""

import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods.recipes.multimodal_paper import check_multimodal_paper
from kinhash.methods.recipes.parameters import MultimodalPaperParameters


def settings(**given):
    return MultimodalPaperParameters(
        **({"n_bits": 16, "n_words": 10, "seed": 0, "verbose": False} | given)
    )


def test_the_defaults_can_be_used():
    check_multimodal_paper(settings())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mu": -1.0}, "`mu`.*-1"),
        ({"mu": {"image": 0.2, "text": -3.0}}, "-3"),
        ({"n_layers": {"text": -1}}, "-1"),
        ({"encoder": "istaa"}, "'istaa'.*Did you mean 'ista'"),
        ({"n_anchors": {"image": -5}}, "-5"),
        ({"margin": 0.0}, "`margin`"),
        ({"max_steps": 0}, "`max_steps`"),
    ],
)
def test_bad_parameters_are_refused_for_each_modality(given, message):
    with pytest.raises(InvalidInputError, match=message):
        check_multimodal_paper(settings(**given))
