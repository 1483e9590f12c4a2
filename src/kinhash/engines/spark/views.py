"""Frames as tables of SQL text, for as long as a text is read."""

import contextlib
import secrets
from collections.abc import Iterator

from kinhash.engines.spark.session import Frame


@contextlib.contextmanager
def views(*frames: Frame) -> Iterator[list[str]]:
    """Give names under which SQL text finds the frames; what it makes of them stays valid."""
    names = [f"kinhash_{secrets.token_hex(8)}" for _ in frames]
    try:
        for name, frame in zip(names, frames, strict=True):
            frame.createOrReplaceTempView(name)
        yield names
    finally:
        for name, frame in zip(names, frames, strict=True):
            frame.sparkSession.catalog.dropTempView(name)
