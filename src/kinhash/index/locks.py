"""A lock that is free in a forked process."""

import os
import threading
import weakref


class ForkSafeLock:
    """A lock for `with` that a forked child finds free, whoever held it in the parent.

    The thread that held it does not exist in the child, so nobody would ever release it there.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._renew()
        _LOCKS.add(self)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _LOCKS:
        lock._renew()  # noqa: SLF001 - its own module


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
    os.register_at_fork(after_in_child=_renew_all)
