import doctest

import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods import METHODS
from kinhash.tuning import space
from kinhash.tuning.space import ladder, told


@pytest.mark.parametrize("has_labels", [True, False])
def test_each_setting_is_of_parameters_that_the_method_has(has_labels):
    for settings in ladder(list(METHODS), has_labels=has_labels):
        parameters = {key: value for key, value in settings.items() if key != "method"}
        METHODS[settings["method"]]().set_params(**parameters)
        assert METHODS[settings["method"]].__name__ in told(settings)


def test_settings_are_different_and_not_longer_than_wished_for():
    found = ladder(None, has_labels=True)
    assert {one["method"] for one in found} == set(space.WITH_LABELS)
    assert len({told(one) for one in found}) == len(found)
    short = ladder(None, has_labels=True, most_bytes=4)
    assert short == [one for one in found if one["n_bits"] <= 32]
    assert {one["method"] for one in ladder(None, has_labels=False)} == set(space.WITHOUT_LABELS)


def test_what_cannot_be_tried_is_refused():
    with pytest.raises(InvalidInputError, match=r"Unknown method 'iqt'.*itq"):
        ladder(["iqt"], has_labels=True)
    with pytest.raises(InvalidInputError, match="`methods` name itq twice"):
        ladder(["itq", "lsh", "itq"], has_labels=True)
    with pytest.raises(InvalidInputError, match="the nearest that can be met is bytes<=4"):
        ladder(["classcode"], has_labels=True, most_bytes=3)


def test_examples_run():
    assert doctest.testmod(space).failed == 0
