"""Every public name as a user writes it; `test_api.py` has mypy check it, and nothing runs it.

An "unused ignore" error means that a line no longer fails as it should.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import scipy.sparse

import kinhash
from kinhash import (
    Codes,
    HammingIndex,
    Matches,
    MultimodalSparseHash,
    Pairs,
    SparseHash,
    load,
    rerank,
    sql,
)
from kinhash.codes import StoredCodes
from kinhash.datasets import DATASETS, Batch, Dataset, Items, Split, open_items
from kinhash.datasets import load as load_dataset
from kinhash.dedup import Duplicates, deduplicate, propose
from kinhash.encoders import Encoder
from kinhash.engines.layout import Layout
from kinhash.errors import KinhashError, SearchTimeout
from kinhash.linkage import Groups
from kinhash.methods import (
    AGH,
    CCAITQ,
    CMSSH,
    CSR,
    DH,
    FSDH,
    ITQ,
    KSH,
    LSH,
    METHODS,
    MULTIMODAL_METHODS,
    SSH,
    ClassCode,
    FlyHash,
    HashMethod,
    MultimodalMethod,
    Nested,
    NNHash,
    OrthoHash,
)
from kinhash.metrics import (
    evaluate_codes,
    evaluate_neighbours,
    evaluate_pairs,
    evaluate_vectors,
    true_neighbours,
)
from kinhash.reranking import Ranked

Integers = npt.NDArray[np.int64]

assert_type(kinhash.__version__, str)

X: npt.NDArray[np.float64] = np.zeros((20, 3))
y: list[str] = ["cat", "dog"] * 10
tags = scipy.sparse.csr_array(np.eye(20))
path = Path("file.kinhash")


def codes() -> Codes:
    made = Codes.from_dense([[0, 1, 1], [0, 0, 1]])
    assert_type(made, Codes)
    assert_type(Codes(made.words, made.n_bits, signed=made.signed), Codes)
    assert_type(Codes.from_bytes(made.to_bytes(), 3), Codes)
    nested = Codes.from_dense(made.to_dense(), rank=[[0, 1], [1, 1]])
    assert_type((nested.n_bits, nested.n_bucket_bits, nested.n_rank_bits), tuple[int, int, int])
    assert_type(nested.rank_words, npt.NDArray[np.uint64])
    assert_type(nested.rank_to_dense(), npt.NDArray[np.int8])
    assert_type(nested.without_rank(), Codes)
    assert_type(Codes.from_bytes(nested.to_bytes(), 5, n_rank_bits=2), Codes)
    assert_type(Codes.concatenate([made, made]), Codes)
    assert_type(made[0], Codes)
    assert_type(made[1:], Codes)
    assert_type(made[np.array([True, False])], Codes)
    assert_type([one.n_bits for one in made], list[int])
    assert_type(made.words, npt.NDArray[np.uint64])
    assert_type(made.to_dense(), npt.NDArray[np.int8])
    assert_type(made.to_bytes(), npt.NDArray[np.uint8])
    assert_type(made.n_active, Integers)
    assert_type(made.n_unique, int)
    assert_type(made.signed, bool)
    assert_type(len(made), int)
    made.save("codes.kinhash", [7, 8], made_by="me")
    return made


def stored() -> StoredCodes:
    found = Codes.load(path)
    assert_type(found, StoredCodes)
    assert_type(found.codes, Codes)
    assert_type(found.ids, npt.NDArray[Any] | None)
    assert_type(found.made_by, str | None)
    return found


def sparse_hash() -> SparseHash:
    model = SparseHash(n_bits=32, recipe="paper", alpha=0.01, seed=3)
    assert_type(model.fit(X, y), SparseHash)
    model.fit(scipy.sparse.csr_array(X), tags)
    model.fit(X.tolist(), pairs=Pairs([0, 1], [2, 3], [True, False]))
    SparseHash(n_rank_bits=40, transfer=0.5).fit(X, y, unlabelled=X)
    assert_type(model.encode(X, n_threads=2), Codes)
    assert_type(model.encode(scipy.sparse.csr_matrix(X)), Codes)
    assert_type(model.transform(X), scipy.sparse.csr_matrix)
    assert_type(model.encoder_, Encoder)
    assert_type(model.encoder_.encode(X), Codes)
    assert_type(model.encoder_.fingerprint, str)
    assert_type(model.history_, list[dict[str, float]])
    assert_type(model.n_features_in_, int)
    assert_type(model.get_params(), dict[str, Any])
    assert_type(model.set_params(n_bits=16), SparseHash)
    model.save(path)
    model.encodes(X)  # type: ignore[attr-defined]
    SparseHash(n_bit=32)  # type: ignore[call-arg]
    model.encode(X, threads=2)  # type: ignore[call-arg]
    return model


def rivals() -> None:
    for kind in (AGH, ClassCode, CSR, DH, FlyHash, FSDH, ITQ, KSH, LSH, NNHash, OrthoHash, SSH):
        assert_type(kind.name, str)
    assert_type(LSH(16).fit(X), LSH)
    assert_type(KSH(16, n_anchors=10).fit(X, tags), KSH)
    assert_type(ITQ(2).fit(X).encode(X), Codes)
    assert_type(AGH(8).fit(X), AGH)
    assert_type(ClassCode(8).fit(X, y), ClassCode)
    assert_type(DH(2).fit(X, y), DH)
    assert_type(SSH(8).fit(X, y), SSH)
    assert_type(NNHash(8).fit(X, y), NNHash)
    assert_type(CSR(8, n_active=2).fit(X, pairs=Pairs([0], [1])), CSR)
    assert_type(FlyHash(8, n_active=2).fit(X), FlyHash)
    assert_type(FSDH(8).fit(X, tags), FSDH)
    assert_type(OrthoHash(8, n_active=2).fit(X, y), OrthoHash)
    nested = Nested(ClassCode(levels=3), NNHash(), n_bits=64, n_rank_bits=32, seed=1)
    assert_type(nested.fit(X, y), Nested)
    assert_type(nested.fit(X, pairs=Pairs([0], [1])).bucket_, HashMethod)
    assert_type(METHODS, dict[str, type[HashMethod]])
    assert_type(METHODS["lsh"]().fit(X, y).encode(X), Codes)


def several_modalities() -> MultimodalSparseHash:
    model = MultimodalSparseHash(n_bits=32, recipe="paper", mu={"image": 0.5})
    items = {"image": X, "text": ["a cat"] * 20}
    assert_type(model.fit(items, y), MultimodalSparseHash)
    model.fit(items, {"image": y, "text": np.arange(20)})
    model.fit(items, pairs={"image": Pairs([0], [1]), ("image", "text"): Pairs.across([0], [0])})
    model.fit({"image": scipy.sparse.csr_array(X), "text": X}, tags)
    assert_type(model.modalities, tuple[str, ...])
    assert_type(model.encode(["a cat"], modality="text"), Codes)
    assert_type(model.encode(X, modality="image"), Codes)
    assert_type(model.has_content(["a cat"], modality="text"), npt.NDArray[np.bool_])
    assert_type(model.encoders_, dict[str, Encoder])
    model.save("model.kinhash")
    assert_type(CMSSH(8).fit(items, y), CMSSH)
    assert_type(CCAITQ(8).fit(items), CCAITQ)
    assert_type(MULTIMODAL_METHODS, dict[str, type[MultimodalMethod]])
    model.encode(X)  # type: ignore[call-arg]
    return model


def pairs() -> Pairs:
    made = Pairs([0, 1], np.array([1, 2]), similar=True)
    assert_type(made, Pairs)
    assert_type(Pairs.across([0], [0]), Pairs)
    assert_type(len(made), int)
    return made


def index(queries: Codes) -> HammingIndex:
    made = HammingIndex(queries, range(2), memory="lean")
    assert_type(made, HammingIndex)
    found = made.search_radius(queries, 2, sort=True, allowed=[0, 1], timeout=0.5)
    assert_type(found, Matches)
    assert_type(made.search_radius(queries, radius=2, out=found, n_threads=1), Matches)
    assert_type(made.search_top_k(queries, k=3), Matches)
    ranked = rerank(found, X, np.zeros((9, 3), np.float16), metric="l2", k=3, n_threads=1)
    assert_type(ranked, Ranked)
    assert_type(ranked.similarities, npt.NDArray[np.float32])
    rerank(found, X, X, metric="cos")  # type: ignore[arg-type]
    assert_type(made.count_radius(queries, 2), Integers)
    assert_type(made.explain(queries, k=1), str)
    assert_type(made.ids, npt.NDArray[Any])  # int64 or str
    assert_type(made.duplicates(1), Groups)
    made.duplicates(1, linkage="stars")  # type: ignore[arg-type]
    for bucket in made.iter_buckets():
        assert_type(bucket, tuple[Codes, npt.NDArray[Any]])
    made.add(queries, [5, 6])
    made.remove(5)
    made.merge(HammingIndex(queries, ["a", "b"]))
    made.update(queries[0], np.array([6]))
    made.save(path)
    assert_type(HammingIndex.load(path, mmap=False, verify=True), HammingIndex)
    made.search_radius(queries, r=2)  # type: ignore[call-arg]
    return made


def matches(found: Matches) -> None:
    ids, distances = found[0]
    assert_type(ids, npt.NDArray[Any])
    assert_type(distances, npt.NDArray[np.int32])
    assert_type(found.ids, npt.NDArray[Any])
    assert_type(found.distances, npt.NDArray[np.int32])
    assert_type(found.rank_distances, npt.NDArray[np.int32] | None)
    assert_type(found.offsets, Integers)
    assert_type(found.counts, Integers)
    assert_type(len(found), int)
    for row in found:
        assert_type(row, tuple[npt.NDArray[Any], npt.NDArray[np.int32]])


def files() -> None:
    found = load("model.kinhash")
    if isinstance(found, SparseHash):
        assert_type(found.encode(X), Codes)
    elif isinstance(found, StoredCodes):
        assert_type(found.codes, Codes)
    elif isinstance(found, HammingIndex):
        assert_type(len(found), int)
    elif isinstance(found, HashMethod):
        assert_type(found.name, str)
    else:
        assert_type(found, MultimodalMethod)
    found.encode(X)  # type: ignore[union-attr, call-arg]


def measures(found: Codes) -> None:
    measured = evaluate_codes(found, y, found, y, radii=(0, 2), at=[10], own=range(20))
    assert_type(measured, dict[str, float])
    evaluate_codes(found, y, found, y, order="total")
    evaluate_codes(found, y, found, y, order="sum")  # type: ignore[arg-type]


def measures_without_labels(found: Codes) -> None:
    nearest = true_neighbours(X, X, 5, metric="l2", own=range(20))
    assert_type(nearest, Integers)
    assert_type(true_neighbours(tags, tags), Integers)
    without = evaluate_neighbours(found, found, nearest, at=[5], own=range(20), order="total")
    assert_type(without, dict[str, float])
    assert_type(evaluate_pairs(found, y, radii=range(9)), dict[str, float])
    assert_type(evaluate_pairs(found, Pairs.across([0], [0]), found), dict[str, float])
    assert_type(evaluate_vectors(X, y, X, y, metric="cosine"), dict[str, float])
    evaluate_vectors(X, y, X, y, metric="dot")  # type: ignore[arg-type]


class Own:
    """A user's own method."""

    def fit(self, X: npt.NDArray[np.float32]) -> None: ...

    def encode(self, X: npt.NDArray[np.float32]) -> Codes:
        return Codes.from_dense(X > 0)


class Unfinished:
    def fit(self, X: npt.NDArray[np.float32]) -> None: ...


def compared() -> None:
    table = kinhash.compare(["lsh", "l2", KSH, Nested(ITQ()), Own, Own()], X, y, n_bits=32)
    assert_type(table[0], dict[str, Any])
    assert_type(str(table), str)
    kinhash.compare(["mine:Own"], X, metric="l2", at=[100], n_query=50)
    kinhash.compare([Unfinished()], X)  # type: ignore[list-item]
    kinhash.compare(["lsh"], X, bits=32)  # type: ignore[call-arg]


def duplicates(codes: Codes, model: ITQ) -> Duplicates:
    found = deduplicate(X, ids=["a", "b"], similarity=0.9, linkage="connected", recall=0.95, seed=1)
    assert_type(found, Duplicates)
    assert_type(found.groups, Groups)
    assert_type(found.recall.share, float)
    deduplicate(X, against=X, against_ids=[1, 2], radius=3, model=model, n_threads=1)
    deduplicate(codes, radius=3)
    deduplicate(["red hat", "blue hat"], ids="sku", similarity=0.9).to_arrow()
    assert_type(propose(X, against=X, by_radius=True, model=model).proposed, float | None)
    deduplicate(X, similarty=0.9)  # type: ignore[call-arg]
    return found


def datasets() -> Dataset:
    data = load_dataset("digits")
    assert_type(data, Dataset)
    assert_type(load_dataset(path, labels="class", modalities=["image"]), Dataset)
    assert_type(data.labels, npt.NDArray[np.int64] | npt.NDArray[np.uint8] | None)
    assert_type(data.split(seed=0), Split)
    assert_type("digits" in DATASETS, bool)
    items = open_items(path, features=["e*", "f*"], ids="sku", text="title", delimiter=";")
    assert_type(items, Items)
    assert_type(items.read(with_ids=False), Dataset)
    for batch in items.batches(100):
        assert_type(batch, Batch)
        assert_type(batch.vectors, npt.NDArray[np.float32] | None)
        assert_type(batch.texts, tuple[str, ...] | None)
    return data


def texts(layout: Layout) -> str:
    assert_type(sql.join(layout, radius=1), str)
    return sql.join(layout, right="new", radius=2, dialect="postgres")


def failures(found: HammingIndex, queries: Codes) -> float:
    try:
        found.search_top_k(queries, 1, timeout=1e-9)
    except SearchTimeout as error:
        return error.seconds
    except KinhashError:
        pass
    return 0.0
