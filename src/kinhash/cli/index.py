"""`kinhash index`: write codes as an index that opens at once."""

import time
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def index(
    codes: Annotated[Path, typer.Argument(metavar="CODES", help="A file that encode wrote.")],
    *,
    out: options.Out,
    memory: Annotated[
        options.Memory,
        typer.Option(
            "--memory",
            help="What to keep besides codes and ids: lean keeps a hash table and groups, balanced "
            "lookup tables of up to 48 bytes per item, fast of up to 512.",
        ),
    ] = options.Memory.BALANCED,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write codes as an index, which opens at once and answers fast.

    Prints nothing on stdout: kinhash info shows the index.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.messages import counted, note

    outputs.check_output(out, force=force, inputs=(codes,))
    start = time.perf_counter()
    built = inputs.build_index(codes, inputs.load_codes(codes), memory=memory.value)
    built.save(out)
    noun = "bucket" if built.n_rank_bits else "code"
    each = built.n_bytes / len(built) if len(built) else 0.0
    note(
        f"Wrote {out} after {time.perf_counter() - start:.1f} s: {counted(len(built), 'item')} "
        f"with {counted(built.n_codes, f'different {noun}')}, {each:,.1f} bytes per item."
    )
