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
    text: options.Text = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write the codes of all rows of DATA to a file, in their order.

    If the model has several modalities, --modality says which one DATA is. A file is read in
    batches, so it may be larger than memory.
    Prints nothing on stdout: kinhash info shows the codes.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.data import Looked
    from kinhash.cli.messages import counted, note

    outputs.check_output(out, force=force, inputs=(model, data))
    method = inputs.load_model(model)
    inputs.check_modality(model, method, modality)
    looked = Looked(features, labels, ids, text, delimiter, root)
    found = inputs.encoded_data(data, method, modality, looked)
    codes = found.codes
    made_by = inputs.encoder_of(method, modality).fingerprint
    codes.save(out, found.ids, made_by=made_by)
    n_codes = counted(len(codes), "code")
    rank = f", {codes.n_rank_bits} of them rank bits" if codes.n_rank_bits else ""
    buckets = "different buckets" if codes.n_rank_bits else "different"
    note(f"Wrote {out}: {n_codes} of {codes.n_bits} bits{rank}, {codes.n_unique:,} {buckets}.")
    if found.n_empty:
        told = counted(found.n_empty, "row")
        note(f"warning: {told} without a known word or entry: the empty code.")
