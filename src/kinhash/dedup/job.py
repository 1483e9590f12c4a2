"""`deduplicate`: the groups of near-duplicates in a table, or what a table has of another one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_choice, check_integer, check_number, checked_threads
from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.coding import Coder, UnitCoder
from kinhash.dedup.content import Content
from kinhash.dedup.grouping import groups_across, groups_within
from kinhash.dedup.growth import held_by
from kinhash.dedup.result import Duplicates, Pairs
from kinhash.dedup.table import Table, Wanted
from kinhash.dedup.vector_table import VectorTable
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.linkage import LINKAGES, Linkage
from kinhash.progress import Report, silent


def deduplicate(
    data: Any,  # noqa: ANN401 - whatever the user has
    *,
    ids: npt.ArrayLike | str | None = None,
    similarity: float | None = None,
    radius: int | None = None,
    linkage: Linkage = "star",
    against: Any = None,  # noqa: ANN401 - as the data
    against_ids: npt.ArrayLike | str | None = None,
    model: Coder | None = None,
    recall: float = 0.99,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Report = silent,
) -> Duplicates:
    """Return the groups of near-duplicates.

    Vectors are similar if their cosine is at least `similarity`. Codes find candidates; each is
    confirmed by its vectors, so every pair is as similar as was asked for. What may be missing is
    estimated on a sample of rows, which are compared with all others. Identical rows are always
    found. Codes, if that is all there is, are near within `radius`, exactly.

    Texts are compared as vectors of their words and letters (`kinhash.features.text_ngrams`);
    those without a word are in no group. Pictures are compared as codes, their perceptual hashes
    (`kinhash.features.perceptual_hash`, 144 bits).

    Args:
        data: `(n, n_features)` vectors, which may be memory-mapped float32, float16 or int8, or a
            tensor; a table of vectors, as `kinhash.datasets.open_items` takes it; codes; texts, as
            a list or a column; or pictures, as a list of `pathlib.Path`.
        ids: `(n,)` different integers or strings, or the name of their column in a table; by
            default a table's column `id` or `ids`, or else row numbers.
        similarity: Least cosine of a pair, in (0, 1], of vectors and texts.
        radius: Largest distance of the codes of a pair. Of vectors, codes are those of `model`.
        linkage: "star": items are visited by most neighbours, counted once, then by lowest id;
            each that has no group yet takes its neighbours that have none, so every member is
            within the limit of its representative. "connected": connected components.
        against: Another table of the same kind, or an index of codes. The result then says which
            rows of `data` it has, too; rows of `data` are not compared with each other.
        against_ids: The ids of its rows; an index knows its own.
        model: A fitted method, or anything else whose `encode` gives codes; by default 256 bits of
            iterative quantisation are learned from a sample.
        recall: The share of the similar pairs that codes should find, in (0, 1].
        seed: Draws samples.
        n_threads: Threads to use; all cores by default.
        progress: Told how many rows are done.

    Raises:
        InvalidInputError: An argument is out of range, two ids are alike, vectors are not finite,
            or the two tables do not fit each other.
        MissingExtraError: pyarrow is not installed, for a table, or Pillow, for pictures.

    Warns:
        LargeGroupWarning: A group holds more than a hundredth of the items, and more than 10.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(50, 8))
        >>> X[7] = X[31] + 0.01
        >>> found = deduplicate(X, similarity=0.95)
        >>> found.groups.id.tolist(), found.kept.sum().item()
        ([7, 31], 49)
        >>> deduplicate(["Red shoes, new", "A hat", "NEW red shoes!"], similarity=0.8).groups[0]
        array([0, 2])
    """
    limit = checked_limit(similarity, radius)
    check_options(linkage, recall, seed)
    wanted = Wanted(limit, float(recall), int(seed), checked_threads("n_threads", n_threads))
    if against_ids is not None and (against is None or isinstance(against, HammingIndex)):
        known = "None" if against is None else "an index, which has its own"
        raise InvalidInputError(f"`against_ids` are the ids of `against`, which is {known}.")
    contents = [Content.of(data, ids, "data", n_threads=n_threads, progress=progress)]
    if isinstance(against, HammingIndex):
        return _held(against, contents[0], model, wanted, progress, by_radius=similarity is None)
    if against is not None:
        contents.append(
            Content.of(against, against_ids, "against", n_threads=n_threads, progress=progress)
        )
    tables = tables_of(contents, model, wanted, by_radius=similarity is None)
    table, others = tables[0], tables[-1]
    found = table.pairs(others, wanted, progress)
    if against is None:
        groups, kept = groups_within(table, found, linkage, wanted.n_threads)
    else:
        groups, kept = groups_across(table, others, found, wanted.n_threads)
    cosines = found.nearness if similarity is not None else None
    pairs = Pairs(contents[0].as_given(found.rows), contents[-1].as_given(found.others), cosines)
    kept = contents[0].for_all(kept)
    return Duplicates(groups, kept, pairs, found.recall, similarity, radius)


def check_options(linkage: Linkage, recall: float, seed: int) -> None:
    """Raise InvalidInputError unless these are what `deduplicate` takes."""
    check_choice("linkage", linkage, LINKAGES)
    check_number("recall", recall, 0, 1, open_low=True)
    check_integer("seed", seed, 0)


def checked_limit(similarity: float | None, radius: int | None) -> float:
    """Return the limit that was given.

    Raises:
        InvalidInputError: None or both were given, or it is out of range.
    """
    if (similarity is None) == (radius is None):
        raise InvalidInputError(
            "Give either `similarity`, the least cosine of duplicates, or `radius`, the largest "
            "distance of their codes."
        )
    if similarity is not None:
        check_number("similarity", similarity, 0, 1, open_low=True)
        return float(similarity)
    check_integer("radius", radius, 0)
    return int(radius or 0)


def _held(
    index: HammingIndex,
    content: Content,
    model: Coder | None,
    wanted: Wanted,
    progress: Report,
    *,
    by_radius: bool,
) -> Duplicates:
    """Return what an index has of a content."""
    if not by_radius:
        raise InvalidInputError(
            "`similarity` needs vectors, but the index in `against` has codes only. Give `radius`."
        )
    codes = codes_of(content, model, wanted)
    ids = content.named(np.arange(len(codes)))
    return held_by(index, codes, ids, wanted, progress)


def codes_of(content: Content, model: Coder | None, wanted: Wanted) -> Codes:
    """Return the codes of a content, which a model makes of vectors.

    Raises:
        InvalidInputError: There is no model and there are vectors or texts, or the reverse; or the
            radius is larger than the codes are long.
    """
    if content.kind != "vectors" and model is not None:
        raise InvalidInputError(f"`model` encodes vectors, but `data` are {content.kind}.")
    if isinstance(content.rows, Codes):
        codes = content.rows
    elif model is None:
        raise InvalidInputError(
            "`radius` needs codes, or the `model` that makes them. Give `similarity` for "
            f"{content.kind}."
        )
    else:
        codes = model.encode(content.vectors, n_threads=wanted.n_threads)
    check_integer("radius", int(wanted.limit), 0, codes.n_bits)
    return codes


def tables_of(
    contents: list[Content], model: Coder | None, wanted: Wanted, *, by_radius: bool
) -> list[Table]:
    """Return what each of one or two contents is compared as.

    Raises:
        InvalidInputError: They do not fit each other, the model or the limit.
    """
    kinds = [one.kind for one in contents]
    if kinds[0] != kinds[-1]:
        raise InvalidInputError(
            f"`data` and `against` must be of one kind, got {kinds[0]} and {kinds[-1]}."
        )
    if by_radius:
        codes = [codes_of(one, model, wanted) for one in contents]
        codes[0].check_comparable(codes[-1], "`data`", "`against`")
        return [CodeTable.of(one, own) for one, own in zip(contents, codes, strict=True)]
    if isinstance(contents[0].rows, Codes):
        raise InvalidInputError(
            f"`similarity` needs vectors or texts. Give `radius` for {kinds[0]}."
        )
    if kinds[0] != "vectors" and model is not None:
        raise InvalidInputError(f"`model` encodes vectors, but `data` are {kinds[0]}.")
    vectors = [one.vectors for one in contents]
    _check_widths(vectors)
    coder = model or UnitCoder(vectors[-1], seed=wanted.seed)
    return [VectorTable.of(one, coder, wanted.n_threads) for one in contents]


def _check_widths(vectors: list[Array]) -> None:
    widths = [one.shape[1] for one in vectors]
    if len(set(widths)) > 1:
        raise InvalidInputError(
            f"`data` has {widths[0]} columns, but `against` has {widths[1]}. Make both by the same "
            "model."
        )
