"""What a shell completes: names of data sets and methods, which need no import, and files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

# The names of `kinhash.datasets.DATASETS` and `kinhash.methods`, whose import would take longer
# than a shell may wait.
DATA_SETS = (
    "cifar10",
    "cifar10-deep",
    "corel5k",
    "corel5k-deep",
    "corel5k-tags",
    "corel5k-variants",
    "digits",
    "digits-words",
    "fashion-mnist",
    "fashion-products",
    "nus-wide",
    "titles",
    "wikipedia",
)
METHODS = (
    "agh",
    "classcode",
    "csr",
    "dh",
    "flyhash",
    "fsdh",
    "itq",
    "ksh",
    "lsh",
    "nested",
    "nnhash",
    "orthohash",
    "sparsehash",
    "ssh",
)
MULTIMODAL_METHODS = ("cca-itq", "cmssh", "multimodal-sparsehash")
VECTORS = ("cosine", "l2")  # ranking by the vectors themselves, which compare takes


def data(incomplete: str) -> list[str]:
    """Return the data sets and the files that a word may become."""
    return [*_starting(DATA_SETS, incomplete), *_files(incomplete)]


def method(incomplete: str) -> list[str]:
    """Return the methods that a word may become."""
    return _starting((*METHODS, *MULTIMODAL_METHODS), incomplete)


def methods(incomplete: str) -> list[str]:
    """Return what a list of methods may become: its last name is completed."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    known = [name for name in (*METHODS, *VECTORS) if name not in chosen]
    return [f"{before}{comma}{name}" for name in _starting(known, last)]


def _starting(names: Sequence[str], start: str) -> list[str]:
    return [name for name in names if name.startswith(start)]


def _files(incomplete: str) -> Iterator[str]:
    """Yield files and folders, which shells do not complete where names are completed.

    Hidden ones only if asked for.
    """
    before, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(Path(f"{before}{slash}" or ".").expanduser().iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and (start or not path.name.startswith(".")):
            yield f"{before}{slash}{path.name}{'/' if path.is_dir() else ''}"
