"""`kinhash export`: codes as a file that another tool loads."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


class Tool(enum.StrEnum):
    """Who loads the file: the names of `kinhash.export.TARGETS`."""

    FAISS = "faiss"
    PGVECTOR = "pgvector"
    MILVUS = "milvus"
    QDRANT = "qdrant"
    PARQUET = "parquet"
    SQL = "sql"
    EMBEDDING_ATLAS = "embedding-atlas"


def export(
    items: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that encode or index wrote.")
    ],
    *,
    to: Annotated[
        Tool, typer.Option("--to", help="The tool that is to load them.", show_default=False)
    ],
    out: options.Out,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write codes and ids as a file that another tool loads.

    Prints nothing on stdout; on stderr it says how the tool loads the file. Bit j of a code is
    entry j; the bucket comes first, of signed codes its plus plane and its minus plane, then rank
    bits.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.messages import counted, note
    from kinhash.export import TARGETS
    from kinhash.export import export as write
    from kinhash.index.hamming import HammingIndex

    outputs.check_output(out, force=force, inputs=(items,))
    wanted = "an index or codes, such as `kinhash index` or `encode` writes"
    is_index = inputs.holds_index(items)
    found = HammingIndex.load(items) if is_index else inputs.load_codes(items, wanted)
    write(found, out, to=to.value)
    n = len(found) if isinstance(found, HammingIndex) else len(found.codes)
    note(f"Wrote {out}: {counted(n, 'code')}.")
    note(f"Load it: {TARGETS[to.value].loads.replace('OUT', str(out))}")
