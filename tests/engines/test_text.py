from kinhash.engines.dialects import DIALECTS
from kinhash.engines.layout import Layout
from kinhash.engines.text import Text, literal


def test_the_sign_bit_is_the_lowest_bigint():
    assert [literal(1), literal(2**62), literal(2**64 - 1)] == ["1", str(2**62), "-1"]
    assert literal(2**63) == "(-9223372036854775807 - 1)"


def test_without_subqueries_a_select_stands_alone():
    assert Text(Layout(3), DIALECTS["duckdb"], "id").select("SELECT 1") == "SELECT 1"
