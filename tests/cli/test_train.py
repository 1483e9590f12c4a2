import inspect
import json
import re
import sys

import numpy as np
import pytest

import kinhash
from kinhash.datasets import load
from kinhash.errors import InvalidInputError
from kinhash.methods import CCAITQ, CMSSH, MultimodalSparseHash, SparseHash
from kinhash.methods.recipes.parameters import defaults_of

TINY = ("--n-bits", "16", "--set", "recipe=paper", "--set", "max_steps=50")


def test_a_named_data_set_is_trained_on_the_training_part_of_its_split(run, tmp_path):
    out = tmp_path / "model.kinhash"
    done = run("train", "digits", "--out", out, *TINY)
    assert (done.code, done.out) == (0, "")
    assert "896 of 1,797 rows, the training part of split 0" in done.err
    assert f"Wrote {out}" in done.err
    assert kinhash.load(out).n_bits == 16


def test_a_file_is_trained_on_all_its_rows(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "Training sparsehash on items: all 120 rows." in done.err


def test_without_a_terminal_there_is_no_progress_bar(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *TINY)
    assert {line.split()[0] for line in done.err.splitlines()} == {"Training", "Wrote"}


def test_nested_codes_are_trained_and_shown_with_both_parts(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    words = "--method nested --n-bits 12 --set n_rank_bits=4 --set rank=lsh --set bucket.levels=2"
    done = run("train", npz, "--out", out, *words.split())
    assert done.code == 0
    assert "12 bits, 4 rank and 8 bucket bits, " in done.err
    model = kinhash.load(out)
    assert (model.n_rank_bits, model.bucket_.levels, model.rank_.name) == (4, 2, "lsh")
    facts = dict(line.split(maxsplit=1) for line in run("info", out).out.splitlines())
    assert facts["bucket.method"] == "classcode"
    assert facts["bucket.n_bits"] == "8"
    assert facts["rank.method"] == "lsh"
    assert facts["n_rank_bits"] == "4"


def test_the_progress_of_parts_is_none_of_their_results(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    words = "--method nested --n-bits 12 --set n_rank_bits=4 --set rank=nnhash"
    words += " --set rank.max_steps=20"
    assert run("train", npz, "--out", out, *words.split()).code == 0
    model = kinhash.load(out)
    assert not model.rank.verbose
    assert not model.rank_.verbose


def test_by_default_codes_have_both_parts(run, npz, csv_file, tmp_path, monkeypatch):
    monkeypatch.setattr("kinhash.training.rank_bits.N_STEPS", 20)
    out = tmp_path / "model.kinhash"
    done = run("train", npz, "--out", out, "--method", "sparsehash", "--bits", "24")
    assert done.code == 0
    assert "24 bits, 18 rank and 6 bucket bits, " in done.err  # two for each of three classes
    assert {line.split()[0] for line in done.err.splitlines()} == {"Training", "Wrote"}
    model = kinhash.load(out)
    assert (model.recipe, model.n_bits, model.n_rank_bits) == ("strong", 24, None)
    assert not model.verbose
    facts = json.loads(run("info", out, "--format", "json").out)
    assert (facts["n_bits"], facts["n_rank_bits"], facts["changed"]) == (24, 18, {"n_bits": 24})
    config = tmp_path / "train.toml"
    config.write_text("n_rank_bits = 4\ntransfer = 1\n")
    done = run("train", csv_file, "--out", out, "--config", config, "--bits", "12", "--force")
    assert "12 bits, 4 rank and 8 bucket bits, " in done.err
    assert kinhash.load(out).transfer == 1.0


def test_rows_without_labels_are_learned_from(run, items, npz, tmp_path, monkeypatch):
    monkeypatch.setattr("kinhash.training.rank_bits.N_STEPS", 20)
    more, out = tmp_path / "more.npy", tmp_path / "model.kinhash"
    np.save(more, items[0][:50] + 1)
    words = ("train", npz, "--out", out, "--bits", "24", "--unlabelled")
    done = run(*words, more)
    assert done.code == 0
    assert "Unlabelled: 50 of 50 rows of more: all of them." in done.err
    alone = tmp_path / "alone.kinhash"
    assert run("train", npz, "--out", alone, "--bits", "24").code == 0
    codes = [kinhash.load(path).encode(items[0]) for path in (out, alone)]
    assert codes[0].without_rank() == codes[1].without_rank()
    assert codes[0] != codes[1]
    np.save(more, items[0][:50, :3])
    done = run(*words, more, "--force")
    assert done.err.endswith(
        "error: --unlabelled has 3 features, but SparseHash is expecting 6 features as input.\n"
    )
    done = run(*words, more, "--force", "--method", "lsh")
    assert "error: --unlabelled goes with --method sparsehash; lsh does not" in done.err


def test_rows_split_keeps_the_queries_of_a_file_apart(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", "--rows", "split", *TINY)
    assert done.code == 0
    assert "60 of 120 rows, the training part of split 0" in done.err


def test_a_table_with_class_names_is_trained_on(run, csv_file, tmp_path):
    done = run("train", csv_file, "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert kinhash.load(tmp_path / "model.kinhash").n_features_in_ == 6


def test_without_labels_nearby_rows_are_similar_and_stderr_says_so(run, items, tmp_path):
    np.save(tmp_path / "items.npy", items[0])
    done = run("train", tmp_path / "items.npy", "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "items has no labels: nearby rows count as similar." in done.err


def test_every_option_reaches_the_method(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    words = "--bits 12 --margin 5 --alpha 0.002 --lam 0.3 --similar-share 0.5 --n-layers 2 --signed"
    words += " --encoder cod --n-active 3 --max-epochs 4 --seed 9 --set beta=2 --set threshold=none"
    words += " --set recipe=paper"
    assert run("train", npz, "--out", out, *words.split()).code == 0
    expected = SparseHash(
        n_bits=12,
        recipe="paper",
        margin=5.0,
        alpha=0.002,
        lam=0.3,
        similar_share=0.5,
        n_layers=2,
        signed=True,
        encoder="cod",
        n_active=3,
        max_epochs=4,
        seed=9,
        beta=2.0,
    )
    assert kinhash.load(out).get_params() == expected.get_params()


def test_the_defaults_in_the_help_are_those_of_sparsehash(run):
    text = " ".join(run("train", "--help").out.split())
    shown = dict(
        re.findall(r"--([a-z-]+)(?: <\w+>| / --no-signed)? [^\[]*\[default: ([^\]]*)\]", text)
    )
    defaults = defaults_of("paper") | {"n_active": 8, "signed": "no"}  # None means 8
    own = inspect.signature(SparseHash).parameters
    defaults |= {name: own[name].default for name in ("n_bits", "seed")}
    names = "margin alpha lam similar_share n_layers signed encoder n_active max_epochs seed"
    for name in names.split():
        assert shown[name.replace("_", "-")] == str(defaults[name]).removesuffix(".0")
    assert shown["bits"] == str(defaults["n_bits"])


def test_a_config_file_holds_what_differs_and_options_win(run, npz, tmp_path):
    config, out = tmp_path / "train.toml", tmp_path / "model.kinhash"
    config.write_text(
        'method = "sparsehash"\nn_bits = 24\nrecipe = "paper"\nmargin = 5\nmax_steps = 50\n'
    )
    assert run("train", npz, "--out", out, "--config", config, "--n-bits", "12").code == 0
    found = kinhash.load(out)
    assert (found.n_bits, found.margin, found.max_steps) == (12, 5.0, 50)


def test_another_method_is_chosen_by_name(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    assert run("train", npz, "--out", out, "--method", "lsh", "--n-bits", "24").code == 0
    assert type(kinhash.load(out)).__name__ == "LSH"


def test_stdin_is_read_as_csv(run, csv_file, tmp_path, monkeypatch):
    with csv_file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("train", "-", "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "Training sparsehash on standard input: all 120 rows." in done.err


def test_a_collapse_is_one_warning_line(run, npz, tmp_path):
    words = ("--lam", "0.001", "--n-bits", "8", "--set", "max_steps=60", "--set", "recipe=paper")
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *words)
    assert done.code == 0
    assert "\nwarning: Codes may collapse. The push is weak against the pull" in f"\n{done.err}"
    assert ".py:" not in done.err


def test_an_existing_file_is_kept_unless_forced(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    out.write_text("precious")
    done = run("train", npz, "--out", out, *TINY)
    assert done.code == 1
    assert done.err == f"error: {out} exists already. Pass --force to replace it.\n"
    assert out.read_text() == "precious"
    assert run("train", npz, "--out", out, *TINY, "--force").code == 0
    assert kinhash.load(out).n_bits == 16


def test_missing_torch_names_the_pip_line(run, npz, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("kinhash.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("train", npz, "--out", tmp_path / "model.kinhash")
    assert done.code == 1
    assert "error: Training needs torch. Install it with: pip install 'kinhash[train]'" in done.err
    assert not list(tmp_path.iterdir())


def test_an_infinity_without_labels_is_named(run, items, tmp_path):
    np.save(tmp_path / "bad.npy", _with(items[0], 3, np.inf))
    done = run("train", tmp_path / "bad.npy", "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        "error: DATA contains infinity in row 3, column 2. Drop that row, or replace the value."
    )


BAD_DATA = {
    "nan": (lambda X, y: (_with(X, 17, np.nan), y), "NaN in row 17"),
    "infinity": (lambda X, y: (_with(X, 3, np.inf), y), "infinity in row 3"),
    "labels": (lambda X, y: (X, y[:-1]), "--labels has 119 items but --features has 120."),
    "class": (lambda X, y: (X, np.zeros_like(y)), "single class, 0; learning codes needs at least"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "shape (0, 6)"),
    "constant": (lambda X, y: (np.ones_like(X), y), "All columns of DATA are constant"),
}


def _with(X, row, value):
    X = X.copy()
    X[row, 2] = value
    return X


@pytest.mark.parametrize("case", BAD_DATA)
def test_unusable_data_is_named_and_nothing_is_written(run, items, tmp_path, case):
    spoil, message = BAD_DATA[case]
    vectors, labels = spoil(*items)
    np.savez(tmp_path / "bad.npz", vectors=vectors, labels=labels)
    done = run("train", tmp_path / "bad.npz", "--out", tmp_path / "model.kinhash", *TINY)
    assert (done.code, done.out) == (1, "")
    assert message in done.err.splitlines()[-1]
    assert done.err.splitlines()[-1].startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.npz"]


BAD_FILES = {
    "text.csv": (b"colour,label\nred,0\nblue,1\n", "numeric columns for the vectors, but has none"),
    "empty.csv": (b"", "Empty CSV file"),
    "labels.csv": (
        b"a,b,label\n1,2,x\n2,3,\n4,2,x\n3,1,\n",
        "must have a label in each row, but 2 of 4 are missing: in rows 1, 3",
    ),
    "numbers.csv": (b"a,label\n1,0\n2,\n4,1\n", "1 of 3 are missing: in row 1 (counted from 0)"),
    "header.csv": (b"a,b,label\n", "must have at least one row, but has none"),
    "empty.npz": (b"", "but is empty"),
    "other.npz": (b"not an archive", "must be a NumPy .npz file"),
    "other.txt": (b"1 2 3", ".csv, .tsv or .jsonl file, got '.txt'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_an_unreadable_file_is_named(run, tmp_path, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    done = run("train", tmp_path / name, "--out", tmp_path / "model.kinhash")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.err
    assert name in done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("digitz",), "Unknown data set 'digitz'. Did you mean 'digits'?"),
        (("nowhere.npz",), "There is no file nowhere.npz."),
        (("digits", "--method", "sparsehas"), "Did you mean 'sparsehash'?"),
        (("digits", "--method", "lsh", "--margin", "3"), "Method 'lsh' has no --margin."),
        (("digits", "--n-bits", "0"), "--n-bits must be an integer in [1, 4096], got 0."),
        (
            ("digits", "--encoder", "coad", "--set", "recipe=paper"),
            "Unknown encoder 'coad'. Did you mean 'cod'?",
        ),
        (("digits", "--seed", "-1"), "--seed must be an integer of at least 0, got -1."),
        (("digits", "--features", "gist"), "Unknown kind of features for digits 'gist'."),
        (("digits", "--labels", "x"), "data set 'digits' has its own"),
        (("digits", "--config", "nowhere.toml"), "Cannot read nowhere.toml: no such file"),
    ],
)
def test_a_bad_value_is_one_sentence(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = run("train", *words, "--out", "model.kinhash")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert message in done.err
    assert not list(tmp_path.iterdir())


TINY_PAIRS = ("--modalities", "image,text", "--n-bits", "16")


def test_two_modalities_of_a_file_become_one_model(run, pairs, items, texts, tmp_path):
    out = tmp_path / "model.kinhash"
    done = run("train", pairs, "--out", out, *TINY_PAIRS)
    assert (done.code, done.out) == (0, "")
    assert "Training multimodal-sparsehash on pairs: all 120 rows." in done.err
    assert re.search(
        r"16 bits, 10 rank and 6 bucket bits, image: .* for 120 training rows; text: .* for 120",
        done.err,
    )
    found = kinhash.load(out)
    assert isinstance(found, MultimodalSparseHash)
    assert found.modalities == ("image", "text")
    assert found.words_["text"].words == tuple(sorted({w for text in texts for w in text.split()}))
    assert len(found.encode(items[0], modality="image")) == 120


def test_the_modalities_are_in_the_order_asked_for(run, pairs, tmp_path):
    out = tmp_path / "model.kinhash"
    words = ("--modalities", "text, image", "--method", "cmssh", "--n-bits", "8")
    assert run("train", pairs, "--out", out, *words).code == 0
    assert kinhash.load(out).modalities == ("text", "image")


@pytest.mark.parametrize("kind", [CMSSH, CCAITQ])
def test_a_rival_of_two_modalities_is_chosen_by_name(run, pairs, tmp_path, kind):
    out = tmp_path / "model.kinhash"
    words = ("--modalities", "image,text", "--method", kind.name, "--n-bits", "4")
    assert run("train", pairs, "--out", out, *words).code == 0
    assert type(kinhash.load(out)) is kind


def test_a_named_data_set_without_a_split_of_its_own_is_split_by_the_seed(run, tmp_path):
    out = tmp_path / "model.kinhash"
    words = ("--modalities", "image,text", "--method", "cca-itq", "--n-bits", "8", "--seed", "3")
    done = run("train", "digits-words", "--out", out, *words)
    assert done.code == 0
    assert "896 of 1,797 rows, the training part of split 3." in done.err


def test_a_data_set_with_a_split_of_its_own_is_trained_on_its_training_part(run, rng, tmp_path):
    split = np.repeat([0, 1], [40, 20])
    labels = np.arange(60) % 3
    image = rng.normal(size=(60, 8)) + labels[:, None]
    np.savez(
        tmp_path / "wikipedia.npz",
        image=image,
        text=image[:, ::2],
        label=labels,
        split=split,
        categories=["a", "b", "c"],
    )
    out = tmp_path / "model.kinhash"
    done = run("train", "wikipedia", "--root", tmp_path, "--out", out, *TINY_PAIRS)
    assert done.code == 0
    assert "40 of 60 rows, the training part of its own split." in done.err
    expected = MultimodalSparseHash(n_bits=16).fit(
        {"image": image[:40].astype(np.float32), "text": image[:40, ::2].astype(np.float32)},
        labels[:40],
    )
    assert kinhash.load(out).encode(image, modality="image") == expected.encode(
        image, modality="image"
    )


def test_an_item_may_lack_a_modality(run, items, texts, tmp_path):
    image, text = items[0].copy(), np.array(texts)
    image[5] = np.nan
    text[7] = ""
    np.savez(tmp_path / "some.npz", image=image, text=text, label=items[1])
    done = run("train", tmp_path / "some.npz", "--out", tmp_path / "model.kinhash", *TINY_PAIRS)
    assert done.code == 0
    assert "for 119 training rows; text: " in done.err


def test_columns_of_a_table_are_modalities(run, items, texts, tmp_path):
    lines = ["photo_0,photo_1,photo_2,title,label,price"]
    for row, text, label in zip(items[0], texts, items[1], strict=True):
        lines.append(f"{row[0]},{row[1]},{row[2]},{text},class-{label},7")
    path, out = tmp_path / "shop.csv", tmp_path / "model.kinhash"
    path.write_text("\n".join(lines) + "\n")
    words = ("--modalities", "photo,title", "--n-bits", "8")
    done = run("train", path, "--out", out, *words)
    assert done.code == 0
    found = kinhash.load(out)
    assert found.encoders_["photo"].n_features == 3
    assert "rose" in found.words_["title"].words


def test_without_labels_the_modalities_of_an_item_are_similar(run, items, texts, tmp_path):
    np.savez(tmp_path / "pairs.npz", image=items[0], text=np.array(texts))
    done = run("train", tmp_path / "pairs.npz", "--out", tmp_path / "model.kinhash", *TINY_PAIRS)
    assert done.code == 0
    assert (
        "pairs has no labels: the modalities of one item, and nearby rows, count as "
        "similar." in done.err
    )


def test_a_config_file_has_a_value_for_each_modality(run, pairs, tmp_path):
    config, out = tmp_path / "train.toml", tmp_path / "model.kinhash"
    config.write_text(
        'recipe = "paper"\nmax_steps = 20\nn_layers = {image = 2}\nmu = {image = 1, text = 0.5}\n'
    )
    words = ("--modalities", "image,text", "--n-bits", "8", "--config", config)
    assert run("train", pairs, "--out", out, *words).code == 0
    found = kinhash.load(out)
    assert (found.n_layers, found.mu) == ({"image": 2}, {"image": 1.0, "text": 0.5})


BAD_PAIRS = {
    "rows": (
        lambda X, t, y: {"image": X, "text": np.array(t[:-1]), "label": y},
        "in {path} 'image' has 120 rows and 'text' has 119.",
    ),
    "labels": (
        lambda X, t, y: {"image": X, "text": np.array(t), "label": y[:-1]},
        "--labels has 119 items but --features has 120.",
    ),
    "missing": (
        lambda X, t, y: {"image": X, "words": np.array(t), "label": y},
        "{path} has no modality 'text'. Its arrays: image, words, label.",
    ),
    "no words": (
        lambda X, t, y: {"image": X, "text": np.array([""] * len(t)), "label": y},
        "None of the 120 texts has a word of two or more letters.",
    ),
    "all empty": (
        lambda X, t, y: {"image": np.full_like(X, np.nan), "text": np.array(t), "label": y},
        "All 120 rows of 'image' are empty.",
    ),
    "one number": (
        lambda X, t, y: {"image": X[:, 0], "text": np.array(t), "label": y},
        "or texts, strings of shape (n,), got float32 of shape (120,).",
    ),
    "objects": (
        lambda X, t, y: {"image": X, "text": np.array(t, dtype=object), "label": y},
        "`text` in {path} holds Python objects, which are not loaded because that can run code.",
    ),
}


@pytest.mark.parametrize("case", BAD_PAIRS)
def test_unusable_modalities_are_named_and_nothing_is_written(run, items, texts, tmp_path, case):
    spoil, message = BAD_PAIRS[case]
    path = tmp_path / "bad.npz"
    np.savez(path, **spoil(items[0], texts, items[1]))
    done = run("train", path, "--out", tmp_path / "model.kinhash", *TINY_PAIRS)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert message.format(path=path) in done.err.splitlines()[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["bad.npz"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ("digits-words", "--modalities", "image,txt"),
            1,
            "Unknown modality of digits-words 'txt'. Did you mean 'text'? Known: image, text.",
        ),
        (
            ("digits", "--modalities", "image,text"),
            1,
            "Data set 'digits' has one kind of vectors, no modalities.",
        ),
        (
            ("digits-words", "--modalities", "image"),
            2,
            "expected two or more different names separated by commas",
        ),
        (("digits-words", "--modalities", "text,text"), 2, "two or more different names"),
        (("digits-words", "--modalities", "image,,text"), 2, "two or more different names"),
        (
            ("digits-words", "--modalities", "image,text", "--method", "lsh"),
            1,
            "leave --modalities out, or choose --method cca-itq, cmssh, multimodal-sparsehash.",
        ),
        (
            ("digits-words", "--method", "cmssh"),
            1,
            "Method 'cmssh' takes several modalities: name them, as in --modalities image,text.",
        ),
        (
            ("digits-words", "--modalities", "image,text", "--method", "cmsh"),
            1,
            "Unknown method 'cmsh'. Did you mean 'cmssh'?",
        ),
        (
            ("digits-words", "--modalities", "image,text", "--set", "mu=much"),
            2,
            "`mu` must be a number, got 'much'.",
        ),
        (
            ("one.npy", "--modalities", "image,text"),
            1,
            "without a name. Store the modalities image, text in an .npz file.",
        ),
        (
            ("two.npz", "--modalities", "image,text", "--features", "image"),
            1,
            "for each modality, image, text, so --features cannot name one.",
        ),
    ],
)
def test_bad_modalities_are_one_sentence(run, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.eye(3))
    np.savez("two.npz", image=np.eye(3), text=np.eye(3))
    done = run("train", *words, "--out", "model.kinhash")
    assert (done.code, done.out) == (code, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert message in done.err
    assert not (tmp_path / "model.kinhash").exists()


def test_vectors_without_labels_help_to_order(run, npz, items, tmp_path, monkeypatch):
    monkeypatch.setattr("kinhash.training.rank_bits.N_STEPS", 20)
    np.savez(tmp_path / "more.npz", vectors=items[0][:30])
    words = ("train", npz, "--bits", "24", "--out", tmp_path / "model.kinhash")
    done = run(*words, "--unlabelled", tmp_path / "more.npz")
    assert done.code == 0
    assert "Unlabelled: 30 of 30 rows of more: all of them.\n" in done.err
    X, y = items
    expected = SparseHash(24).fit(X, y, unlabelled=X[:30])
    found = kinhash.load(tmp_path / "model.kinhash")
    assert found.encoder_.fingerprint == expected.encoder_.fingerprint
    assert run(*words, "--force").code == 0
    assert kinhash.load(tmp_path / "model.kinhash").encoder_.fingerprint != (
        expected.encoder_.fingerprint
    )


def test_unlabelled_rows_of_a_named_data_set_are_no_queries(run, tmp_path, monkeypatch):
    given = {}

    def fit(self, X, y, *, unlabelled):
        given.update(X=X, unlabelled=unlabelled)
        raise InvalidInputError("enough")

    monkeypatch.setattr(SparseHash, "fit", fit)
    done = run("train", "digits", "--unlabelled", "digits", "--seed", "3", "--out", tmp_path / "m")
    assert "605 of 1,797 rows of digits: neither training rows nor queries of split 3" in done.err
    data = load("digits")
    part = data.split(3)
    chosen = np.setdiff1d(part.database, part.train)
    assert np.array_equal(given["unlabelled"], data.vectors[chosen])
    assert np.array_equal(given["X"], data.vectors[part.train])


OTHER_METHOD = (
    "--unlabelled goes with --method sparsehash; lsh does not learn from vectors without labels "
    "beside others. Leave it out."
)
OTHER_RECIPE = (
    "--unlabelled is used by --set recipe=strong, but --set recipe is 'paper'. Leave it out."
)
OTHER_WIDTH = "--unlabelled has 5 features, but SparseHash is expecting 6 features as input."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "lsh"), OTHER_METHOD),
        (("--set", "recipe=paper"), OTHER_RECIPE),
        ((), OTHER_WIDTH),
    ],
)
def test_unlabelled_vectors_that_cannot_be_used_are_told(run, npz, tmp_path, words, message):
    np.save(tmp_path / "more.npy", np.ones((4, 5)))
    done = run("train", npz, "--unlabelled", tmp_path / "more.npy", "--out", tmp_path / "m", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(f"error: {message}\n")
    assert not (tmp_path / "m").exists()


def test_unlabelled_vectors_need_labelled_ones(run, items, tmp_path):
    np.save(tmp_path / "items.npy", items[0])
    more = ("--unlabelled", tmp_path / "items.npy")
    done = run("train", tmp_path / "items.npy", *more, "--out", tmp_path / "m")
    assert done.err.endswith(
        "error: --unlabelled goes with labels, and DATA has none. Add these rows to DATA instead.\n"
    )
    done = run("train", "-", "--unlabelled", "-", "--out", tmp_path / "m")
    assert done.err == "error: DATA and --unlabelled cannot both be stdin. Name a file for one.\n"
