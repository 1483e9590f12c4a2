"""`MultimodalSparseHash(recipe="strong")`: classes of several modalities, or of one."""

import numpy as np
import pytest
import scipy.sparse

import kinhash
from kinhash import MultimodalSparseHash, Pairs, SparseHash, storage
from kinhash.errors import CollapseWarning, FormatError, InvalidInputError
from kinhash.metrics import evaluate_codes

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning"),
    pytest.mark.filterwarnings("ignore::kinhash.errors.CollapseWarning"),
]
TRAIN = np.arange(350)


def strong(n_bits=48, **parameters):
    return MultimodalSparseHash(n_bits, **parameters)


def test_a_class_has_one_bucket_in_all_modalities(described, taken, mean_precision):
    X, y = described
    model = strong().fit(taken(X, TRAIN), y[TRAIN])
    buckets = {name: model.encode(taken(X, TRAIN)[name], modality=name).to_dense() for name in X}
    for digit in range(10):
        of_texts = np.unique(buckets["text"][y[TRAIN] == digit], axis=0)
        assert len(of_texts) == 1
        alike = (buckets["image"][y[TRAIN] == digit] == of_texts).all(axis=1)
        assert alike.mean() > 0.9
    assert mean_precision(model, X, y, "image", "text") > 0.9
    assert mean_precision(model, X, y, "text", "image") > 0.9


def test_rank_bits_place_what_another_modality_finds(halves, taken):
    X, y = halves
    train, rest = TRAIN, np.arange(1000, 1797)
    reached = []
    for n_rank_bits in (28, 0):
        model = strong(48, n_rank_bits=n_rank_bits) if n_rank_bits else strong(20, n_rank_bits=0)
        model.fit(taken(X, train), y[train])
        q = model.encode(X["upper"][rest], modality="upper")
        d = model.encode(X["lower"][rest], modality="lower")
        assert q.n_rank_bits == d.n_rank_bits == n_rank_bits
        reached.append(evaluate_codes(q, y[rest], d, y[rest], own=np.arange(len(rest)))["map"])
    assert reached[0] > reached[1] + 0.02


def test_rows_need_not_be_paired_and_some_may_lack_a_modality(halves, described, mean_precision):
    X, y = halves
    part = {"upper": X["upper"][:400], "lower": X["lower"][400:700]}
    model = strong().fit(part, {"upper": y[:400], "lower": y[400:700]})
    assert mean_precision(model, X, y, "upper", "lower") > 0.5
    X, y = described
    image = X["image"].astype(float)
    image[::7] = np.nan
    texts = [text if row % 5 else "" for row, text in enumerate(X["text"])]
    labels = y.astype(float)
    labels[35] = np.nan  # of an item that has neither
    model = strong().fit({"image": image[TRAIN], "text": texts[:350]}, labels[TRAIN])
    assert mean_precision(model, X, y, "image", "text") > 0.85


def test_a_single_modality_is_accepted_by_both_recipes(described, tmp_path):
    X, y = described
    one = {"image": X["image"][TRAIN]}
    for model in (strong(), MultimodalSparseHash(24, recipe="paper", max_steps=60, n_anchors=50)):
        model.fit(one, y[TRAIN])
        codes = model.encode(X["image"][1000:], modality="image")
        assert evaluate_codes(codes, y[1000:], codes, y[1000:])["map"] > 0.6
        model.save(tmp_path / "model.kinhash")
        again = kinhash.load(tmp_path / "model.kinhash")
        assert again.encode(X["image"][1000:], modality="image") == codes
    with pytest.raises(InvalidInputError, match="`mu` is 0, which leaves no pairs of a single"):
        MultimodalSparseHash(recipe="paper", mu=0).fit(one, y[TRAIN])


def test_the_bucket_of_a_single_modality_is_that_of_sparsehash_but_for_its_words(described):
    X, y = described
    image = X["image"][TRAIN]
    several = strong().fit({"image": image}, y[TRAIN]).encode(X["image"], modality="image")
    alone = SparseHash(48).fit(image, y[TRAIN]).encode(X["image"])
    number = [np.unique(one.to_dense(), axis=0, return_inverse=True)[1] for one in (several, alone)]
    pairs = np.unique(np.stack([one.reshape(-1) for one in number]), axis=1)
    assert pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1]))


def test_a_model_is_the_same_from_its_file(described, taken, tmp_path):
    X, y = taken(described[0], TRAIN), described[1][TRAIN]
    model = strong().fit(X, y)
    model.save(tmp_path / "model.kinhash")
    loaded = kinhash.load(tmp_path / "model.kinhash")
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_
    for name, values in X.items():
        assert loaded.encode(values, modality=name) == model.encode(values, modality=name)


def test_a_text_without_a_known_word_has_no_bit_at_all(described, taken):
    X, y = taken(described[0], TRAIN), described[1][TRAIN]
    model = strong().fit(X, y)
    codes = model.encode(["three", "unheard of", ""], modality="text")
    assert codes.n_rank_bits == 36
    assert codes.n_active[0] > 0
    assert not codes[1:].to_dense().any()
    assert not codes[1:].rank_to_dense().any()


def test_a_file_whose_modalities_differ_in_rank_bits_is_refused(described, taken, tmp_path):
    X, y = taken(described[0], TRAIN[:100]), described[1][:100]
    path = tmp_path / "model.kinhash"
    header, arrays = [], []
    for n_rank_bits in (28, 27):
        strong(n_rank_bits=n_rank_bits).fit(X, y).save(path)
        read = storage.read(path)
        header.append(read[0])
        arrays.append(read[1])
    header[0]["modalities"][1] = header[1]["modalities"][1]
    mixed = {k: arrays[k.startswith("text/")][k] for k in arrays[0]}
    storage.write(path, header[0], mixed)
    with pytest.raises(FormatError, match="some modalities have more rank bits than others"):
        kinhash.load(path)


def test_files_from_before_recipes_are_of_the_papers(described, taken, tmp_path):
    X, y = taken(described[0], TRAIN), described[1][TRAIN]
    model = MultimodalSparseHash(12, recipe="paper", max_steps=20, n_anchors=15).fit(X, y)
    model.save(tmp_path / "model.kinhash")
    header, arrays = storage.read(tmp_path / "model.kinhash")
    del header["parameters"]["recipe"]
    del header["parameters"]["n_rank_bits"]
    storage.write(tmp_path / "model.kinhash", header, arrays)
    assert kinhash.load(tmp_path / "model.kinhash").get_params() == model.get_params()


def test_tags_pairs_and_paired_rows_are_learned_by_the_network(halves):
    X, y = halves
    X = {name: values[:80] for name, values in X.items()}
    tags = np.stack([y[:80] % 2, y[:80] > 4], axis=1)
    pairs = Pairs(np.arange(0, 80, 2), np.arange(1, 80, 2))
    for given in ({"y": scipy.sparse.csr_array(tags)}, {"pairs": pairs}, {}):
        model = strong(16, n_rank_bits=0).fit(X, **given)
        assert [one.kind for one in model.encoders_.values()] == ["kernel-ista"] * 2
        with pytest.raises(InvalidInputError, match="only where `y` are class labels, got 8 as"):
            strong(16, n_rank_bits=8).fit(X, **given)


def test_classes_that_share_codes_are_named_with_their_modality(rng, halves):
    X, y = halves
    noise = rng.normal(size=(len(TRAIN), 3))
    with pytest.warns(CollapseWarning, match=r"^In 'noise': .* share \d+% of their codes"):
        strong().fit({"noise": noise, "upper": X["upper"][TRAIN]}, y[TRAIN])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"recipe": "best"}, "Unknown recipe 'best'. Known: paper, strong"),
        ({"mu": 0.5}, "`mu` belongs to recipe='paper', but `recipe` is 'strong'. Add recipe='pap"),
        ({"recipe": "paper", "n_rank_bits": 3}, "`n_rank_bits` belongs to recipe='strong', but"),
        ({"n_rank_bits": 48}, "`n_rank_bits` must be an integer in"),
        ({"n_bits": 0}, "`n_bits` must be an integer"),
        ({"seed": -1}, "`seed` must be an integer"),
        ({"n_words": 0}, "`n_words` must be an integer"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(described, parameters, message):
    X, y = described
    with pytest.raises(InvalidInputError, match=message):
        strong(**parameters).fit(X, y)


def test_labels_and_pairs_together_are_refused(described):
    X, y = described
    with pytest.raises(InvalidInputError, match="Give either"):
        strong().fit(X, y, pairs=Pairs([0], [1]))
