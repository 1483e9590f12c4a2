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
from kinhash.datasets.digit_words import NAMES, NOISE, TRAITS
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
from kinhash.studies.disputed import most_disputed

DATA = "digits-words"
N_ANSWERS = 5
N_PICTURES = 6
N_WORDS = 6
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
) -> DemoResult:
    """Train sparse and dense codes for pictures of digits and made-up words, and compare them.

    Args:
        out: A folder; it is made if needed. `report.html` and `model.kinhash` are written once all
            is computed, each whole or not at all.
        seed: Chooses the split and makes every fit repeatable.
        force: Overwrite those two files.
        report: Called with (steps done, steps in all, what comes next).
        n_bits: Length of the codes.

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
        _pictures_section(methods, data, part),
        _words_section(methods, data, part),
        _table_section(rows, part),
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
    return [digit for digit in range(len(NAMES)) if {*words.split()} <= {*_words_for(digit)}]


def queries() -> list[str]:
    """Return all that the demo searches for: every name, and all pairs of traits of some digit."""
    pairs = [" ".join(pair) for pair in itertools.combinations(TRAITS, 2)]
    return [*itertools.chain(*NAMES), *(pair for pair in pairs if digits_meant(pair))]


def _words_for(digit: int) -> list[str]:
    """Return the names and traits of a digit."""
    return [*NAMES[digit], *(trait for trait, having in TRAITS.items() if digit in having)]


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
    labels, words = _labels(data), queries()
    rows: dict[str, list[list[int]]] = {}
    for name, method in methods.items():
        matches = search_top_k(
            _codes(method, data, "image", part.database),
            method.encode(words, modality="text"),
            N_ANSWERS,
            ids=part.database,
        )
        rows[SHORT[name]] = [ids.tolist() for ids, _ in matches]
    right = {
        name: [
            [int(labels[row]) in digits_meant(word) for row in found]
            for word, found in zip(words, lists, strict=True)
        ]
        for name, lists in rows.items()
    }
    meanings = [digits_meant(word) for word in words]
    shown = _most_disputed(
        {name: [sum(marks) for marks in lists] for name, lists in right.items()},
        [meanings.index(meaning) for meaning in meanings],
        N_WORDS,
    )
    figure = plots.plot_pictures_of_words(
        _on_paper(data),
        [words[at] for at in shown],
        {name: [lists[at] for at in shown] for name, lists in rows.items()},
        {name: [lists[at] for at in shown] for name, lists in right.items()},
        {row: NAMES[labels[row]][0] for lists in rows.values() for found in lists for row in found},
    )
    said = (
        f"All {len(words)} names of digits and pairs of traits that some digit has were searched "
        f"for. Of the first {N_ANSWERS} pictures, these show a digit that the words mean: "
        f"{_count(right)}. The plate has the {len(shown)} searches whose numbers of right pictures "
        "differ most between the methods, whichever is right; at most one of each meaning."
    )
    return Section(
        "Words find pictures",
        paragraphs=[said],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"The first {N_ANSWERS} pictures of each method; below each, the digit it shows. Green "
            "frame: a digit that all of the words apply to. Dashed red frame with a cross: "
            "another. At equal distance the lowest row number comes first."
        ),
    )


def _words_section(methods: Mapping[str, MultimodalMethod], data: Dataset, part: Split) -> Section:
    labels, texts = _labels(data)[part.query], data.texts or ()
    answers: dict[str, list[Answers]] = {}
    for name, method in methods.items():
        matches = search_top_k(
            _codes(method, data, "text", part.database),
            _codes(method, data, "image", part.query),
            N_ANSWERS,
            ids=part.database,
        )
        answers[SHORT[name]] = [
            _marked_words([texts[row] for row in ids], int(digit))
            for digit, (ids, _) in zip(labels, matches, strict=True)
        ]
    right = {
        name: [[is_right for _, is_right in words] for words in lists]
        for name, lists in answers.items()
    }
    shown = _most_disputed(
        {name: [sum(one) / max(1, len(one)) for one in lists] for name, lists in right.items()},
        labels.tolist(),
        N_PICTURES,
    )
    figure = plots.plot_words_of_pictures(
        _on_paper(data),
        part.query[shown].tolist(),
        {name: [lists[at] for at in shown] for name, lists in answers.items()},
        {int(part.query[at]): " ".join(_words_for(int(labels[at]))) for at in shown},
    )
    said = (
        f"All {len(labels)} unseen pictures searched for texts. Of the names and traits in the "
        f"first {N_ANSWERS} texts, these apply to the digit in the picture: {_count(right)}. Words "
        f"that say nothing of a digit, such as {NOISE[0]} or {NOISE[-1]}, are left out. The plate "
        f"has the {len(shown)} pictures where these shares differ most between the methods, "
        "whichever is right; at most one of each digit."
    )
    return Section(
        "Pictures find words",
        paragraphs=[said],
        image=plots.data_uri(figure, "png"),
        caption=(
            f"The names and traits in the first {N_ANSWERS} texts that each picture finds, the "
            "most frequent first. Green with a tick: it applies to the digit. Beside the picture, "
            "as truth: all that apply."
        ),
    )


def _most_disputed(
    n_right: Mapping[str, Sequence[float]], groups: Sequence[int], n: int
) -> list[int]:
    """Return the queries on which the methods differ most; the first ones if they never differ."""
    return most_disputed(n_right, groups, n) or list(range(min(n, len(groups))))


def _marked_words(texts: Sequence[str], digit: int) -> Answers:
    """Return the names and traits in the texts, the most frequent first, and whether each fits."""
    words = [word for text in texts for word in text.split() if word not in NOISE]
    ranked = sorted(set(words), key=lambda word: (-words.count(word), word))
    return [(word, word in _words_for(digit)) for word in ranked]


def _count(right: Mapping[str, Sequence[Sequence[bool]]]) -> str:
    parts = []
    for name, lists in right.items():
        marks = [is_right for found in lists for is_right in found]
        parts.append(f"{name} {sum(marks):,} of {len(marks):,}")
    return ", ".join(parts)


def _on_paper(data: Dataset) -> npt.NDArray[np.uint8]:
    """Return the drawings in dark ink on white paper; the data set has them the other way round."""
    return 255 - np.asarray(data.images)


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
