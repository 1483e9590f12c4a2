import sqlite3

import pytest

from kinhash.engines import lookups
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError

PRIME, BASE = 2147483629, 1103515245


def test_a_key_is_the_code_modulo_a_prime_word_by_word():
    connection = sqlite3.connect(":memory:")
    words = (2**62 + 5, 2**40 + 1)
    [[found]] = connection.execute(
        f"SELECT {lookups.key(Layout(128), 'x.')} FROM (SELECT ? AS w0, ? AS w1) x",  # noqa: S608
        words,
    ).fetchall()
    connection.close()
    assert found == (words[0] % PRIME * BASE + words[1] % PRIME) % PRIME


@pytest.mark.parametrize(("n_bits", "n_changed", "expected"), [(64, None, 36), (9, None, 5)])
def test_bits_without_keys_are_spread_evenly(n_bits, n_changed, expected):
    rows = lookups.create(Layout(n_bits), n_changed=n_changed)[3].splitlines()[1:]
    stored = [int(row.split(",")[1]) for row in rows]
    assert len(stored) - sum(stored) == expected
    assert max(len(run) for run in "".join(map(str, stored)).split("1")) <= 2


def test_out_of_range_is_refused():
    with pytest.raises(InvalidInputError, match=r"`n_changed` must be an integer in \[0, 8\]"):
        lookups.create(Layout(8), n_changed=9)
    with pytest.raises(InvalidInputError, match="`radius` must be an integer of at least 0"):
        lookups.query(Layout(8), radius=-1)
