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
from kinhash.show import plots
from kinhash.show.html import Section
from kinhash.studies.records import Record, plate_queries
from kinhash.vocabulary import Words, are_texts

IMAGE, TEXT = "image", "text"
N_WORDS = 6
N_ANSWERS = 5


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
    """Return frequent words of the training texts, the most frequent first.

    Where classes have names, one word for each name: its last word, or that in the singular.
    """
    texts = taken(data.texts, parts.train)
    words = Words.of(texts)
    counts = np.asarray(words.bags(texts).sum(axis=0)).ravel()
    frequent = [words.words[at] for at in np.lexsort((np.arange(len(words)), -counts))]
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
    """Return both plates, the methods of `found` one above the other.

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
    both = " above, ".join(found) + " below"
    images = np.asarray(data.images)
    by_word = plots.plot_pictures_of_words(images, words, pictures, right)
    by_picture = plots.plot_words_of_pictures(images, queries, told)
    return [
        Section(
            f"{title}: pictures found by a word",
            paragraphs=[f"Pictures whose own text has the word that found them: {hits}."],
            image=plots.data_uri(by_word, "png"),
            caption=f"The first {N_ANSWERS} pictures for a word, {both}. Green frame: the "
            "picture's own text has the word. Dashed red frame with a cross: it does not.",
        ),
        Section(
            f"{title}: words found by a picture",
            paragraphs=[f"Words that the text of the picture has itself: {known}."],
            image=plots.data_uri(by_picture, "png"),
            caption=f"All words of the first {N_ANSWERS} texts for a picture, {both}; the most "
            "frequent first. Green with a tick: the picture's own text has the word.",
        ),
    ]


def union(own: Sequence[str], answers: Sequence[Sequence[str]]) -> list[tuple[str, bool]]:
    """Return the words of some answers, the most frequent first, and whether `own` has them.

    Example:
        >>> union(["sky"], [["sea"], ["sky", "sea"]])
        [('sea', False), ('sky', True)]
    """
    counts = Counter(word for words in answers for word in words)
    return [(word, word in own) for word, _ in counts.most_common()]


def _words_of(text: str) -> list[str]:
    """Return the words of a text as a vocabulary has them, each once."""
    try:
        return list(Words.of([text]).words)
    except ValueError:  # it has none
        return []


def _rows(one: Record) -> list[int]:
    return [row for rows in (*one["pictures"], *one["texts"]) for row in rows]


def _score(right: Mapping[str, Sequence[bool]]) -> str:
    return ", ".join(f"{name} {sum(hits)} of {len(hits)}" for name, hits in right.items())
