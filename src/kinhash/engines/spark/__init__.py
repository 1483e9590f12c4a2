"""Exact answers on Apache Spark: vectors encoded, codes joined, grouped and measured.

Frames of codes have a column of ids and the columns of `kinhash.engines.layout.Layout`, as `encode`
gives them. Needs PySpark 4 (the extra `spark`), Java 17 or newer, and kinhash in the Python of the
executors.
"""

from kinhash.engines.spark.encoding import encode
from kinhash.engines.spark.evaluation import evaluate
from kinhash.engines.spark.groups import group_duplicates
from kinhash.engines.spark.radius import radius_join
from kinhash.engines.spark.reading import encode_files
from kinhash.engines.spark.session import session
from kinhash.engines.spark.top_k import top_k_join

__all__ = [
    "encode",
    "encode_files",
    "evaluate",
    "group_duplicates",
    "radius_join",
    "session",
    "top_k_join",
]
