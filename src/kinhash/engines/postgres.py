"""Items and their codes in a PostgreSQL database, found by index probes; needs psycopg."""

import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from kinhash.arguments import check_integer
from kinhash.arrays import Array
from kinhash.engines.layout import Layout
from kinhash.engines.stores import CodeStore, Row, Statements, opened
from kinhash.engines.versions import check_version
from kinhash.errors import InvalidInputError, MissingExtraError

TESTED, OLDEST = ("15", "15"), "14"

ATTEMPTS = 5
_FIRST_WAIT, _TIMEOUT = 0.1, 10  # seconds: between attempts, doubled each time; of one attempt

# What trying again does not mend.
_FINAL = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")


def open_store(
    url: str,
    layout: Layout | None = None,
    *,
    n_changed: int | None = None,
    attempts: int = ATTEMPTS,
) -> CodeStore:
    """Return the store in a PostgreSQL database; its tables are created if they are missing.

    They are in the first schema of the search path; `?options=-csearch_path%3Dname` at the end of
    the URL chooses another. No extension is needed.

    Args:
        url: Such as "postgresql://user:password@host:5432/database". No message shows it.
        layout: How codes lie; by default as the tables say.
        n_changed: Of new tables: how many bits have no stored keys, as in
            `kinhash.engines.lookups.create`.
        attempts: How often to try when the server cannot be reached or drops the connection.

    Raises:
        InvalidInputError: The server cannot be reached or refuses, or there are no tables and
            `layout` is None, or they are of another layout.
        FormatError: The tables are of another version.
        MissingExtraError: psycopg is not installed.
    """
    check_integer("attempts", attempts, 1)
    return opened(_Postgres(url, int(attempts)), layout, n_changed)


class _Postgres:
    """A connection that is made again when it drops, with one transaction at a time."""

    dialect = "postgres"

    def __init__(self, url: str, attempts: int) -> None:
        self._psycopg, self._url, self._attempts = _psycopg(), url, attempts
        self._connection: Any = None  # psycopg.Connection
        try:
            known = self._psycopg.conninfo.conninfo_to_dict(url)
        except self._psycopg.Error:  # its message may show a part of the password
            raise InvalidInputError(
                "`url` must be like postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and signs such "
                "as @ or / in a password written as %40 or %2F."
            ) from None
        self._place = f"{known.get('host', 'the local socket')}:{known.get('port', 5432)}"
        self.run(lambda _: None)
        connection: Any = self._connection
        number = connection.info.server_version
        found = f"{number // 10000}.{number % 10000}"
        check_version("PostgreSQL", found, tested=TESTED, oldest=OLDEST)

    def run(self, work: Callable[[Statements], Any]) -> Any:  # noqa: ANN401 - of the work
        def in_transaction() -> Any:  # noqa: ANN401 - of the work
            with self._connection.transaction():
                return work(self)

        return self._tried(in_transaction)

    def ask(self, text: str, parameters: Row) -> list[Row]:
        return list(self._tried(lambda: self.rows(text, parameters)))

    def _tried(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - of the work
        for attempt in range(self._attempts):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connected()
                return work()
            except self._psycopg.OperationalError as error:
                # A lost connection; what the server says of itself, such as a full disk, is final.
                lost = self._connection is None or self._connection.closed
                reason = self._reason(error)
                last = attempt + 1 == self._attempts
                if not lost or last or any(final in reason for final in _FINAL):
                    tried = f" after {attempt + 1} attempts" if attempt else ""
                    raise InvalidInputError(
                        f"PostgreSQL at {self._place} cannot be used{tried}: {reason}."
                    ) from None
                time.sleep(_FIRST_WAIT * 2**attempt)
            except self._psycopg.Error as error:
                raise InvalidInputError(
                    f"PostgreSQL at {self._place}: {self._reason(error)}."
                ) from None
        raise AssertionError  # the last attempt returns or raises

    def _connected(self) -> Any:  # noqa: ANN401 - untyped without the extra
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_TIMEOUT,
            cursor_factory=self._psycopg.RawCursor,
        )
        connection.execute("SET jit = off")  # compiling takes longer than a query
        return connection

    def _reason(self, error: BaseException) -> str:
        """Return what went wrong, without credentials."""
        text = str(error).strip().partition("\n")[0].rstrip(".")
        known = self._psycopg.conninfo.conninfo_to_dict(self._url)
        for name in ("password", "sslpassword"):
            secret = known.get(name)
            text = text.replace(str(secret), "***") if secret else text
        return text.rpartition("failed: ")[2].removeprefix("FATAL:").strip()

    def rows(self, text: str, parameters: Row = ()) -> list[Row]:
        cursor = self._connection.execute(text, parameters or None, prepare=bool(parameters))
        return cursor.fetchall() if cursor.description else []

    def fill(self, table: str, columns: Sequence[Array]) -> None:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.write(_binary(columns))

    def exists(self, table: str) -> bool:
        return bool(self.rows("SELECT to_regclass($1) IS NOT NULL", (table,))[0][0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _binary(columns: Sequence[Array]) -> bytes:
    """Return rows of BIGINTs as COPY reads them in its binary format."""
    fields: list[tuple[str, str]] = [("n", ">i2")]
    for i in range(len(columns)):
        fields += [(f"size{i}", ">i4"), (f"value{i}", ">i8")]
    rows = np.empty(len(columns[0]), np.dtype(fields))
    rows["n"] = len(columns)
    for i, column in enumerate(columns):
        rows[f"size{i}"], rows[f"value{i}"] = 8, column
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"


def _psycopg() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415 - an extra
        import psycopg.conninfo  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("psycopg"):
            raise
        raise MissingExtraError("PostgreSQL needs psycopg", "postgres") from error
    return psycopg
