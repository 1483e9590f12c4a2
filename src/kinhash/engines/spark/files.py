"""Parquet files that Spark reads and writes, wherever its file systems are."""

import contextlib
import posixpath
import secrets
from typing import Any

from kinhash.engines.spark.session import Frame, Session, failures
from kinhash.errors import InvalidInputError


def read_parquet(session: Session, path: str) -> Frame:
    """Return the rows of a Parquet file or of a folder of them.

    Args:
        session: A session of Spark.
        path: As Spark takes it, such as a path of this machine or "s3a://bucket/items".

    Raises:
        InvalidInputError: There are no such files, or Spark cannot read them.
        KinhashError: Spark fails otherwise.
    """
    with failures():
        return session.read.parquet(path)


def check_free(session: Session, path: str, *, force: bool = False) -> None:
    """Raise InvalidInputError if there is something at `path` already, unless it may be replaced.

    Raises:
        InvalidInputError: There is, or there is no such file system.
        KinhashError: The file system fails.
    """
    with failures():
        system, at = _place(session, path)
        if not force and system.exists(at):
            raise InvalidInputError(f"{path} exists already. Pass `force` to replace it.")
        if system.exists(at) and not system.getFileStatus(at).isDirectory():
            raise InvalidInputError(f"{path} is a file. Name a folder for Spark to write to.")


def write_parquet(frame: Frame, path: str, *, force: bool = False) -> int:
    """Write a frame as a folder of Parquet files, whole or not at all; return how many rows.

    They are written beside it, under a hidden name, and renamed when all are there.

    Args:
        frame: What is written; this is the action that runs it.
        path: The folder, as Spark takes it.
        force: Replace what is there.

    Raises:
        InvalidInputError: There is something already, or a row is wrong.
        KinhashError: Spark or the file system fails.
    """
    session = frame.sparkSession
    check_free(session, path, force=force)
    with failures():
        system, at = _place(session, path)
        folder, name = posixpath.split(at.toString())
        part = f"{folder}/.{name}.{secrets.token_hex(4)}.part"
        hidden = _place(session, part)[1]
        try:
            frame.write.parquet(part)
            n_rows = int(session.read.parquet(part).count())  # from the footers
            if force and system.exists(at):
                system.delete(at, True)  # noqa: FBT003 - of Hadoop: with all that is in it
            if not system.rename(hidden, at):
                raise InvalidInputError(f"Spark cannot rename {part} to {path}.")
        finally:
            with contextlib.suppress(Exception):  # what went wrong before says more
                system.delete(hidden, True)  # noqa: FBT003
    return n_rows


def _place(session: Session, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path in it, both of Hadoop."""
    jvm, context = session.sparkContext._jvm, session._jsparkSession.sparkContext()  # noqa: SLF001 - Spark has no other way
    given = jvm.org.apache.hadoop.fs.Path(path)
    system = given.getFileSystem(context.hadoopConfiguration())
    return system, system.makeQualified(given)
