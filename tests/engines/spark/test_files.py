import pyarrow as pa
import pytest

from kinhash.engines.spark.files import check_free, read_parquet, write_parquet
from kinhash.errors import InvalidInputError


def test_rows_are_written_whole_and_counted(spark, tmp_path):
    out = str(tmp_path / "a b" / "rows")
    assert write_parquet(spark.range(0, 10, 1, 3), out) == 10
    assert read_parquet(spark, out).count() == 10
    assert write_parquet(spark.range(0), str(tmp_path / "none")) == 0
    assert read_parquet(spark, str(tmp_path / "none")).columns == ["id"]


def test_what_is_there_is_replaced_only_if_asked_even_if_it_is_read(spark, tmp_path):
    out = str(tmp_path / "rows")
    write_parquet(spark.range(10), out)
    with pytest.raises(InvalidInputError, match=r"rows exists already. Pass `force` to replace it"):
        write_parquet(spark.range(3), out)
    assert write_parquet(read_parquet(spark, out).where("id < 4"), out, force=True) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"file is a file\. Name a folder for Spark"):
        check_free(spark, str(tmp_path / "file"), force=True)


def test_a_row_that_fails_leaves_what_was_there(spark, tmp_path):
    from kinhash.engines.spark.encoding import map_arrow

    def fail(batches):
        for _ in batches:
            raise InvalidInputError("Row 3 is odd.")
        yield pa.record_batch({"id": []})

    out = str(tmp_path / "rows")
    write_parquet(spark.range(10), out)
    wrong = map_arrow(spark.range(5), fail, list(spark.range(1).schema))
    with pytest.raises(InvalidInputError, match=r"^Row 3 is odd\.$"):
        write_parquet(wrong, out, force=True)
    assert read_parquet(spark, out).count() == 10
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_files_that_are_not_there_or_no_parquet_are_one_sentence(spark, tmp_path):
    with pytest.raises(InvalidInputError, match=r"^Spark failed: Path does not exist: [^\n]+$"):
        read_parquet(spark, str(tmp_path / "none"))
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(Exception, match=r"^Spark failed: [^\n]+$"):
        read_parquet(spark, str(tmp_path / "text.parquet")).count()
    with pytest.raises(Exception, match=r"^Spark failed: [^\n]+$"):
        read_parquet(spark, "nowhere://bucket/items")
