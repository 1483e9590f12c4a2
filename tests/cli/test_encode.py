import sys

import numpy as np
import pytest

import kinhash


def test_the_file_holds_the_codes_of_all_rows_in_their_order(run, model, npz, items, tmp_path):
    out = tmp_path / "codes.kinhash"
    done = run("encode", model, npz, "--out", out)
    assert (done.code, done.out) == (0, "")
    assert f"Wrote {out}: 120 codes of 16 bits" in done.err
    assert kinhash.load(out) == kinhash.load(model).encode(items[0])


def test_digits_are_encoded_end_to_end(run, tmp_path):
    model, out = tmp_path / "model.kinhash", tmp_path / "codes.kinhash"
    assert run("train", "digits", "--out", model, "--method", "lsh", "--n-bits", "24").code == 0
    assert run("encode", model, "digits", "--out", out).code == 0
    assert len(kinhash.load(out)) == 1797


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
    assert kinhash.load(tmp_path / "a") == kinhash.load(tmp_path / "b")


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
    assert "X has 9 features, but SparseHash is expecting 6 features" in done.err
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
    assert len(kinhash.load(out)) == 120


def test_an_input_is_never_replaced(run, model, npz):
    before = model.read_bytes()
    done = run("encode", model, npz, "--out", model, "--force")
    assert done.code == 1
    assert done.err == f"error: Cannot write {model}: it is read here. Choose another name.\n"
    assert model.read_bytes() == before
