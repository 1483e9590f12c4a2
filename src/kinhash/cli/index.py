"""`kinhash index`: write codes as an index that opens at once."""

import time
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def index(
    codes: Annotated[
        Path,
        typer.Argument(
            metavar="CODES",
            help="A file that encode wrote, or another tool's codes: .npy, .npz, .parquet or .csv.",
        ),
    ],
    *,
    out: options.Out,
    n_bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            "--n-bits",
            metavar="N",
            min=1,
            max=4096,
            help="Length of another tool's codes. [default: all bits of a row]",
            show_default=False,
        ),
    ] = None,
    column: options.Column = None,
    ids: options.Ids = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="The model that made the codes: the index keeps its calibration, which says how "
            "sure answers are.",
            show_default=False,
        ),
    ] = None,
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

    Codes of another tool are bytes, integers, hexadecimal digits, or a column of 0 and 1 for each
    bit. Prints nothing on stdout: kinhash info shows the index.
    """
    from kinhash.cli import inputs, outputs, precision
    from kinhash.cli.messages import counted, note
    from kinhash.datasets.user_files.packed import Form

    outputs.check_output(out, force=force, inputs=(codes, *([] if model is None else [model])))
    start = time.perf_counter()
    calibration = None
    stored = inputs.load_any_codes(codes, Form(n_bits), column=column, ids=ids)
    if model is not None:
        method = inputs.load_model(model)
        inputs.check_made(codes, stored.codes, stored.made_by, method)
        calibration = precision.calibration_of(method, model)
    built = inputs.build_index(codes, stored, memory=memory.value)
    built.calibration = calibration
    built.save(out)
    noun = "bucket" if built.n_rank_bits else "code"
    each = built.n_bytes / len(built) if len(built) else 0.0
    note(
        f"Wrote {out} after {time.perf_counter() - start:.1f} s: {counted(len(built), 'item')} "
        f"with {counted(built.n_codes, f'different {noun}')}, {each:,.1f} bytes per item."
    )
