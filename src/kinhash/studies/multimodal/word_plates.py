"""Pictures found by a word and words found by a picture: what is looked for, and what came."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.evaluation.multimodal import Parts, Search, taken
from kinhash.index.hamming import HammingIndex
from kinhash.methods import MultimodalMethod
from kinhash.record_file import Record
from kinhash.show import plots
from kinhash.show.html import Section
from kinhash.studies.multimodal.meaningful import meaningful
from kinhash.studies.records import plate_queries
from kinhash.vocabulary import Words, are_texts

IMAGE, TEXT = "image", "text"
N_WORDS = 6
N_ANSWERS = 5
NOT_COUNTED = (
    "Stop words, single letters and numbers are left out and not counted: they say nothing of a "
    "picture."
)


def has_plates(data: Dataset) -> bool:
    """Return whether there are pictures to show and texts to search with."""
    modalities = data.modalities or {}
    return (
        data.images is not None
        and data.texts is not None
        and IMAGE in modalities
        and are_texts(modalities.get(TEXT))
    )


def found_by_words_and_pictures(
    method: MultimodalMethod, data: Dataset, codes: Mapping[str, Codes], parts: Parts
) -> Record:
    """Return the first answers of the first search, as JSON has them: row numbers of `data`.

    Nobody picks the queries: words as `word_queries` has them, and the first picture of each of a
    few random classes. At equal distance the lowest row number comes first.
    """
    search = next(iter(parts.searches.values()))
    words = word_queries(data, parts)
    labels = np.zeros(len(data)) if data.labels is None else data.labels
    queries = search.query[plate_queries(labels[search.query])]
    by_word = method.encode(words, modality=TEXT)
    return {
        "words": words,
        "pictures": _nearest(by_word, codes[IMAGE], search),
        "queries": queries.tolist(),
        "texts": _nearest(codes[IMAGE][queries], codes[TEXT], search, queries),
    }


def word_queries(data: Dataset, parts: Parts) -> list[str]:
    """Return frequent words of the training texts that say something, the most frequent first.

    Where classes have names, one word for each name: its last word, or that in the singular.
    """
    texts = taken(data.texts, parts.train)
    words = Words.of(texts)
    counts = np.asarray(words.bags(texts).sum(axis=0)).ravel()
    ranked = [words.words[at] for at in np.lexsort((np.arange(len(words)), -counts))]
    frequent = meaningful(ranked)
    names = {name.split()[-1].lower() for name in data.names or ()}
    if not names:
        return frequent[:N_WORDS]
    chosen: dict[str, str] = {}
    for word in frequent:
        for name in names & {word, f"{word}s", f"{word}es"}:
            chosen.setdefault(name, word)
    return list(dict.fromkeys(chosen.values()))[:N_WORDS]


def _nearest(
    queries: Codes,
    codes: Codes,
    search: Search,
    rows: Sequence[int] | Array = (),
) -> list[list[int]]:
    """Return the rows of the first answers; of queries that are items themselves, without these."""
    index = HammingIndex(codes[search.database])
    found = index.search_top_k(queries, N_ANSWERS + 1)
    answers = []
    for at, (ids, _) in enumerate(found):
        own = rows[at] if len(rows) else -1
        answers.append([int(r) for r in search.database[ids] if r != own][:N_ANSWERS])
    return answers


def sections(title: str, found: Mapping[str, Record], data: Dataset) -> list[Section]:
    """Return both plates, with the truth beside each picture.

    Args:
        title: What the headings begin with.
        found: By the method's name, what `found_by_words_and_pictures` returned.
        data: The data set.
    """
    texts = data.texts or ()
    words: list[str] = next(iter(found.values()))["words"]
    queries: list[int] = next(iter(found.values()))["queries"]
    bags = {row: _words_of(texts[row]) for one in found.values() for row in _rows(one)}
    right = {
        name: [
            [word in bags[row] for row in rows]
            for word, rows in zip(words, one["pictures"], strict=True)
        ]
        for name, one in found.items()
    }
    told = {
        name: [
            union(_words_of(texts[query]), [bags[row] for row in rows])
            for query, rows in zip(queries, one["texts"], strict=True)
        ]
        for name, one in found.items()
    }
    pictures = {name: one["pictures"] for name, one in found.items()}
    hits = _score({name: [r for line in lines for r in line] for name, lines in right.items()})
    known = _score({name: [r for line in lines for _, r in line] for name, lines in told.items()})
    images = np.asarray(data.images)
    by_word = plots.plot_pictures_of_words(
        images, words, pictures, right, {row: _shown(data, row) for row in bags}
    )
    by_picture = plots.plot_words_of_pictures(
        images, queries, told, {row: _known(data, row) for row in queries}
    )
    truth = "class" if _classes(data) else "own text"
    return [
        Section(
            f"{title}: pictures found by a word",
            paragraphs=[f"Pictures whose own text has the word that found them: {hits}."],
            image=plots.data_uri(by_word, "png"),
            caption=f"The first {N_ANSWERS} pictures for a word, from left to right: "
            f"{', '.join(found)}. Below each picture: its {truth}. Green frame: the picture's own "
            "text has the word. Dashed red frame with a cross: it does not.",
        ),
        Section(
            f"{title}: words found by a picture",
            paragraphs=[f"Words that the text of the picture has itself: {known}.", NOT_COUNTED],
            image=plots.data_uri(by_picture, "png"),
            caption=f"The words of the first {N_ANSWERS} texts for a picture, from top to bottom: "
            f"{', '.join(found)}; the most frequent first. Green with a tick: the picture's own "
            "text has the word. Beside the picture, as truth: what the data set says of it.",
        ),
    ]


def _classes(data: Dataset) -> bool:
    """Return whether each item has one class, and classes have names."""
    return data.names is not None and data.labels is not None and data.labels.ndim == 1


def _class_of(data: Dataset, row: int) -> str:
    return (data.names or ())[int(np.asarray(data.labels)[row])]


def _shown(data: Dataset, row: int) -> str:
    """Return what stands below a picture: its class, or where classes have no names, its text."""
    return _class_of(data, row) if _classes(data) else (data.texts or ())[row]


def _known(data: Dataset, row: int) -> str:
    """Return all that a data set says of an item in words: its class and its text."""
    text = (data.texts or ())[row]
    return f"{_class_of(data, row)}: {text}" if _classes(data) else text


def union(own: Sequence[str], answers: Sequence[Sequence[str]]) -> list[tuple[str, bool]]:
    """Return the words of some answers, the most frequent first, and whether `own` has them.

    Example:
        >>> union(["sky"], [["sea"], ["sky", "sea"]])
        [('sea', False), ('sky', True)]
    """
    counts = Counter(word for words in answers for word in words)
    return [(word, word in own) for word, _ in counts.most_common()]


def _words_of(text: str) -> list[str]:
    """Return the words of a text as a vocabulary has them, each once, without empty ones."""
    try:
        return meaningful(Words.of([text]).words)
    except ValueError:  # it has none
        return []


def _rows(one: Record) -> list[int]:
    return [row for rows in (*one["pictures"], *one["texts"]) for row in rows]


def _score(right: Mapping[str, Sequence[bool]]) -> str:
    return ", ".join(f"{name} {sum(hits)} of {len(hits)}" for name, hits in right.items())
