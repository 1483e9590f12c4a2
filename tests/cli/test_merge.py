import numpy as np

from kinhash import Codes, HammingIndex

CODES = Codes.from_dense(np.eye(2, 3))


def save(path, ids, codes=CODES, **more):
    HammingIndex(codes, ids, **more).save(path)
    return path


def test_indexes_are_merged_in_their_order(run, tmp_path):
    one = save(tmp_path / "one", ["b", "a"], memory="fast", made_by="x")
    two = save(tmp_path / "two", ["0", "é"])
    three = save(tmp_path / "three", ["z", "y"], made_by="x")
    out, before = tmp_path / "all", one.read_bytes()
    done = run("merge", one, two, three, "--out", out)
    assert (done.code, done.out, done.err) == (0, "", f"Wrote {out}: 6 items of 3 indexes.\n")
    index = HammingIndex.load(out, verify=True)
    assert index.ids.tolist() == ["b", "a", "0", "é", "z", "y"]
    assert (index.memory, index.made_by, one.read_bytes() == before) == ("fast", "x", True)


def test_indexes_that_do_not_fit_are_refused(run, tmp_path):
    one = save(tmp_path / "one", [1, 2], made_by="x")
    for number, (other, message) in enumerate(
        (
            (((2, 3), CODES), "the ids hold 2, which an index before it has, too."),
            ((("a", "b"), CODES), "the ids must be integers, as those of the index are"),
            (
                ((3, 4), Codes.from_dense(np.eye(2))),
                "the codes of it have 2 bits but the index has",
            ),
        )
    ):
        path = save(tmp_path / f"other{number}", *other)
        done = run("merge", one, path, "--out", tmp_path / "all")
        assert done.code == 1
        assert done.err.startswith(f"error: {path}: {message}"), done.err
    path = save(tmp_path / "another", [3, 4], made_by="y")
    done = run("merge", one, path, "--out", tmp_path / "all")
    assert f"{path}: it was made by encoder y, but those before it by x. Encode" in done.err
    assert not (tmp_path / "all").exists()


def test_the_output_is_new_and_the_inputs_are_two(run, tmp_path):
    one, two = save(tmp_path / "one", [1, 2]), save(tmp_path / "two", [3, 4])
    done = run("merge", one, "--out", tmp_path / "all")
    assert (done.code, "expected two or more files, got one" in done.err) == (2, True)
    done = run("merge", one, two, "--out", two, "--force")
    assert (done.code, "it is read here. Choose another name." in done.err) == (1, True)
