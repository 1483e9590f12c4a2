import warnings

import pytest

from kinhash.engines.versions import check_version
from kinhash.errors import InvalidInputError, UntestedVersionWarning


@pytest.mark.parametrize("found", ["1.4.0", "1.5", "2.0.7", "2.0.7 (Debian 2.0.7-1)"])
def test_a_tested_version_is_accepted(found):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version("DuckDB", found, tested=("1.4", "2.0"), oldest="1.3")


@pytest.mark.parametrize("found", ["1.3.9", "2.1.0", "3.0rc1"])
def test_another_version_warns(found):
    with pytest.warns(UntestedVersionWarning, match=f"DuckDB {found} has not .* 1.4 to 2.0 has"):
        check_version("DuckDB", found, tested=("1.4", "2.0"), oldest="1.3")


def test_one_tested_version_is_told_as_one():
    with pytest.warns(UntestedVersionWarning, match=r"PostgreSQL 16.2 .* PostgreSQL 15 has"):
        check_version("PostgreSQL", "16.2", tested=("15", "15"), oldest="14")


def test_a_version_that_lacks_what_is_used_is_refused():
    with pytest.raises(InvalidInputError, match=r"PostgreSQL 13.1 is too old: 14 or newer"):
        check_version("PostgreSQL", "13.1", tested=("15", "15"), oldest="14")
