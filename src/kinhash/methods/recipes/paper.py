"""The paper's recipe: its network and loss, trained over pairs by gradient descent."""

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.arrays import Labels, Matrix
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.networks.fit import Fitted, Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.networks.sparse import check_sparse, sparse_branch, sparse_health, sparse_loss
from kinhash.methods.recipes.parameters import PaperParameters
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import Pairs

USUAL_BETA = PaperParameters.beta


def check_paper(settings: PaperParameters) -> None:
    """Raise InvalidInputError if a parameter cannot be used."""
    check_descent(settings)
    if settings.threshold is not None:
        check_number("threshold", settings.threshold, 0, open_low=True)
    check_integer("n_layers", settings.n_layers, 0, 100)
    check_choice("encoder", settings.encoder, ("cod", "ista"))
    check_sparse(settings, [settings.encoder])


def fit_paper(
    settings: PaperParameters, X: Matrix, y: Labels | None, pairs: Pairs | None
) -> Fitted:
    """Return the network learned from vectors and what is similar among them."""
    check_torch(settings.device)
    rows = Modality.only(X)
    source = pair_source(
        rows.vectors,
        y,
        pairs,
        n_neighbors=settings.n_neighbors,
        threshold=settings.threshold,
        seed=settings.seed,
    )
    recipe = Recipe(
        title=f"SparseHash, {settings.n_bits} bits",
        n_bits=settings.n_bits,
        branch=lambda _, dictionary: sparse_branch(
            settings, dictionary, encoder=settings.encoder, n_layers=settings.n_layers
        ),
        loss=sparse_loss(settings),
        schedule=schedule_of(settings),
        health=sparse_health(settings, [settings.encoder], USUAL_BETA),
        verbose=settings.verbose,
    )
    return fit_networks(recipe, {rows.name: rows}, source)
