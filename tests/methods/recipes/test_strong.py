"""The strong recipe: what is learned from what. SparseHash's own tests hold its promises."""

import numpy as np
import pytest

from kinhash import Pairs
from kinhash.encoders import LinearEncoder, NestedEncoder
from kinhash.encoders.class_rank import ClassRankEncoder
from kinhash.errors import InvalidInputError
from kinhash.methods.recipes.parameters import StrongParameters
from kinhash.methods.recipes.strong import check_strong, fit_strong


def settings(**given):
    return StrongParameters(**({"n_bits": 24, "seed": 0, "verbose": False} | given))


@pytest.fixture
def rows(rng):
    labels = np.repeat([0, 1, 2], 20)
    return 4 * np.eye(3)[labels] @ rng.normal(size=(3, 8)) + rng.normal(size=(60, 8)), labels


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_labels_give_class_words_and_rank_bits(rows):
    fit = fit_strong(settings(transfer=1.0), *rows, None, None)  # at 1 nothing is trained
    assert isinstance(fit.encoder, ClassRankEncoder)
    assert (fit.encoder.n_bits, fit.encoder.n_rank_bits) == (24, 18)
    (record,) = fit.history
    assert record["kept"]
    assert 0 < record["left_out_loss"] < np.log(3)


def test_vectors_alone_give_landmarks_and_rank_bits(rows):
    fit = fit_strong(settings(), rows[0], None, None, None)
    assert isinstance(fit.encoder, NestedEncoder)
    assert (fit.encoder.bucket.kind, fit.encoder.n_bits) == ("landmarks", 24)


def test_pairs_alone_give_bucket_bits_only(rng):
    X = rng.normal(size=(40, 8))
    twins = X + 0.01 * rng.normal(size=X.shape)
    fit = fit_strong(
        settings(), np.concatenate([X, twins]), None, Pairs(range(40), range(40, 80)), None
    )
    assert isinstance(fit.encoder, LinearEncoder)
    assert (fit.encoder.n_bits, fit.encoder.n_rank_bits) == (24, 0)
    assert fit.history[0]["radius"] >= 0


def test_labels_and_pairs_are_refused_together(rows):
    with pytest.raises(InvalidInputError, match="Give either `y` or `pairs`, got both"):
        fit_strong(settings(), *rows, Pairs([0], [1]), None)


def test_unlabelled_rows_need_labelled_ones(rows):
    with pytest.raises(InvalidInputError, match="`unlabelled` goes with `y`, which is None"):
        fit_strong(settings(), rows[0], None, None, rows[0])


def test_rank_bits_leave_a_bucket():
    with pytest.raises(InvalidInputError, match=r"integer in \[0, 23\], got 24"):
        check_strong(settings(n_rank_bits=24))
