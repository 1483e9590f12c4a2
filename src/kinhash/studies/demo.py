"""The demo: SparseHash, two rivals and a control on digits, and a report with pictures."""

import itertools
import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.datasets import Dataset, Split, load
from kinhash.datasets.dataset import vectors_of
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.evaluation.protocol import (
    Evaluation,
    evaluate_method,
    evaluate_raw,
    recall_against_radius,
)
from kinhash.index.reference import search_top_k
from kinhash.measures import DEMO, scores
from kinhash.methods import LSH, ClassCode, HashMethod, NNHash, SparseHash
from kinhash.metrics import Metric
from kinhash.progress import Report, silent
from kinhash.show import plots
from kinhash.show.html import Fact, Section, write_report
from kinhash.show.tables import Row, title
from kinhash.studies.disputed import most_disputed
from kinhash.studies.records import plate_queries

REPORT = "report.html"
MODEL = "model.kinhash"

BITS = (64, 128)  # the first is SparseHash's default: this model is saved, and its answers shown
MAX_RADIUS = 32
N_NEIGHBOURS = 10
N_RANDOM, N_DISPUTED = 2, 6  # queries of the plate
N_STRIP_QUERIES = 3
PLACES = (1, 10, 100, 150, 200, 500)  # in the ranking, of the codes that are shown
N_LOOKED_UP = 8  # a radius whose number of codes the page tells

KINDS: dict[type[HashMethod], str] = {
    SparseHash: "sparse",
    NNHash: "dense",
    LSH: "dense, random",
    ClassCode: "control",
}
"""The methods, each with its own defaults, and how the page calls them."""
L2, COSINE = "L2", "cosine"  # rankings by the vectors themselves

Results = Mapping[tuple[str, int], Evaluation]  # by method and bits


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo left behind.

    Attributes:
        report: The HTML file.
        model: The fitted SparseHash with the shorter code, for `kinhash.load` and the command line.
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
    bits: tuple[int, int] = BITS,
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
        max_steps: Most training batches of methods that have such a limit; None for their own.

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
    plan = list(itertools.product(KINDS, bits))
    methods: dict[tuple[str, int], HashMethod] = {}
    results: dict[tuple[str, int], Evaluation] = {}
    for done, (kind, n_bits) in enumerate(plan):
        key = kind.__name__, n_bits
        report(done, len(plan) + 1, f"{key[0]}, {n_bits} bits")
        methods[key] = _method(kind, n_bits, seed, max_steps)
        results[key] = _evaluated(methods[key], data, part)
    report(len(plan), len(plan) + 1, "drawing")
    rows = [*(_row(key, found) for key, found in results.items()), *_vector_rows(data, part)]
    answers = _answers(data, part, {name: results[name, short] for name in _names(results)})
    queries = _queries(answers, np.asarray(data.labels), part)
    sections = [
        _plate_section(data, part, answers, queries, short),
        _codes_section(data, part, results, queries[:N_STRIP_QUERIES]),
        _recall_section(results),
        _table_section(rows, results),
        _active_section(results),
        _next_section(seed),
    ]
    methods[SparseHash.__name__, short].save(out / MODEL)
    write_report(
        out / REPORT,
        title="What does a short code find?",
        lead=_lead(data, part),
        facts=_facts(rows, short, vectors_of(data)[0].nbytes),
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
    # What a method leaves at None it may not have at all: it belongs to another recipe.
    if max_steps is not None and method.get_params().get("max_steps") is not None:
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


def _vector_rows(data: Dataset, part: Split) -> list[Row]:
    """Return the measures of rankings by the vectors: they have no codes, so no radius either."""
    rankings: tuple[tuple[str, Metric], ...] = ((L2, "l2"), (COSINE, "cosine"))
    rows: list[Row] = []
    for name, metric in rankings:
        found, _ = evaluate_raw(data, part, metric=metric)
        measures = {key: found[key] for key in DEMO if key in found}
        rows.append({"method": name, "n_bits": None, **measures})
    return rows


def _lead(data: Dataset, part: Split) -> str:
    return (
        "kinhash learns short codes: similar items get equal or nearly equal ones, so that finding "
        f"them is a lookup. SparseHash learns here from {len(part.train)} labelled drawings of "
        f"{data.name}; {len(part.query)} drawings that it has never seen search among "
        f"{len(part.database):,}. Beside it, each with its own defaults: NNHash, a dense network; "
        "LSH, random projections; ClassCode, a classifier's prediction stored as a code, which is "
        "the control; and the vectors themselves, ranked by L2 and by cosine."
    )


def _facts(rows: Sequence[Row], n_bits: int, n_bytes: int) -> list[Fact]:
    """Return what to take away: of ours, and who is best, whoever that is."""
    shown = [row for row in rows if row["n_bits"] in (n_bits, None)]
    (ours,) = [row for row in shown if row["method"] == SparseHash.__name__]
    lookup, ranking = (
        max((row for row in shown if key in row), key=lambda row, key=key: row[key])  # type: ignore[misc]
        for key in ("f1@r0", "map")
    )
    return [
        Fact(
            f"One lookup of {SparseHash.__name__}",
            _percent(ours["recall@r0"]),
            "of all drawings of the query's digit have the query's own code; "
            f"{_percent(ours['precision@r0'])} of the answers are right",
        ),
        Fact("Best by lookup", lookup["method"], f"F1 {_percent(lookup['f1@r0'])} at radius 0"),
        Fact("Best as a ranking", ranking["method"], f"mAP {_percent(ranking['map'])}"),
        Fact(
            "Stored for a drawing",
            f"{-(-n_bits // 8)} bytes",
            f"instead of {n_bytes} bytes of its vector",
        ),
    ]


Answers = Mapping[str, tuple[Array, Array]]  # by method: the rows found, and whether each is right


def _answers(data: Dataset, part: Split, results: Mapping[str, Evaluation]) -> Answers:
    """Return the first answers to all queries; at equal distance the lowest row number is first."""
    labels, vectors = np.asarray(data.labels), vectors_of(data)
    rows = {
        name: search_top_k(found.database_codes, found.query_codes, N_NEIGHBOURS, ids=part.database)
        for name, found in results.items()
    }
    found = {name: matches.ids.reshape(len(part.query), -1) for name, matches in rows.items()}
    distances = np.stack(
        [np.square(vectors[part.database] - vectors[row]).sum(axis=1) for row in part.query]
    )
    found[L2] = part.database[np.argsort(distances, axis=1, kind="stable")[:, :N_NEIGHBOURS]]
    return {name: (ids, labels[ids] == labels[part.query, None]) for name, ids in found.items()}


def _queries(answers: Answers, labels: Array, part: Split) -> list[int]:
    """Return the queries of the plate: some drawn at random, then the most disputed."""
    classes = labels[part.query]
    drawn = plate_queries(classes)[:N_RANDOM]
    n_right = {name: right.sum(axis=1) for name, (_, right) in answers.items()}
    return [*drawn, *most_disputed(n_right, classes, N_DISPUTED, but=drawn)]


def _plate_section(
    data: Dataset, part: Split, answers: Answers, queries: Sequence[int], n_bits: int
) -> Section:
    labels = np.asarray(data.labels)[part.query]
    found = [
        {name: plots.Found(rows[at], right[at]) for name, (rows, right) in answers.items()}
        for at in queries
    ]
    figure = plots.plot_methods_apart(
        _on_paper(data),
        part.query[list(queries)].tolist(),
        found,
        [
            f"{labels[at]}: {'drawn at random' if rank < N_RANDOM else 'disputed'}"
            for rank, at in enumerate(queries)
        ],
    )
    return Section(
        "Where the methods disagree",
        paragraphs=[_agreement_sentence(answers, n_bits), _rule_sentence(len(queries))],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"Grey frame: the query. Beside it the first {N_NEIGHBOURS} answers of each method and "
            "how many of them are right. A dashed red frame with a cross: another digit. At equal "
            "distance the lowest row number comes first."
        ),
    )


def _agreement_sentence(answers: Answers, n_bits: int) -> str:
    shares = ", ".join(f"{name} {_percent(right.mean())}" for name, (_, right) in answers.items())
    agreed = np.all([right.all(axis=1) for _, right in answers.values()], axis=0)
    return (
        f"Right among the first {N_NEIGHBOURS} answers to all {len(agreed)} queries, with codes of "
        f"{n_bits} bits: {shares}. For {_percent(agreed.mean(), 0)} of the queries all answers of "
        "all methods are right: pictures of these would tell nothing."
    )


def _rule_sentence(n_queries: int) -> str:
    return (
        f"So these are chosen by a rule: the first {N_RANDOM} are drawn at random. The other "
        f"{n_queries - N_RANDOM} are disputed: of all queries, those for which the number of right "
        "answers varies most between the methods, whichever of them is right; at most one for each "
        "digit."
    )


def _on_paper(data: Dataset) -> Array:
    """Return the drawings in dark ink on white paper; the data set has them the other way round."""
    return 255 - np.asarray(data.images)


def _codes_section(data: Dataset, part: Split, results: Results, queries: Sequence[int]) -> Section:
    short, _ = _lengths(results)
    strips = {
        name: _strips(part, results[name, short], queries)
        for name in (SparseHash.__name__, NNHash.__name__)
    }
    figure = plots.plot_codes_beside(strips, _on_paper(data))
    return Section(
        "What the codes look like: sparse beside dense",
        paragraphs=[
            " ".join(_described(name, results[name, short].database_codes) for name in strips)
        ],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"The codes of the first {len(queries)} queries above, a cell for each bit, and below "
            "each query the items at some places of its own ranking. Every red mark is a bit in "
            "which the item differs from the query, and counts 1 in the distance beside it. Where "
            "there are rank bits, the distance is that of the bucket + that of the rank bits, and "
            "the second only orders items at the same first."
        ),
    )


def _strips(part: Split, evaluation: Evaluation, queries: Sequence[int]) -> plots.Strips:
    places = [place for place in PLACES if place <= len(evaluation.database_labels)]
    chosen = np.array(places) - 1
    asked = evaluation.query_codes[list(queries)]
    matches = search_top_k(evaluation.database_codes, asked, places[-1])
    found = [ids[chosen] for ids, _ in matches]
    return plots.Strips(
        asked,
        [evaluation.database_codes[ids] for ids in found],
        [[f"no. {place}" for place in places]] * len(found),
        [
            [int(part.query[at]), *part.database[ids].tolist()]
            for at, ids in zip(queries, found, strict=True)
        ],
    )


def _described(name: str, codes: Codes) -> str:
    """Say in a sentence how sparse the codes are, how many differ, and what rank bits are for."""
    said = (
        f"{name} has {codes.n_active.mean():.1f} of {codes.n_bucket_bits} bits active and "
        f"{codes.n_unique:,} different codes for {len(codes):,} drawings"
    )
    if not codes.n_rank_bits:
        return f"{said}."
    return (
        f"{said}: these are its buckets, which alone decide what is found. Its other "
        f"{codes.n_rank_bits} bits, the rank bits, put what is found in order."
    )


def _recall_section(results: Results) -> Section:
    short, _ = _lengths(results)
    curves = {key: recall_against_radius(found, _farthest(found)) for key, found in results.items()}
    n_near, n_far = (
        sum(math.comb(short, flips) for flips in range(radius + 1)) for radius in (2, N_LOOKED_UP)
    )
    return Section(
        "What a lookup finds, and what happens to it when codes get longer",
        paragraphs=[_recall_sentence(results), _ranking_sentence(results)],
        image=plots.data_uri(plots.plot_recall_against_radius(curves)),
        caption=(
            "Recall: the share of all drawings of the query's digit that lie within the radius, "
            "which is drawn to its square root. Radius 0 is a single lookup: the answers are the "
            f"items with the query's own code. Only small radii can be looked up: {short} bits "
            f"have {n_near:,} codes within 2 bits, and {n_far:,} within {N_LOOKED_UP}. A line that "
            "starts at the bottom belongs to codes that hardly ever collide; one that runs level "
            "belongs to codes that are equal or far apart, so that a larger radius finds nothing "
            "more."
        ),
    )


def _farthest(evaluation: Evaluation) -> int:
    return min(MAX_RADIUS, evaluation.database_codes.n_bucket_bits)


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
            "database, which also holds the training images. Active: bits set per code. Both "
            "are of the bucket where there are rank bits. F1 alone "
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
            kept = [title(m, " at ") for m in rates if theirs[m] <= our[m]]
            if won:
                what = ", ".join(won)
                if len(won) > len(kept):
                    what = f"every rate{' but ' if kept else ''}{', '.join(kept)}"
                parts.append(f"with {n_bits} bits in {what}")
        if parts:
            sentences.append(f"{name} is ahead of {ours} {'; '.join(parts)}.")
    return sentences or [
        f"At the same length, no other method is ahead of {ours} in mAP, precision, recall or F1."
    ]


def _control_sentence(results: Results) -> str:
    control, ours = (
        [found for (name, _), found in results.items() if name == kind]
        for kind in (ClassCode.__name__, SparseHash.__name__)
    )
    few, many = _range(int(found.metrics["unique_codes"]) for found in ours)
    n_codes = f"{few}" if few == many else f"{few} to {many}"
    said = (
        f"What {ClassCode.__name__} reaches, class labels alone reach. It has "
        f"{max(found.metrics['unique_codes'] for found in control):.0f} different codes and says "
        f"nothing about items within a class; {SparseHash.__name__} has {n_codes}"
    )
    few, many = _range(found.database_codes.n_rank_bits for found in ours)
    return (
        f"{said}, and orders the items of one by {few} or {many} rank bits." if few else said + "."
    )


def _range(numbers: Iterable[int]) -> tuple[int, int]:
    found = list(numbers)
    return min(found), max(found)


def _active_section(results: Results) -> Section:
    short, _ = _lengths(results)
    codes = {name: results[name, short].database_codes for name in _names(results)}
    return Section(
        "How sparse the codes are",
        image=plots.data_uri(plots.plot_active_bits(codes)),
        caption=(
            f"How many bits are active in the codes of the database, of {short} bits, or of the "
            "bucket where there are rank bits. Each method's highest bar has the same height. Two "
            "codes are equal only if every bit agrees."
        ),
    )


def _next_section(seed: int) -> Section:
    return Section(
        "Go on from here",
        paragraphs=[
            f"The model of {SparseHash.__name__} lies beside this report. In that folder:",
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
