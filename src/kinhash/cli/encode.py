"""`kinhash encode`: write the codes of data to a file."""

from kinhash.cli import options


def encode(
    model: options.Model,
    data: options.Data,
    *,
    out: options.Out,
    modality: options.Modality = None,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    root: options.Root = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write the codes of all rows of DATA to a file, in their order.

    If the model has several modalities, --modality says which one DATA is.
    Prints nothing on stdout: kinhash info shows the codes.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.messages import counted, note

    outputs.check_output(out, force=force, inputs=(model, data))
    method = inputs.load_model(model)
    inputs.check_modality(model, method, modality)
    wanted = None if modality is None else (modality,)
    dataset = inputs.load_data(
        data, features=features, labels=labels, ids=ids, root=root, modalities=wanted
    )
    codes, is_known = inputs.encoded(method, dataset, modality)
    made_by = inputs.encoder_of(method, modality).fingerprint
    codes.save(out, dataset.ids, made_by=made_by)
    n_codes = counted(len(codes), "code")
    rank = f", {codes.n_rank_bits} of them rank bits" if codes.n_rank_bits else ""
    buckets = "different buckets" if codes.n_rank_bits else "different"
    note(f"Wrote {out}: {n_codes} of {codes.n_bits} bits{rank}, {codes.n_unique:,} {buckets}.")
    if not is_known.all():
        n_empty = int((~is_known).sum())
        note(f"warning: {counted(n_empty, 'row')} without a known word or entry: the empty code.")
