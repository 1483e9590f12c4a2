import csv
import doctest
import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import kinhash.show.tables
from kinhash.errors import InvalidInputError
from kinhash.show.looks import LOOKS
from kinhash.show.tables import heading, html_table, render, show, title

ROWS = [
    {
        "method": "SparseHash",
        "n_bits": 48,
        "map": 0.94531,
        "recall@r0": 1 / 3,
        "unique_codes": 86.0,
    },
    {"method": "LSH", "n_bits": 128, "map": 1.0, "recall@r0": 0.0, "unique_codes": 9828.0},
]


def test_a_table_is_aligned_and_shows_rates_in_percent():
    assert render(ROWS, "table") == "\n".join(  # noqa: FLY002 - one line of the table per line here
        [
            "method      bits     mAP   recall  unique",
            "                       %  r = 0 %",
            "SparseHash    48   94.53    33.33      86",
            "LSH          128  100.00     0.00   9,828",
        ]
    )


@pytest.mark.parametrize("width", [40, 80, 100])
def test_a_wide_table_continues_below_and_repeats_what_a_row_is(width):
    rows = [
        {"method": name, "n_bits": 48, **{f"precision@r{r}": r / 20 for r in range(12)}}
        for name in ("SparseHash", "LSH")
    ]
    text = render(rows, "table", width=width)
    assert max(map(len, text.splitlines())) <= width
    blocks = [block.splitlines() for block in text.split("\n\n")]
    assert len(blocks) > 1
    assert all(block[0].split()[:2] == ["method", "bits"] for block in blocks)
    assert all(block[2].split()[:2] == ["SparseHash", "48"] for block in blocks)
    shown = [cell for block in blocks for cell in block[2].split()[2:]]
    assert shown == render(rows[:1], "table").splitlines()[-1].split()[2:]


def test_a_table_that_fits_stays_whole():
    assert render(ROWS, "table", width=41) == render(ROWS, "table")
    assert render(ROWS, "table", width=40).count("\n\n") == 1


def test_no_width_is_too_small():
    assert render([{"a": "long text", "b": 1, "c": 2}], "table", width=1).count("\n\n") == 1


def test_json_keeps_keys_and_full_precision():
    assert json.loads(render(ROWS, "json")) == ROWS
    assert "0.3333333333333333" in render(ROWS, "json")


def test_csv_keeps_keys_and_full_precision():
    assert render(ROWS, "csv") == (
        "method,n_bits,map,recall@r0,unique_codes\n"
        "SparseHash,48,0.94531,0.3333333333333333,86.0\n"
        "LSH,128,1.0,0.0,9828.0"
    )


def test_columns_are_those_of_all_rows_in_the_order_of_appearance():
    rows = [{"a": 1, "b": 2}, {"c": 3, "a": 4}]
    assert render(rows, "csv") == "a,b,c\n1,2,\n4,,3"
    assert render(rows, "table") == "a  b  c\n1  2  -\n4  -  3"


def test_unknown_numbers_are_null_empty_or_a_dash():
    rows = [{"method": "x", "map": float("nan"), "speed": float("inf")}]
    assert json.loads(render(rows, "json")) == [{"method": "x", "map": None, "speed": None}]
    assert render(rows, "csv") == "method,map,speed\nx,,"
    assert render(rows, "table").splitlines()[-1].split() == ["x", "-", "-"]


def test_numpy_numbers_are_plain_numbers():
    rows = [{"n": np.int64(3), "map": np.float64(0.5), "ok": np.True_}]
    assert json.loads(render(rows, "json")) == [{"n": 3, "map": 0.5, "ok": True}]
    assert render(rows, "csv") == "n,map,ok\n3,0.5,True"
    assert render(rows, "table").splitlines()[-1].split() == ["3", "50.00", "True"]


def test_csv_quotes_what_needs_it():
    rows = [{"name": 'a, "b"', "n": 1}]
    assert list(csv.DictReader(io.StringIO(render(rows, "csv")))) == [{"name": 'a, "b"', "n": "1"}]


def test_no_rows_are_an_empty_table():
    assert (render([], "table"), render([], "csv"), render([], "json")) == ("", "", "[]")


def test_an_unknown_format_is_named_with_the_nearest():
    with pytest.raises(InvalidInputError, match=r"Unknown format 'jsn'. Did you mean 'json'\?"):
        render(ROWS, "jsn")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("map", 0.12345, "12.35"),
        ("map@10", 0.5, "50.00"),
        ("mp@5000", 0.1, "10.00"),
        ("f1@r2", 0.98765, "98.77"),
        ("empty@r0", 1.0, "100.00"),
        ("mean_matches@r0", 1234.56, "1,234.6"),
        ("mean_active", 5.572, "5.6"),
        ("unique_codes", 59999.0, "59,999"),
        ("fit_seconds", 2.04, "2.0"),
        ("n_bits", 1024, "1024"),
        ("margin", 7.0, "7"),
        ("alpha", 0.001, "0.001"),
        ("signed", False, "False"),
        ("method", "LSH", "LSH"),
        ("anything", None, "-"),
    ],
)
def test_how_a_value_is_shown(key, value, expected):
    assert show(key, value) == expected


def test_headings_say_the_radius_or_the_ranking_length():
    assert heading("precision@r0") == ("precision", "r = 0")
    assert heading("precision@r12") == ("precision", "r ≤ 12")
    assert heading("mp@5000") == ("precision", "first 5000")
    assert heading("user@home") == ("user@home", "")
    assert heading("map@home") == ("map@home", "")


def test_a_title_joins_name_and_condition():
    assert title("f1@r0") == "F1, r = 0"
    assert title("f1@r2", " at ") == "F1 at r ≤ 2"
    assert title("fit_seconds", " at ") == "seconds"


def cells(row):
    return ["".join(cell.itertext()) for cell in row]


def test_an_html_table_groups_columns_of_one_radius():
    rows = [{"method": "LSH", "map": 0.5, "recall@r0": 0.1, "f1@r0": 0.2, "recall@r2": 0.3}]
    above, below, line = ET.fromstring(html_table(rows)).iter("tr")  # noqa: S314 - our own text
    assert [(cell.get("colspan"), cell.text or "") for cell in above] == [
        ("2", ""),
        ("2", "r = 0"),
        ("1", "r ≤ 2"),
    ]
    assert cells(below) == ["method", "mAP %", "recall %", "F1 %", "recall %"]
    assert cells(line) == ["LSH", "50.00", "10.00", "20.00", "30.00"]


def test_chosen_rows_of_an_html_table_stand_out():
    lines = list(ET.fromstring(html_table(ROWS, strong="LSH")).iter("tr"))  # noqa: S314 - our own
    assert [line.get("class") for line in lines] == [None, None, None, "strong"]


def test_methods_of_an_html_table_have_the_colour_of_the_figures():
    rows = [{"method": "LSH, seed 3", "n_bits": 8}, {"method": "unheard of", "n_bits": 8}]
    text = html_table(rows)
    assert text.count('class="dot"') == 1
    dot = f'<span class="dot" style="background:{LOOKS["LSH"].colour}"></span>'
    assert f"<td>{dot}LSH, seed 3</td>" in text


def test_an_html_table_escapes_keys_and_values():
    text = html_table([{"<b>key</b>": "<script>&"}])
    assert "<b>" not in text
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text


def test_importing_tables_needs_neither_matplotlib_nor_torch():
    script = (
        "import sys, kinhash.show.tables; "
        "print([name for name in ('matplotlib', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]", done.stderr


def test_examples_run():
    assert doctest.testmod(kinhash.show.tables).failed == 0


def test_lines_of_json_have_one_row_each():
    rows = [{"method": "LSH", "map": 0.5}, {"method": "ITQ", "map": float("nan")}]
    lines = render(rows, "jsonl").splitlines()
    assert lines == ['{"method": "LSH", "map": 0.5}', '{"method": "ITQ", "map": null}']
    assert render([], "jsonl") == ""
