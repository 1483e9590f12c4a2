"""What tasks need is sent once to each executor, and opened once in each Python worker."""

import hashlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kinhash.engines.spark.session import Session

Opened = TypeVar("Opened")

MOST_OPEN = 2  # per worker, which serves one job after the other

_OPEN: dict[str, Any] = {}  # by key, the latest last


class Sent(Generic[Opened]):
    """Bytes on their way to the workers, and what becomes of them there.

    Pickled with the function that uses it; the bytes themselves are broadcast.

    Args:
        session: Where they are sent.
        data: The bytes.
        open_: Makes of them what tasks use; a function of a module, because it is pickled.
    """

    def __init__(self, session: Session, data: bytes, open_: Callable[[bytes], Opened]) -> None:
        self._key = f"{open_.__qualname__} {hashlib.sha256(data).hexdigest()}"
        self._open = open_
        self._broadcast = session.sparkContext.broadcast(data)

    def opened(self) -> Opened:
        """Return it, in a worker."""
        found = _OPEN.pop(self._key, None)
        if found is None:
            found = self._open(self._broadcast.value)
            while len(_OPEN) >= MOST_OPEN:
                del _OPEN[next(iter(_OPEN))]
        _OPEN[self._key] = found
        return found  # type: ignore[no-any-return]  # of several types
