"""Parameters that belong to one recipe: left at None they have that recipe's default."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from kinhash.arguments import check_choice
from kinhash.errors import InvalidInputError

RECIPES = ("strong", "paper")

P = TypeVar("P")
S = TypeVar("S")


@dataclasses.dataclass
class PaperParameters:
    """What the paper's network, loss and descent are set by, with their defaults."""

    n_bits: int
    seed: int
    verbose: bool
    margin: float = 7.0
    alpha: float = 0.001
    lam: float = 0.1
    similar_share: float = 0.22
    n_layers: int = 1
    signed: bool = False
    encoder: str = "ista"
    n_active: int | None = None
    beta: float = 3.0
    optimizer: str = "adam"
    learning_rate: float | None = None
    momentum: float = 0.9
    batch_size: int = 100
    max_epochs: int = 250
    max_steps: int = 2000
    validation_share: float = 0.1
    patience: int = 20
    n_neighbors: int = 10
    threshold: float | None = None
    device: str = "cpu"


@dataclasses.dataclass
class StrongParameters:
    """What the strong recipe is set by, with its defaults."""

    n_bits: int
    seed: int
    verbose: bool
    n_rank_bits: int | None = None
    transfer: float = 0.0


_ALWAYS_GIVEN = ("n_bits", "n_words", "seed", "verbose")  # None is no default of these


@dataclasses.dataclass
class MultimodalPaperParameters:
    """What the network of several modalities is set by, with its defaults."""

    n_bits: int
    n_words: int
    seed: int
    verbose: bool
    mu: float | Mapping[str, float] = 0.2
    margin: float = 16.0
    alpha: float = 0.02
    lam: float = 1.0
    similar_share: float = 0.5
    n_layers: int | Mapping[str, int] = 1
    signed: bool = False
    encoder: str | Mapping[str, str] = "ista"
    n_active: int | None = None
    n_anchors: int | Mapping[str, int] | None = None
    gamma: float = 1.0
    beta: float = 10.0
    weight_decay: float = 1.0
    optimizer: str = "adam"
    learning_rate: float | None = None
    momentum: float = 0.9
    batch_size: int = 256
    max_epochs: int = 50
    max_steps: int = 4000
    validation_share: float = 0.0
    patience: int = 20
    n_neighbors: int = 10
    device: str = "cpu"


@dataclasses.dataclass
class MultimodalStrongParameters:
    """What the strong recipe of several modalities is set by, with its defaults."""

    n_bits: int
    n_words: int
    seed: int
    verbose: bool
    n_rank_bits: int | None = None


def resolved(parameters: dict[str, Any]) -> PaperParameters | StrongParameters:
    """Return the parameters of `SparseHash` that belong to its recipe: see `of_recipe`."""
    return of_recipe(parameters, PaperParameters, StrongParameters)


def multimodal_resolved(
    parameters: dict[str, Any],
) -> MultimodalPaperParameters | MultimodalStrongParameters:
    """Return the same of `MultimodalSparseHash`."""
    return of_recipe(parameters, MultimodalPaperParameters, MultimodalStrongParameters)


def of_recipe(parameters: dict[str, Any], paper: type[P], strong: type[S]) -> P | S:
    """Return the parameters of the recipe that was asked for.

    Args:
        parameters: All of a method, by name; None where nothing was said.
        paper: Those of recipe="paper", a dataclass.
        strong: Those of recipe="strong", a dataclass.

    Raises:
        InvalidInputError: There is no such recipe, or a parameter belongs to another one.
    """
    given = {
        name: value
        for name, value in parameters.items()
        if value is not None or name in _ALWAYS_GIVEN
    }
    recipe = given.pop("recipe", None)
    check_choice("recipe", recipe, RECIPES)
    if recipe == "paper" and given.get("n_rank_bits") == 0:
        del given["n_rank_bits"]  # its codes have none
    own: type[P | S] = paper if recipe == "paper" else strong
    known = {field.name for field in dataclasses.fields(own)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            other = next(r for r in RECIPES if r != recipe)
            raise InvalidInputError(
                f"`{name}` belongs to recipe='{other}', but `recipe` is '{recipe}'. Add "
                f"recipe='{other}', or leave `{name}` out."
            )
    return own(**given)


def defaults_of(recipe: object) -> dict[str, Any]:
    """Return the defaults of a recipe's own parameters; of an unknown one there are none."""
    return _defaults(recipe, PaperParameters, StrongParameters)


def multimodal_defaults_of(recipe: object) -> dict[str, Any]:
    """Return the same of `MultimodalSparseHash`."""
    return _defaults(recipe, MultimodalPaperParameters, MultimodalStrongParameters)


def _defaults(recipe: object, paper: type, strong: type) -> dict[str, Any]:
    if recipe not in RECIPES:
        return {}
    return {
        field.name: field.default
        for field in dataclasses.fields(paper if recipe == "paper" else strong)
        if field.default is not dataclasses.MISSING
    }
