import pickle

import pytest

from kinhash import errors
from kinhash.errors import (
    CollapseWarning,
    FormatError,
    InvalidInputError,
    KinhashError,
    MissingExtraError,
    NotFittedError,
    SearchTimeout,
    unknown_name,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InvalidInputError, ValueError),
        (NotFittedError, Exception),
        (FormatError, Exception),
        (SearchTimeout, TimeoutError),
        (MissingExtraError, ImportError),
    ],
)
def test_one_class_catches_all_and_the_usual_ones_do_too(error, builtin):
    assert issubclass(error, KinhashError)
    assert issubclass(error, builtin)


def test_every_exception_is_a_kinhash_error_or_a_warning():
    found = [one for one in vars(errors).values() if isinstance(one, type)]
    own = [one for one in found if one.__module__ == errors.__name__]
    assert all(issubclass(one, (KinhashError, Warning)) for one in own)
    assert issubclass(CollapseWarning, UserWarning)


def test_a_timeout_says_how_long_it_was_and_survives_a_pickle():
    error = SearchTimeout(0.25)
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert str(copied) == str(error)
    assert copied.seconds == 0.25
    assert str(error).startswith("The search took longer than `timeout`=0.25 seconds. Raise it")


def test_a_missing_extra_has_the_pip_line():
    error = MissingExtraError("Training needs torch", "train")
    assert str(error) == "Training needs torch. Install it with: pip install 'kinhash[train]'"


def test_a_near_name_is_suggested_and_all_are_listed_in_order():
    error = unknown_name("method", "KHS", {"ksh", "agh", "lsh"})
    assert isinstance(error, InvalidInputError)
    assert str(error) == "Unknown method 'KHS'. Did you mean 'ksh'? Known: agh, ksh, lsh."


def test_without_a_near_name_none_is_suggested():
    assert str(unknown_name("method", "x", ["ksh"])) == "Unknown method 'x'. Known: ksh."
