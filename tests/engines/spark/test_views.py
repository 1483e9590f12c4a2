import pytest

from kinhash.engines.spark.views import views


def test_frames_are_tables_while_a_text_is_read_and_no_longer(spark):
    with views(spark.range(3), spark.range(5)) as [left, right]:
        both = spark.sql(f"FROM {left} JOIN {right} USING (id)")
    assert both.count() == 3
    assert not spark.catalog.tableExists(left)
    with pytest.raises(ZeroDivisionError), views(spark.range(3)) as [name]:
        raise ZeroDivisionError
    assert not spark.catalog.tableExists(name)
