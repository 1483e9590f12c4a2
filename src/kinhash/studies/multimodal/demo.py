"""The demo of several modalities: words find digits and digits find words, with a report."""

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.codes import Codes
from kinhash.datasets import Dataset, Split, load
from kinhash.datasets.dataset import rows_of
from kinhash.datasets.digit_words import NAMES, TRAITS
from kinhash.errors import ConstantColumnWarning
from kinhash.index.reference import search_top_k
from kinhash.measures import MULTIMODAL_DEMO, scores
from kinhash.methods import CMSSH, MultimodalMethod, MultimodalSparseHash
from kinhash.metrics import evaluate_codes
from kinhash.progress import Report, silent
from kinhash.show import plots
from kinhash.show.html import Fact, Section, write_report
from kinhash.show.tables import Row, title
from kinhash.studies.demo import MODEL, REPORT, DemoResult, prepare

DATA = "digits-words"
N_ANSWERS = 5
N_PICTURES = 6
WORDS = ("three", "zwei", "huit", "cinco", "even prime", "loop odd")
OURS = MultimodalSparseHash.__name__
SHORT = {CMSSH.__name__: "CM-SSH", OURS: "SparseHash"}  # on the plates

Answers = list[tuple[Any, bool]]


def run_multimodal_demo(
    out: Path,
    *,
    seed: int = 0,
    force: bool = False,
    report: Report | None = None,
    n_bits: int = 64,
    max_steps: int | None = None,
) -> DemoResult:
    """Train sparse and dense codes for pictures of digits and made-up words, and compare them.

    Args:
        out: A folder; it is made if needed. `report.html` and `model.kinhash` are written once all
            is computed, each whole or not at all.
        seed: Chooses the split and makes every fit repeatable.
        force: Overwrite those two files.
        report: Called with (steps done, steps in all, what comes next).
        n_bits: Length of the codes.
        max_steps: Most training batches; the method's own default if left at None.

    Raises:
        InvalidInputError: The files exist and `force` is not set, or `out` cannot be written.
        MissingExtraError: torch or matplotlib is not installed.
    """
    out, report = Path(out), report or silent
    prepare(out, force=force)
    start = time.perf_counter()
    data = load(DATA)
    part = data.split(seed)
    ours = MultimodalSparseHash(n_bits=n_bits, seed=seed)
    if max_steps is not None:
        ours.set_params(max_steps=max_steps)
    methods: dict[str, MultimodalMethod] = {
        CMSSH.__name__: CMSSH(n_bits=n_bits, seed=seed),
        OURS: ours,
    }
    rows: list[Row] = []
    for done, (name, method) in enumerate(methods.items()):
        report(done, len(methods) + 1, name)
        _fit(method, data, part)
        rows += _measured(name, method, data, part)
    report(len(methods), len(methods) + 1, "drawing")
    sections = [
        _table_section(rows, part),
        _pictures_section(methods, data, part),
        _words_section(methods, data, part),
        _next_section(),
    ]
    ours.save(out / MODEL)
    write_report(
        out / REPORT,
        title="Words find pictures, pictures find words",
        lead=_lead(data, part),
        facts=_facts(rows),
        sections=sections,
        footer=f"Made by kinhash demo --multimodal in {time.perf_counter() - start:.0f} seconds, "
        f"seed {seed}.",
    )
    report(len(methods) + 1, len(methods) + 1, "done")
    return DemoResult(out / REPORT, out / MODEL, rows)


def digits_meant(words: str) -> list[int]:
    """Return the digits that all of the words apply to.

    Example:
        >>> digits_meant("drei"), digits_meant("even prime"), digits_meant("odd")
        ([3], [2], [1, 3, 5, 7, 9])
    """
    return [digit for digit in range(len(NAMES)) if set(words.split()) <= _words_for(digit)]


def _words_for(digit: int) -> set[str]:
    return {*NAMES[digit], *(trait for trait, having in TRAITS.items() if digit in having)}


def _fit(method: MultimodalMethod, data: Dataset, part: Split) -> None:
    with warnings.catch_warnings():
        # Some corner pixels of digits are always blank: nothing that a reader could act upon.
        warnings.simplefilter("ignore", ConstantColumnWarning)
        method.fit(
            {name: rows_of(values, part.train) for name, values in _modalities(data).items()},
            _labels(data)[part.train],
        )


def _measured(name: str, method: MultimodalMethod, data: Dataset, part: Split) -> list[Row]:
    """Return a row for each modality searched with itself, then with the other."""
    labels = _labels(data)
    own = [(one, one) for one in method.modalities]
    rows: list[Row] = []
    for query, database in (*own, *itertools.permutations(method.modalities, 2)):
        found = evaluate_codes(
            _codes(method, data, query, part.query),
            labels[part.query],
            _codes(method, data, database, part.database),
            labels[part.database],
            at=(10, 50),
        )
        measures = {key: found[key] for key in MULTIMODAL_DEMO}
        rows.append({"method": name, "query": query, "database": database, **measures})
    return rows


def _codes(
    method: MultimodalMethod, data: Dataset, modality: str, rows: npt.NDArray[np.int64]
) -> Codes:
    return method.encode(rows_of(_modalities(data)[modality], rows), modality=modality)


def _lead(data: Dataset, part: Split) -> str:
    example = (data.texts or ("",))[int(part.query[0])]
    return (
        "One model, two kinds of items, one space of codes: a word finds pictures, and a picture "
        f"finds words. The pictures are {len(data):,} handwritten digits. The texts are made up "
        "for this demo, with a fixed seed: some of the digit's names in four languages, some "
        "traits such as odd or prime, and a word or two that say nothing. About one text in six "
        f"lacks every name, and one in twenty names a wrong digit. An example: "
        f"\N{LEFT DOUBLE QUOTATION MARK}{example}\N{RIGHT DOUBLE QUOTATION MARK}. Both methods "
        f"learn from {len(part.train)} labelled pairs; {len(part.query)} others search among "
        f"{len(part.database):,}."
    )


def _facts(rows: Sequence[Row]) -> list[Fact]:
    facts = []
    for query, database, words in (
        ("text", "image", "words find pictures"),
        ("image", "text", "pictures find words"),
    ):
        values = {
            row["method"]: 100 * row["map"]
            for row in rows
            if (row["query"], row["database"]) == (query, database)
        }
        ours, theirs = (values[name] for name in (OURS, CMSSH.__name__))
        facts.append(
            Fact(
                words.capitalize(),
                f"{ours:.1f}\N{NO-BREAK SPACE}%",
                f"mAP of {OURS}, against {theirs:.1f}\N{NO-BREAK SPACE}% of CM-SSH",
            )
        )
    return facts


def _table_section(rows: Sequence[Row], part: Split) -> Section:
    n_queries = len(part.query)
    return Section(
        "Each with each",
        paragraphs=[_rivals_sentence(rows)],
        rows=rows,
        strong=OURS,
        note=(
            "Means over queries. mAP: average precision of the whole ranking, expected over all "
            "orders of items at equal distance. r = 0 is a single lookup: the answers are the "
            "items with the query's own code. Active: bits set per code in the database. An answer "
            "is right if it is of the same digit, so made-up texts without a name of their digit "
            f"bound what can be reached. This is one run with {n_queries} queries: the standard "
            f"error of a rate is up to {50 / n_queries**0.5:.1f} points."
        ),
    )


def _rivals_sentence(rows: Sequence[Row]) -> str:
    """Say where CM-SSH is ahead."""
    rates = scores(MULTIMODAL_DEMO)
    theirs, ours = (
        [row for row in rows if (row["method"] == OURS) is own] for own in (False, True)
    )
    lost = [
        f"{title(key, ' at ')} of {their['query']} to "
        f"{their['database']} ({100 * their[key]:.1f} against {100 * our[key]:.1f})"
        for their, our in zip(theirs, ours, strict=True)
        for key in rates
        if their[key] > our[key]
    ]
    if lost:
        return f"CM-SSH is ahead, in percent, in {'; '.join(lost)}; and nowhere else."
    return f"CM-SSH is nowhere ahead of {OURS}."


def _pictures_section(
    methods: Mapping[str, MultimodalMethod], data: Dataset, part: Split
) -> Section:
    labels = _labels(data)
    answers: dict[str, list[Answers]] = {}
    for name, method in methods.items():
        matches = search_top_k(
            _codes(method, data, "image", part.database),
            method.encode(list(WORDS), modality="text"),
            N_ANSWERS,
            ids=part.database,
        )
        answers[SHORT[name]] = [
            [(int(row), int(labels[row]) in digits_meant(words)) for row in ids]
            for words, (ids, _) in zip(WORDS, matches, strict=True)
        ]
    figure = plots.plot_pictures_of_words(
        np.asarray(data.images),
        WORDS,
        {name: [[row for row, _ in found] for found in lists] for name, lists in answers.items()},
        {name: [[ok for _, ok in found] for found in lists] for name, lists in answers.items()},
    )
    return Section(
        "Words find pictures",
        paragraphs=[_count("pictures show a digit that the words mean", answers)],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"The first {N_ANSWERS} pictures for a few words: CM-SSH above, ours below. Green "
            "frame: a digit that all of the words apply to. Dashed red frame with a "
            "cross: another. At equal distance the lowest row number comes first."
        ),
    )


def _words_section(methods: Mapping[str, MultimodalMethod], data: Dataset, part: Split) -> Section:
    labels, texts = _labels(data), data.texts or ()
    # The first query of each of a few digits, drawn at random: not picked.
    digits = np.sort(np.random.default_rng(0).permutation(len(NAMES))[:N_PICTURES])
    positions = [int(np.argmax(labels[part.query] == digit)) for digit in digits]
    queries = part.query[positions]
    answers: dict[str, list[Answers]] = {}
    for name, method in methods.items():
        matches = search_top_k(
            _codes(method, data, "text", part.database),
            _codes(method, data, "image", queries),
            N_ANSWERS,
            ids=part.database,
        )
        answers[SHORT[name]] = [
            _marked_words([texts[row] for row in ids], int(digit))
            for digit, (ids, _) in zip(digits, matches, strict=True)
        ]
    figure = plots.plot_words_of_pictures(np.asarray(data.images), queries.tolist(), answers)
    return Section(
        "Pictures find words",
        paragraphs=[_count("words apply to the digit in the picture", answers)],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"All words of the first {N_ANSWERS} texts that an unseen picture finds, the most "
            "frequent first: CM-SSH above, ours below. Green with a tick: a name or a trait of "
            "the digit. Others: words that say nothing of it, or something else."
        ),
    )


def _marked_words(texts: Sequence[str], digit: int) -> Answers:
    """Return the words of the texts, the most frequent first, and whether each fits the digit."""
    words = [word for text in texts for word in text.split()]
    ranked = sorted(set(words), key=lambda word: (-words.count(word), word))
    return [(word, word in _words_for(digit)) for word in ranked]


def _count(what: str, answers: Mapping[str, Sequence[Answers]]) -> str:
    parts = []
    for name, lists in answers.items():
        marks = [is_correct for found in lists for _, is_correct in found]
        parts.append(f"{sum(marks)} of {len(marks)} for {name}")
    return f"How many {what}: {', '.join(parts)}."


def _next_section() -> Section:
    search = f"--modality text --query-text three --top-k {N_ANSWERS}"
    return Section(
        "Go on from here",
        paragraphs=[f"The model of {OURS} lies beside this report. In that folder:"],
        commands=[
            f"kinhash info {MODEL}",
            f"kinhash encode {MODEL} {DATA} --modality image --out pictures.kinhash",
            f"kinhash search pictures.kinhash --model {MODEL} {search}",
        ],
    )


def _modalities(data: Dataset) -> Mapping[str, Any]:
    assert data.modalities is not None  # noqa: S101 - this data set has them
    return data.modalities


def _labels(data: Dataset) -> npt.NDArray[Any]:
    return np.asarray(data.labels)
