"""The demo: SparseHash, two rivals and a control on digits, and a report with pictures."""

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinhash.datasets import Dataset, Split, load
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.evaluation.protocol import Evaluation, evaluate_method, recall_against_radius
from kinhash.index.reference import search_top_k
from kinhash.measures import DEMO, scores
from kinhash.methods import LSH, ClassCode, HashMethod, Nested, NNHash, SparseHash
from kinhash.progress import Report, silent
from kinhash.show import plots
from kinhash.show.html import Fact, Section, write_report
from kinhash.show.tables import Row, title
from kinhash.studies.records import plate_queries

REPORT = "report.html"
MODEL = "model.kinhash"

MODEL_BITS = 64  # SparseHash's default; this model is saved, and searched for the picture plate
MAX_RADIUS = 10
N_NEIGHBOURS = 10
N_STRIP_QUERIES = 3
N_STRIPS = 5
RANKED_PLACES = (1, 10, 50, 100, 200)  # in the ranking by both parts of a code

KINDS: dict[type[HashMethod], str] = {
    SparseHash: "sparse",
    NNHash: "dense",
    LSH: "dense, random",
    ClassCode: "control",
}
"""The methods, each with its own defaults, and how the page calls them."""

Results = Mapping[tuple[str, int], Evaluation]  # by method and bits


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo left behind.

    Attributes:
        report: The HTML file.
        model: The fitted 64-bit SparseHash, for `kinhash.load` and the command line.
        rows: The table of results, for `kinhash.show.tables.render`.
    """

    report: Path
    model: Path
    rows: list[Row]


def run_demo(
    out: Path,
    *,
    seed: int = 0,
    force: bool = False,
    report: Report | None = None,
    bits: tuple[int, int] = (48, 128),
    max_steps: int | None = None,
) -> DemoResult:
    """Compare SparseHash with rivals and a control on digits, and write a report to `out`.

    Every method has its own defaults, at two code lengths.

    Args:
        out: A folder; it is made if needed. `report.html` and `model.kinhash` are written once all
            is computed, each whole or not at all.
        seed: Chooses the split and makes every fit repeatable.
        force: Overwrite those two files.
        report: Called with (steps done, steps in all, what comes next).
        bits: The two code lengths to compare, the shorter first.
        max_steps: Most training batches per method; the methods' own default if left at None.

    Raises:
        InvalidInputError: The files exist and `force` is not set, `out` cannot be written, or
            `bits` are not two ascending lengths.
        MissingExtraError: torch is not installed.
    """
    out = Path(out)
    report = report or silent
    short, long = bits
    if short >= long:
        raise InvalidInputError(f"`bits` must be two ascending lengths, got {bits}.")
    prepare(out, force=force)
    start = time.perf_counter()
    data = load("digits")
    part = data.split(seed)
    plan: list[tuple[type[HashMethod], int]] = [
        *((SparseHash, n_bits) for n_bits in sorted({*bits, MODEL_BITS})),
        *itertools.product([kind for kind in KINDS if kind is not SparseHash], bits),
    ]
    methods: dict[tuple[str, int], HashMethod] = {}
    results: dict[tuple[str, int], Evaluation] = {}
    for done, (kind, n_bits) in enumerate(plan):
        key = kind.__name__, n_bits
        report(done, len(plan) + 1, f"{key[0]}, {n_bits} bits")
        methods[key] = _method(kind, n_bits, seed, max_steps)
        results[key] = _evaluated(methods[key], data, part)
    report(len(plan), len(plan) + 1, "drawing")
    rows = [_row(key, evaluation) for key, evaluation in results.items()]
    model = methods[SparseHash.__name__, MODEL_BITS]
    compared = {key: found for key, found in results.items() if key[1] in bits}
    sections = [
        _recall_section(compared),
        _table_section(rows, compared),
        _plate_section(data, part, results[SparseHash.__name__, MODEL_BITS]),
        _codes_section(results[SparseHash.__name__, MODEL_BITS]),
        _nested_section(_evaluated(Nested(n_bits=MODEL_BITS, seed=seed), data, part)),
        _active_section(compared),
        _history_section(model),
        _next_section(seed),
    ]
    model.save(out / MODEL)
    write_report(
        out / REPORT,
        title="Do longer codes still find similar items?",
        lead=_lead(data, part),
        facts=_facts(compared),
        sections=sections,
        footer=f"Made by kinhash demo in {time.perf_counter() - start:.0f} seconds, seed {seed}.",
    )
    report(len(plan) + 1, len(plan) + 1, "done")
    return DemoResult(out / REPORT, out / MODEL, rows)


def prepare(out: Path, *, force: bool) -> None:
    """Make the folder, or say why nothing can be written, before any time is spent."""
    present = [name for name in (REPORT, MODEL) if (out / name).exists()]
    if present and not force:
        raise InvalidInputError(
            f"{out} already holds {' and '.join(present)}. Choose another folder, or pass "
            "`force=True` to overwrite."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInputError(f"Cannot make the folder {out}: {reason}.") from error


def _method(kind: type[HashMethod], n_bits: int, seed: int, max_steps: int | None) -> HashMethod:
    method = kind().set_params(n_bits=n_bits, seed=seed)
    if max_steps is not None and "max_steps" in method.get_params():
        method.set_params(max_steps=max_steps)
    return method


def _evaluated(method: HashMethod, data: Dataset, part: Split) -> Evaluation:
    with warnings.catch_warnings():
        # Some corner pixels of digits are always blank: nothing that a reader could act upon.
        warnings.simplefilter("ignore", ConstantColumnWarning)
        return evaluate_method(method, data, part)


def _row(key: tuple[str, int], evaluation: Evaluation) -> Row:
    measures = {name: evaluation.metrics[name] for name in DEMO}
    return {"method": key[0], "n_bits": key[1], **measures}


def _lead(data: Dataset, part: Split) -> str:
    return (
        "kinhash learns codes so that similar items get equal or nearly equal codes: finding them "
        "is then a lookup. Does that still work when codes get longer? SparseHash learns long "
        "codes with few active bits. NNHash, a dense network, and LSH, random projections, are "
        "its rivals here. ClassCode is the control: a classifier's prediction, stored as a code. "
        f"Each method has its own defaults. The training part has {len(part.train)} labelled "
        f"images of handwritten {data.name}; {len(part.query)} images that no method has seen "
        f"search among {len(part.database):,}."
    )


def _facts(results: Results) -> list[Fact]:
    short, long = _lengths(results)
    return [
        Fact(
            f"{name} ({kind})",
            " → ".join(_percent(results[name, n].metrics["recall@r0"]) for n in (short, long)),
            f"recall at radius 0, from {short} to {long} bits",
        )
        for name, kind in ((kind.__name__, what) for kind, what in KINDS.items())
    ]


def _recall_section(results: Results) -> Section:
    short, long = _lengths(results)
    curves = {key: recall_against_radius(found, MAX_RADIUS) for key, found in results.items()}
    return Section(
        "What happens to recall when codes get longer",
        paragraphs=[_recall_sentence(results), _ranking_sentence(results)],
        image=plots.data_uri(plots.plot_recall_against_radius(curves)),
        caption=(
            "Recall: the share of all images of the query's class that lie within the radius. "
            "Radius 0 is a single lookup: the answers are the items with the query's own code. "
            f"Solid lines and filled marks: {short} bits. Dotted lines and open marks: {long} bits."
        ),
    )


def _recall_sentence(results: Results) -> str:
    short, long = _lengths(results)
    parts = []
    for name in _names(results):
        before, after = (results[name, n_bits].metrics["recall@r0"] for n_bits in (short, long))
        # A ratio of two rates near zero would be noise.
        kept = f" ({_percent(after / before, 0)} of it)" if before >= 0.01 else ""
        parts.append(f"{name} goes from {_percent(before)} to {_percent(after)}{kept}")
    return f"Recall at radius 0, from {short} to {long} bits: {'; '.join(parts)}."


def _ranking_sentence(results: Results) -> str:
    _, long = _lengths(results)
    maps = ", ".join(
        f"{_percent(results[name, long].metrics['map'])} for {name}" for name in _names(results)
    )
    return f"When the whole database is ranked instead, mAP at {long} bits is {maps}."


def _table_section(rows: Sequence[Row], results: Results) -> Section:
    evaluation = next(iter(results.values()))
    # One code for everything: recall 1, and the share of the query's class as precision.
    blind = float(np.mean(evaluation.query_labels[:, None] == evaluation.database_labels))
    blind_f1 = _percent(2 * blind / (1 + blind))
    n_queries = len(evaluation.query_codes)
    return Section(
        "Every number",
        paragraphs=[*_rivals_sentences(results), _control_sentence(results)],
        rows=rows,
        strong=SparseHash.__name__,
        note=(
            "Means over queries. mAP: average precision of the whole ranking, expected over all "
            "orders of items at equal distance. Empty: queries without any answer; they count with "
            "precision 0. Answers: items returned per query. Unique: different codes in the "
            "database, which also holds the training images. Active: bits set per code. F1 alone "
            f"can deceive: one code for everything would score {blind_f1}. This is one run with "
            f"{n_queries} queries: the standard error of a rate is up to "
            f"{50 / n_queries**0.5:.1f} points, and other seeds give other codes."
        ),
    )


def _rivals_sentences(results: Results) -> list[str]:
    """Say where another method beats SparseHash at the same length, a sentence for each."""
    ours = SparseHash.__name__
    rates, sentences = scores(DEMO), []
    for name in _names(results):
        parts = []
        for n_bits in _lengths(results) if name != ours else ():
            theirs, our = (results[who, n_bits].metrics for who in (name, ours))
            won = [title(m, " at ") for m in rates if theirs[m] > our[m]]
            if won:
                what = "every rate" if len(won) == len(rates) else ", ".join(won)
                parts.append(f"with {n_bits} bits in {what}")
        if parts:
            sentences.append(f"{name} is ahead of {ours} {'; '.join(parts)}.")
    return sentences or [
        f"At the same length, no other method is ahead of {ours} in mAP, precision, recall or F1."
    ]


def _control_sentence(results: Results) -> str:
    control, ours = (
        [found.metrics["unique_codes"] for (name, _), found in results.items() if name == kind]
        for kind in (ClassCode.__name__, SparseHash.__name__)
    )
    return (
        f"What {ClassCode.__name__} reaches, class labels alone reach. It has {max(control):.0f} "
        f"different codes and says nothing about items within a class; {SparseHash.__name__} has "
        f"{min(ours):.0f} to {max(ours):.0f}."
    )


def _plate_section(data: Dataset, part: Split, evaluation: Evaluation) -> Section:
    images, labels = np.asarray(data.images), np.asarray(data.labels)  # digits have both
    positions = plate_queries(evaluation.query_labels)
    matches = search_top_k(
        evaluation.database_codes,
        evaluation.query_codes[positions],
        N_NEIGHBOURS,
        ids=part.database,
    )
    queries = part.query[positions]
    neighbours = [ids for ids, _ in matches]
    correct = [labels[ids] == labels[query] for query, ids in zip(queries, neighbours, strict=True)]
    figure = plots.plot_neighbours(images, queries, neighbours, correct)
    n_correct, n_shown = int(np.sum(np.concatenate(correct))), len(matches.ids)
    return Section(
        f"What {SparseHash.__name__} finds with {MODEL_BITS} bits",
        paragraphs=[f"{n_correct} of the {n_shown} nearest neighbours show the query's digit."],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"The {N_NEIGHBOURS} nearest neighbours of {len(queries)} unseen images. "
            "Grey frame: the query. Green frame: the same digit. Dashed red frame with a cross: "
            "another digit. The queries are the first of each of five classes drawn at random, not "
            "picked. At equal distance the lowest row number comes first."
        ),
    )


def _codes_section(evaluation: Evaluation) -> Section:
    queries = evaluation.query_codes[plate_queries(evaluation.query_labels)[:N_STRIP_QUERIES]]
    neighbours, labels = [], []
    for query in queries:
        ids, distances = search_top_k(
            evaluation.database_codes, query, len(evaluation.database_labels)
        )[0]
        # Hundreds of items share the nearest code: the first of each distance shows more.
        _, first = np.unique(distances, return_index=True)
        chosen = first[:N_STRIPS]
        neighbours.append(evaluation.database_codes[ids[chosen]])
        labels.append([f"no. {place + 1}" for place in chosen])
    return Section(
        "What a code looks like",
        image=plots.data_uri(plots.plot_codes(queries, neighbours, labels), "png"),
        caption=(
            f"The codes of {len(queries)} of these queries, a cell for each bit, and below each "
            f"query the first item of the {N_STRIPS} smallest distances that occur, with its place "
            "in the ranking. Every orange mark is a bit in which the two codes differ, and counts "
            "1 in the distance."
        ),
    )


def _nested_section(evaluation: Evaluation) -> Section:
    queries = evaluation.query_codes[plate_queries(evaluation.query_labels)[:N_STRIP_QUERIES]]
    matches = search_top_k(evaluation.database_codes, queries, RANKED_PLACES[-1])
    chosen = np.array(RANKED_PLACES) - 1
    neighbours = [evaluation.database_codes[ids[chosen]] for ids, _ in matches]
    labels = [[f"no. {place}" for place in RANKED_PLACES]] * len(queries)
    n_codes = evaluation.database_codes.n_unique
    said = (
        f"{Nested.__name__} writes two codes one after the other: a bucket, of which there are "
        f"{n_codes} here, and rank bits. A radius sees the bucket alone; rank bits put what is "
        "found in order."
    )
    return Section(
        "An order among items in one bucket",
        paragraphs=[said],
        image=plots.data_uri(plots.plot_codes(queries, neighbours, labels), "png"),
        caption=(
            f"The same queries with {evaluation.query_codes.n_bits} bits of {Nested.__name__}, and "
            "below each query items from its ranking, with their places in it. At equal distance, "
            "orange marks among the rank bits become more from top to bottom."
        ),
    )


def _active_section(results: Results) -> Section:
    _, long = _lengths(results)
    codes = {name: results[name, long].database_codes for name in _names(results)}
    return Section(
        "How sparse the codes are",
        image=plots.data_uri(plots.plot_active_bits(codes)),
        caption=(
            f"How many of the {long} bits are active in the codes of the database. Two codes are "
            "equal only if every bit agrees."
        ),
    )


def _history_section(model: HashMethod) -> Section:
    return Section(
        "How the codes were learned",
        image=plots.data_uri(plots.plot_history(model.history_)),
        caption=(
            f"{type(model).__name__}, {MODEL_BITS} bits, on held-out training images. The loss "
            "pulls similar pairs together, pushes dissimilar pairs apart, and makes active bits "
            "costly. The fewer codes are unique, the more items share one."
        ),
    )


def _next_section(seed: int) -> Section:
    return Section(
        "Go on from here",
        paragraphs=[
            f"The {MODEL_BITS}-bit model lies beside this report. In that folder:",
        ],
        commands=[
            f"kinhash info {MODEL}",
            f"kinhash evaluate {MODEL} digits" + (f" --seed {seed}" if seed else ""),
            f"kinhash encode {MODEL} digits --out codes.kinhash",
        ],
    )


def _lengths(results: Results) -> tuple[int, int]:
    lengths = {n_bits for _, n_bits in results}
    return min(lengths), max(lengths)


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(name for name, _ in results))


def _percent(fraction: float, n_decimals: int = 1) -> str:
    return f"{100 * fraction:.{n_decimals}f}\N{NO-BREAK SPACE}%"
