import pytest
import typer

from kinhash.cli.options import Memory, listed_names, whole_numbers
from kinhash.index.memory import MEMORY


def test_names_stand_between_commas():
    assert listed_names("image, text", "--modalities") == ("image", "text")
    assert listed_names(None, "--modalities") is None


@pytest.mark.parametrize("text", ["image", "image,", "image,image", ""])
def test_fewer_than_two_different_names_are_refused(text):
    with pytest.raises(typer.BadParameter, match="two or more different names") as caught:
        listed_names(text, "--modalities")
    assert repr(text) in str(caught.value)
    assert caught.value.param_hint == "'--modalities'"


def test_whole_numbers_stand_between_commas():
    assert whole_numbers("0,2, 10", "--radii", low=0, example="0,2") == (0, 2, 10)
    assert whole_numbers("48", "--bits", low=1, high=64, example="48,64") == (48,)


@pytest.mark.parametrize("text", ["", "0;2", "1.5", "0,,2", "ten", "-1,2", "65"])
def test_other_lists_are_refused_with_what_came(text):
    with pytest.raises(typer.BadParameter, match=r"integers from 0 to 64 .* as 0,2") as caught:
        whole_numbers(text, "--radii", low=0, high=64, example="0,2")
    assert repr(text) in str(caught.value)
    assert caught.value.param_hint == "'--radii'"


def test_the_memory_settings_are_those_of_the_index():
    assert {one.value for one in Memory} == set(MEMORY)
