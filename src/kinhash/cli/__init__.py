"""The command line: `kinhash COMMAND ...`, one file per command."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0 done, 1 failed, 2 wrong usage.

    Args:
        argv: The words after `kinhash`; those of this process unless given.
    """
    from kinhash.cli.failures import guarded  # here, so that importing this package costs nothing

    return guarded(argv)
