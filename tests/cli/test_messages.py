import doctest

import kinhash.cli.messages
from kinhash.cli.messages import counted


def test_a_number_agrees_with_its_noun():
    assert [counted(n, "row") for n in (0, 1, 2, 1797)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,797 rows",
    ]
    assert counted(1, "match", "matches") == "1 match"
    assert counted(2, "match", "matches") == "2 matches"


def test_examples_run():
    assert doctest.testmod(kinhash.cli.messages).failed == 0
