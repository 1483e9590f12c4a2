import pytest

from kinhash.engines.dialects import DIALECTS, dialect_of
from kinhash.errors import InvalidInputError


def test_an_unknown_dialect_is_refused_with_the_nearest():
    with pytest.raises(InvalidInputError, match=r"Did you mean .postgres."):
        dialect_of("postgre")


def test_a_dialect_is_found_by_its_name():
    assert [dialect_of(name).name for name in DIALECTS] == ["duckdb", "spark", "postgres", "sqlite"]
