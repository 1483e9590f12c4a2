import dataclasses

import pytest

from kinhash import SparseHash
from kinhash.errors import InvalidInputError
from kinhash.methods.recipes.parameters import (
    PaperParameters,
    StrongParameters,
    defaults_of,
    resolved,
)

NOTHING_SET = SparseHash().get_params()


def test_every_parameter_of_sparsehash_belongs_to_a_recipe():
    of = {
        one: {f.name for f in dataclasses.fields(one)}
        for one in (PaperParameters, StrongParameters)
    }
    shared = {"n_bits", "seed", "verbose"}
    assert of[PaperParameters] & of[StrongParameters] == shared
    assert of[PaperParameters] | of[StrongParameters] | {"recipe"} == set(NOTHING_SET)
    own = {name: value for name, value in NOTHING_SET.items() if name not in {*shared, "recipe"}}
    assert set(own.values()) == {None}


@pytest.mark.parametrize(
    ("recipe", "kind"), [("strong", StrongParameters), ("paper", PaperParameters)]
)
def test_what_is_left_at_none_has_the_default_of_the_recipe(recipe, kind):
    found = resolved(NOTHING_SET | {"recipe": recipe, "seed": 3})
    assert found == kind(n_bits=64, seed=3, verbose=False)
    assert defaults_of(recipe).items() <= dataclasses.asdict(found).items()


def test_what_is_given_is_kept():
    found = resolved(NOTHING_SET | {"recipe": "paper", "margin": 0, "signed": False, "alpha": 0.5})
    assert (found.margin, found.signed, found.alpha, found.lam) == (0, False, 0.5, 0.1)


@pytest.mark.parametrize("name", sorted(defaults_of("paper")))
def test_a_parameter_of_the_paper_is_refused_by_the_strong_recipe(name):
    with pytest.raises(InvalidInputError) as caught:
        resolved(NOTHING_SET | {name: 1})
    assert str(caught.value) == (
        f"`{name}` belongs to recipe='paper', but `recipe` is 'strong'. Add recipe='paper', or "
        f"leave `{name}` out."
    )


@pytest.mark.parametrize("name", sorted(defaults_of("strong")))
def test_a_parameter_of_the_strong_recipe_is_refused_by_the_papers(name):
    with pytest.raises(InvalidInputError, match=f"`{name}` belongs to recipe='strong', but"):
        resolved(NOTHING_SET | {"recipe": "paper", name: 1})


def test_codes_of_the_paper_may_be_said_to_have_no_rank_bits():
    assert resolved(NOTHING_SET | {"recipe": "paper", "n_rank_bits": 0}).n_bits == 64


@pytest.mark.parametrize("recipe", ["papr", None, 3, []])
def test_an_unknown_recipe_is_refused_and_has_no_defaults(recipe):
    with pytest.raises(InvalidInputError, match="Unknown recipe"):
        resolved(NOTHING_SET | {"recipe": recipe})
    assert defaults_of(recipe) == {}


def test_no_length_is_no_default():
    assert resolved(NOTHING_SET | {"n_bits": None}).n_bits is None  # for `check_integer` to refuse
