import json

from kinhash.studies import comparison


def test_methods_are_compared_and_the_verdict_goes_to_stderr(run):
    done = run("compare", "digits", "--methods", "itq,lsh,l2", "--bits", "8", "--format", "json")
    rows = json.loads(done.out)
    assert [row["method"] for row in rows] == ["ITQ", "LSH", "L2"]
    assert rows[2]["f1@r0"] is None
    assert "Ahead in mAP, for ranking everything: L2" in done.err
    assert done.code == 0


def test_a_report_is_written_and_its_records_are_used_again(run, tmp_path):
    out = tmp_path / "report"
    first = run("compare", "digits", "--methods", "lsh", "--bits", "8", "--out", out)
    assert f"Wrote {out / 'report.html'}" in first.err
    assert (out / "figures" / "trade-off.svg").is_file()
    content = (out / "digits.jsonl").read_bytes()
    assert content.count(b"\n") == 1
    again = run("compare", "digits", "--methods", "lsh", "--bits", "8", "--out", out)
    assert again.out == first.out
    assert (out / "digits.jsonl").read_bytes() == content


def test_unseen_classes_are_another_comparison(run):
    done = run("compare", "digits", "--methods", "l2", "--unseen", "--format", "json")
    usual = run("compare", "digits", "--methods", "l2", "--format", "json")
    assert json.loads(done.out)[0]["map"] > json.loads(usual.out)[0]["map"]


def test_the_order_of_rankings_is_passed_on(run, monkeypatch):
    asked = []
    compare = comparison.compare

    def noted(*arguments, order, **options):
        asked.append(order)
        return compare(*arguments, order=order, **options)

    monkeypatch.setattr(comparison, "compare", noted)
    words = ("compare", "digits", "--methods", "lsh", "--bits", "8", "--format", "json")
    total, nested = (json.loads(run(*words, *more).out) for more in (("--order", "total"), ()))
    assert total[0]["map"] == nested[0]["map"]  # without rank bits, there is one order
    assert asked == ["total", "nested"]


def test_wrong_words_get_one_sentence(run):
    done = run("compare", "digits", "--methods", "lsh,iqt")
    assert done.code == 1
    assert done.err.startswith("error: Unknown method 'iqt'")
    done = run("compare", "digits", "--bits", "many")
    assert done.code == 2
    done = run("compare", "digits", "--methods", "lsh", "--bits", "0")
    assert done.code == 2
    assert "'--bits': expected integers from 1 to 4096 separated by commas" in done.err


def test_a_method_that_refuses_the_data_is_left_out_and_said(run):
    done = run("compare", "digits", "--methods", "itq,lsh", "--bits", "64", "--format", "json")
    assert done.code == 0
    assert [row["method"] for row in json.loads(done.out)] == ["LSH"]
    assert "warning: ITQ is left out: --bits must be at most 61" in done.err
