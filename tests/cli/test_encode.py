import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import kinhash
from kinhash.methods import LSH


def test_the_file_holds_the_codes_of_all_rows_in_their_order(run, model, npz, items, tmp_path):
    out = tmp_path / "codes.kinhash"
    done = run("encode", model, npz, "--out", out)
    assert (done.code, done.out) == (0, "")
    assert f"Wrote {out}: 120 codes of 16 bits" in done.err
    assert kinhash.load(out).codes == kinhash.load(model).encode(items[0])


def test_digits_are_encoded_end_to_end(run, tmp_path):
    model, out = tmp_path / "model.kinhash", tmp_path / "codes.kinhash"
    assert run("train", "digits", "--out", model, "--method", "lsh", "--n-bits", "24").code == 0
    assert run("encode", model, "digits", "--out", out).code == 0
    assert len(kinhash.load(out).codes) == 1797


def test_search_answers_with_the_ids_of_the_encoded_file(run, model, csv_file, tmp_path):
    codes = tmp_path / "codes.kinhash"
    assert run("encode", model, csv_file, "--out", codes).code == 0
    done = run(
        "search", codes, "--model", model, "--queries", csv_file, "--top-k", 1, "--format", "csv"
    )
    header, *ids = [line.split(",")[0] for line in csv_file.read_text().splitlines()]
    assert header == "id"
    answered = {line.split(",")[1] for line in done.out.splitlines()[1:]}
    assert answered <= set(ids)
    assert not answered & {str(row) for row in range(len(ids))}


def test_stdin_is_read_as_csv(run, model, csv_file, tmp_path, monkeypatch):
    for name, data in (("a", csv_file), ("b", "-")):
        with csv_file.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            assert run("encode", model, data, "--out", tmp_path / name).code == 0
    assert kinhash.load(tmp_path / "a").codes == kinhash.load(tmp_path / "b").codes


def test_a_message_about_stdin_does_not_name_a_temporary_file(run, model, tmp_path, monkeypatch):
    (tmp_path / "empty").write_text("")
    with (tmp_path / "empty").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("encode", model, "-", "--out", tmp_path / "codes.kinhash")
    assert done.code == 1
    assert done.err == "error: standard input cannot be read: Empty CSV file.\n"


def test_another_width_shows_both(run, model, tmp_path):
    np.save(tmp_path / "wide.npy", np.ones((4, 9), np.float32))
    done = run("encode", model, tmp_path / "wide.npy", "--out", tmp_path / "codes.kinhash")
    assert done.code == 1
    assert "DATA has 9 features, but SparseHash is expecting 6 features" in done.err
    assert not (tmp_path / "codes.kinhash").exists()


def test_a_row_with_nan_is_named(run, model, items, tmp_path):
    vectors = items[0].copy()
    vectors[41, 0] = np.nan
    np.save(tmp_path / "bad.npy", vectors)
    done = run("encode", model, tmp_path / "bad.npy", "--out", tmp_path / "codes.kinhash")
    assert done.code == 1
    assert "contains NaN in row 41" in done.err


def test_codes_are_no_model(run, codes, npz, tmp_path):
    done = run("encode", codes, npz, "--out", tmp_path / "out.kinhash")
    assert done.code == 1
    assert (
        done.err == f"error: {codes} must hold a model, such as `kinhash train` writes, "
        "but it holds codes.\n"
    )


@pytest.mark.parametrize("size", [0, 5, 100, -1])
def test_a_truncated_model_is_an_error(run, model, npz, tmp_path, size):
    short = tmp_path / "short.kinhash"
    short.write_bytes(model.read_bytes()[:size])
    done = run("encode", short, npz, "--out", tmp_path / "codes.kinhash")
    assert done.code == 1
    assert done.err.startswith(f"error: {short} is ")
    assert done.err.count("\n") == 1


def test_an_existing_file_is_kept_unless_forced(run, model, npz, tmp_path):
    out = tmp_path / "codes.kinhash"
    out.write_text("precious")
    done = run("encode", model, npz, "--out", out)
    assert done.code == 1
    assert "exists already. Pass --force" in done.err
    assert out.read_text() == "precious"
    assert run("encode", model, npz, "--out", out, "--force").code == 0
    assert len(kinhash.load(out).codes) == 120


def test_an_input_is_never_replaced(run, model, npz):
    before = model.read_bytes()
    done = run("encode", model, npz, "--out", model, "--force")
    assert done.code == 1
    assert done.err == f"error: Cannot write {model}: it is read here. Choose another name.\n"
    assert model.read_bytes() == before


@pytest.mark.parametrize("modality", ["image", "text"])
def test_each_modality_is_encoded_by_its_own_encoder(
    run, pair_model, pairs, items, texts, tmp_path, modality
):
    out = tmp_path / "codes.kinhash"
    done = run("encode", pair_model, pairs, "--modality", modality, "--out", out)
    assert (done.code, done.out) == (0, "")
    rows = {"image": items[0], "text": texts}[modality]
    model = kinhash.load(pair_model)
    assert kinhash.load(out).codes == model.encode(rows, modality=modality)
    made_by = kinhash.load(out).made_by
    assert made_by == model.encoders_[modality].fingerprint


def test_a_plain_file_is_the_modality_that_is_named(run, pair_model, npz, items, tmp_path):
    out = tmp_path / "codes.kinhash"
    assert run("encode", pair_model, npz, "--modality", "image", "--out", out).code == 0
    assert kinhash.load(out).codes == kinhash.load(pair_model).encode(items[0], modality="image")


def test_another_array_is_the_modality_if_features_says_so(run, pair_model, items, tmp_path):
    out = tmp_path / "codes.kinhash"
    np.savez(tmp_path / "two.npz", image=-items[0], photo=items[0])
    words = ("--modality", "image", "--features", "photo", "--out", out)
    assert run("encode", pair_model, tmp_path / "two.npz", *words).code == 0
    assert kinhash.load(out).codes == kinhash.load(pair_model).encode(items[0], modality="image")


def test_texts_come_from_a_column_of_stdin(run, pair_model, tmp_path, monkeypatch):
    (tmp_path / "texts.csv").write_text("id,text\n7,red rose\n9,blue\n")
    out = tmp_path / "codes.kinhash"
    with (tmp_path / "texts.csv").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert run("encode", pair_model, "-", "--modality", "text", "--out", out).code == 0
    expected = kinhash.load(pair_model).encode(["red rose", "blue"], modality="text")
    stored = kinhash.load(out)
    assert stored.codes == expected
    assert stored.ids.tolist() == [7, 9]


def test_rows_without_a_known_word_are_counted(run, pair_model, tmp_path):
    np.savez(tmp_path / "texts.npz", text=np.array(["red", "zzz", ""]))
    out = tmp_path / "codes.kinhash"
    done = run("encode", pair_model, tmp_path / "texts.npz", "--modality", "text", "--out", out)
    assert done.code == 0
    assert "warning: 2 rows without a known word or entry: the empty code." in done.err
    assert kinhash.load(out).codes.n_active.tolist()[1:] == [0, 0]


def test_a_model_of_several_modalities_must_be_told_which(run, pair_model, pairs, tmp_path):
    done = run("encode", pair_model, pairs, "--out", tmp_path / "codes.kinhash")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {pair_model} has the modalities image, text. Say which one is meant with "
        "--modality.\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--modality", "txt"), "'txt'. Did you mean 'text'? Known: image, text."),
        (("--modality", "text"), "'text' has 6 columns, but the encoder takes vectors of 8"),
    ],
)
def test_a_modality_that_does_not_fit_is_one_sentence(
    run, pair_model, npz, tmp_path, words, message
):
    done = run("encode", pair_model, npz, *words, "--out", tmp_path / "codes.kinhash")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert message in done.err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_a_named_data_set_must_have_the_modality(run, pair_model, tmp_path):
    words = ("--modality", "image", "--out", tmp_path / "codes.kinhash")
    done = run("encode", pair_model, "digits-words", *words)
    assert done.code == 1
    assert "'image' has 64 columns, but the encoder takes vectors of 6 numbers." in done.err


def test_a_model_of_one_modality_has_none_to_choose(run, model, npz, tmp_path):
    words = ("--modality", "image", "--out", tmp_path / "codes.kinhash")
    done = run("encode", model, npz, *words)
    assert done.code == 1
    assert done.err == (
        f"error: --modality chooses one of several, but {model} holds a sparsehash, which takes "
        "one kind of vectors. Leave it out.\n"
    )


WIDTH, N_ROWS, N_FEW = 256, 262_144, 8192
ALLOWED = 192 * 2**20  # bytes beside what the program itself takes; the vectors take 256 MiB
LIMITED = """
import resource, sys
from kinhash.cli import main
model, few, many, out, allowed = sys.argv[1:]
assert main(["encode", model, few, "--out", out, "--force"]) == 0  # all is imported now
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
used = 1024 * int(status["VmData"].split()[0])
resource.setrlimit(resource.RLIMIT_DATA, (used + int(allowed), resource.RLIM_INFINITY))
sys.exit(main(["encode", model, many, "--out", out, "--force"]))
"""


def write_rows(path, n):
    """Write rows of 0 to 255 in the format of the ending."""
    line = ",".join(map(str, range(WIDTH)))
    batch = np.tile(np.arange(WIDTH, dtype=np.float32), (N_FEW, 1))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(batch.ravel()), WIDTH)
    table = pa.table({"v": pa.chunked_array([lists] * (n // N_FEW))})
    match path.suffix:
        case ".npy":
            np.lib.format.open_memmap(path, "w+", np.float32, (n, WIDTH))
        case ".npz":
            np.savez_compressed(path, vectors=np.zeros((n, WIDTH), np.float32))
        case ".csv":
            header = ",".join(f"e{i}" for i in range(WIDTH))
            path.write_text("\n".join([header] + [line] * n) + "\n")
        case ".jsonl":
            path.write_text(f'{{"v": [{line}]}}\n' * n)
        case ".parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=n)
        case ".arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "fits"),
    [
        ("parquet", True),
        ("arrow", True),
        ("npy", True),
        ("csv", True),
        ("jsonl", True),
        ("npz", False),  # read as a whole: so the limit does limit
    ],
)
def test_a_file_larger_than_memory_is_encoded_in_batches(tmp_path, ending, fits):
    X = np.random.default_rng(0).normal(size=(50, WIDTH))
    LSH(64).fit(X).save(tmp_path / "model")
    few = write_rows(tmp_path / f"few.{ending}", N_FEW)
    many = write_rows(tmp_path / f"many.{ending}", N_ROWS)
    out = tmp_path / "codes.kinhash"
    words = [tmp_path / "model", few, many, out, str(ALLOWED)]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words],
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == fits, done.stderr
    assert len(kinhash.load(out).codes) == (N_ROWS if fits else N_FEW)


def test_a_row_that_is_not_finite_is_named_by_its_number_in_the_file(run, model, tmp_path):
    X = np.ones((20_000, 6), np.float32)
    X[17_000, 2] = np.nan
    np.save(tmp_path / "x.npy", X)
    done = run("encode", model, tmp_path / "x.npy", "--out", tmp_path / "codes")
    assert done.err == (
        "error: DATA contains NaN in row 17000, column 2. Drop that row, or replace the value.\n"
    )


def test_strings_are_ids_and_two_alike_are_named(run, tmp_path):
    text = "sku,e0,e1,kind\n" + "".join(f"s-{i},{i % 2},{i},{i % 2}\n" for i in range(20))
    (tmp_path / "items.csv").write_text(text)
    columns = ("--features", "e*", "--labels", "kind", "--id", "sku")
    file, trained = tmp_path / "items.csv", tmp_path / "model"
    assert run("train", file, *columns, "--method", "lsh", "--out", trained).code == 0
    assert run("encode", trained, file, *columns, "--out", tmp_path / "codes").code == 0
    assert kinhash.load(tmp_path / "codes").ids.tolist() == [f"s-{i}" for i in range(20)]
    (tmp_path / "items.csv").write_text(text + "s-3,1,1,1\n")
    assert run("train", file, *columns, "--method", "lsh", "--out", trained, "--force").code == 0
    done = run("encode", trained, file, *columns, "--out", tmp_path / "more")
    assert done.err.splitlines()[-1].startswith("error: --id hold 's-3' twice, in rows 3 and 20.")
    assert not (tmp_path / "more").exists()
