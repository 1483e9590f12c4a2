"""The paper's recipe for several modalities: a network for each, trained over pairs."""

from collections.abc import Mapping
from typing import Any

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.errors import InvalidInputError
from kinhash.methods.modalities.modality import Modality, per_modality
from kinhash.methods.networks.fit import Fitted, Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.networks.sparse import check_sparse, sparse_branch, sparse_health, sparse_loss
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows
from kinhash.methods.recipes.parameters import MultimodalPaperParameters
from kinhash.methods.supervision.views import view_source

N_ANCHORS = 2000  # of a dense modality
USUAL_BETA = MultimodalPaperParameters.beta


def check_multimodal_paper(settings: MultimodalPaperParameters) -> None:
    """Raise InvalidInputError if a parameter cannot be used."""
    check_descent(settings)
    for name, value in _each("mu", settings.mu):
        check_number(name, value, 0)
    for name, value in _each("n_layers", settings.n_layers):
        check_integer(name, value, 0, 100)
    for name, value in _each("encoder", settings.encoder):
        check_choice(name, value, ("cod", "ista"))
    for name, value in _each("n_anchors", settings.n_anchors):
        if value is not None:
            check_integer(name, value, 0)
    check_number("gamma", settings.gamma, 0, open_low=True)
    check_number("weight_decay", settings.weight_decay, 0)
    check_integer("n_words", settings.n_words, 1)
    check_sparse(settings, [value for _, value in _each("encoder", settings.encoder)])


def fit_multimodal_paper(
    settings: MultimodalPaperParameters,
    modalities: Mapping[str, Modality],
    y: Any,  # noqa: ANN401 - see fit
    pairs: Any,  # noqa: ANN401
) -> Fitted:
    """Return the networks learned from what is similar within modalities and across."""
    check_torch(settings.device)
    recipe = _recipe(settings, modalities)
    if not any(recipe.mu.values()) and len(modalities) == 1:
        raise InvalidInputError(
            "`mu` is 0, which leaves no pairs of a single modality. Raise it, or add a modality."
        )
    source = view_source(modalities, y, pairs, n_neighbors=settings.n_neighbors, seed=settings.seed)
    return fit_networks(recipe, modalities, source)


def _recipe(settings: MultimodalPaperParameters, modalities: Mapping[str, Modality]) -> Recipe:
    encoders = per_modality("encoder", settings.encoder, modalities, "ista")
    n_layers = per_modality("n_layers", settings.n_layers, modalities, 1)
    n_units = _n_units(settings, modalities, encoders)
    decay = settings.weight_decay if settings.optimizer == "adam" else 0.0

    def units(m: Modality) -> GaussianUnits | None:
        if not n_units[m.name]:
            return None
        return units_at_rows(
            m.there(), m.mean, m.scale, n_units[m.name], gamma=settings.gamma, seed=settings.seed
        )

    return Recipe(
        title=f"MultimodalSparseHash, {settings.n_bits} bits",
        n_bits=settings.n_bits,
        branch=lambda name, dictionary: sparse_branch(
            settings,
            dictionary,
            encoder=encoders[name],
            n_layers=n_layers[name],
            weight_decay=decay if n_units[name] else decay / 2,
        ),
        loss=sparse_loss(settings),
        schedule=schedule_of(settings, warm_up=0.2, clip=5.0),
        health=sparse_health(settings, encoders.values(), USUAL_BETA),
        first_layer=units,
        mu=per_modality("mu", settings.mu, modalities, 0.2),
        verbose=settings.verbose,
    )


def _n_units(
    settings: MultimodalPaperParameters,
    modalities: Mapping[str, Modality],
    encoders: Mapping[str, str],
) -> dict[str, int]:
    """Return how many Gaussian units lie below the network of each modality."""
    n_units = {}
    for name, wanted in per_modality("n_anchors", settings.n_anchors, modalities, None).items():
        default = 0 if modalities[name].is_sparse else N_ANCHORS
        n_units[name] = default if wanted is None else wanted
        if encoders[name] != "ista":
            n_units[name] = 0
    return n_units


def _each(name: str, value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - one value, or a dict
    """Return what to call each value of a parameter, and the value."""
    if isinstance(value, Mapping):
        return [(f"{name}[{key!r}]", one) for key, one in value.items()]
    return [(name, value)]
