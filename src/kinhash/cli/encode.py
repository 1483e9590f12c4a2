"""`kinhash encode`: write the codes of data to a file."""

from kinhash.cli import options


def encode(
    model: options.Model,
    data: options.Data,
    *,
    out: options.Out,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    root: options.Root = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write the codes of all rows of DATA to a file, in their order.

    Prints nothing on stdout: kinhash info shows the codes.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.messages import note
    from kinhash.storage import save_codes

    outputs.check_output(out, force=force, inputs=(model, data))
    method = inputs.load_model(model)
    dataset = inputs.load_data(data, features=features, labels=labels, ids=ids, root=root)
    codes = method.encode(dataset.vectors)
    save_codes(out, codes, ids=dataset.ids, made_by=method.encoder_.fingerprint)
    note(f"Wrote {out}: {len(codes):,} codes of {codes.n_bits} bits, {codes.n_unique:,} different.")
