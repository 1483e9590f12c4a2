import doctest

from kinhash.methods import METHODS, MULTIMODAL_METHODS
from kinhash.show import looks as looks_module
from kinhash.show.looks import LOOKS, look_of, looks


def test_every_method_has_a_look_of_its_own():
    names = [*(kind.__name__ for kind in METHODS.values()), "L2", "cosine"]
    missing = [name for name in names if name not in LOOKS]
    assert not missing, "each method needs a line in kinhash/show/looks.py"
    assert len({LOOKS[name].colour for name in names}) == len(names)
    assert len({LOOKS[name].marker for name in names}) == len(names)
    several = [kind.__name__ for kind in MULTIMODAL_METHODS.values()]
    assert len({LOOKS[name].colour for name in several}) == len(several)


def test_a_method_looks_the_same_whatever_stands_beside_it():
    alone = looks(["NNHash"])["NNHash"]
    assert looks(["LSH", "mine", "NNHash", "KSH"])["NNHash"] == alone == LOOKS["NNHash"]


def test_variants_share_the_colour_of_their_method_and_differ_in_markers():
    found = looks(["AGH1", "AGH2", "Nested (ClassCode; ITQ)", "Nested (ClassCode; LSH)"])
    colours = [look.colour for look in found.values()]
    assert colours == [LOOKS[name].colour for name in ("AGH", "AGH", "Nested", "Nested")]
    assert len({look.marker for look in found.values()}) == 4


def test_unknown_methods_take_colours_that_no_other_has():
    names = ["mine, alpha 1", "mine, alpha 2", "yours", "LSH"]
    first, second, third, lsh = looks(names).values()
    assert first.colour == second.colour
    assert len({first.colour, third.colour, lsh.colour}) == 3
    assert {first.colour, third.colour}.isdisjoint(look.colour for look in LOOKS.values())
    assert look_of("mine, alpha 1") is None


def test_more_methods_than_markers_are_still_drawn():
    names = [f"method {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert list(looks(names)) == names


def test_docstring_examples_run():
    assert doctest.testmod(looks_module).failed == 0
