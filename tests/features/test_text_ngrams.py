import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.features import text_ngrams as module
from kinhash.features.text_ngrams import N_FEATURES, text_ngrams


def cosine(one, other):
    one, other = (np.asarray(v, float) for v in text_ngrams([one, other]))
    return one @ other / np.sqrt((one @ one) * (other @ other))


def grams(text):
    """Return the words and runs of four letters of a text without punctuation, by hand."""
    plain = text + " "
    runs = [plain[i : i + 4] for i in range(len(plain) - 3)]
    return [f"word {w}" for w in text.split()] + [f"run {r}" for r in runs]


def test_a_vector_is_the_sum_of_a_sign_for_each_gram():
    # One text has each gram of two others, but for those that span where they meet.
    first, second = "red shoes", "a blue hat"
    one, two, both = (v.astype(int) for v in text_ngrams([first, second, f"{first} {second}"]))
    spanning = len(grams(f"{first} {second}")) - len(grams(first)) - len(grams(second))
    assert spanning == 3
    assert np.abs(both - one - two).sum() == spanning
    assert np.abs(one).sum() == len(grams(first))  # no two meet in these few
    assert np.abs(two).sum() == len(grams(second))


def test_cosines_are_those_of_the_grams():
    words = [f"w{i}{chr(97 + i % 26)}" for i in range(150)]
    one, other = " ".join(words[:100]), " ".join(words[30:130])
    found, theirs = grams(one), grams(other)
    known = sorted({*found, *theirs})
    counts = [np.array([side.count(g) for g in known]) for side in (found, theirs)]
    exact = counts[0] @ counts[1] / np.sqrt((counts[0] @ counts[0]) * (counts[1] @ counts[1]))
    assert abs(cosine(one, other) - exact) < 4 / np.sqrt(N_FEATURES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Red shoes, new!", "red shoes -- NEW"),
        ("  über  Straße ", "Über; STRASSE".replace("STRASSE", "straße")),
        ("\u65e5\u672c\u8a9e\u3002", "\u65e5\u672c\u8a9e"),
        ("don't", "don t"),
    ],
)
def test_capitals_punctuation_and_blanks_do_not_matter(one, other):
    assert cosine(one, other) == pytest.approx(1)


def test_an_edit_changes_little_and_another_text_much():
    text = "a long sleeved shirt of organic cotton with buttons of wood and a small pocket"
    assert cosine(text, text.replace("cotton", "coton")) > 0.9
    assert cosine(text, text.replace("small ", "")) > 0.9
    assert abs(cosine(text, "kitchen knives made in steel, six pieces")) < 0.35


def test_texts_do_not_depend_on_their_batch(monkeypatch):
    texts = ["red shoes", "", "a hat", "!?", "xy", "blue", "ä"]
    whole = text_ngrams(texts)
    monkeypatch.setattr(module, "_CHUNK_TEXTS", 2)
    seen = []
    np.testing.assert_array_equal(
        text_ngrams(texts, progress=lambda *told: seen.append(told)), whole
    )
    assert seen == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert whole.any(axis=1).tolist() == [True, False, True, False, True, True, True]
    assert not text_ngrams([]).size


def test_a_long_text_is_scaled_to_fit():
    vector = text_ngrams(["word " * 10_000])[0]
    assert abs(vector.astype(int)).max() == 127
    assert cosine("word " * 10_000, "word " * 20_000) > 0.99


def test_what_is_no_text_is_refused():
    with pytest.raises(InvalidInputError, match="got int in row 1"):
        text_ngrams(["a", 3])
    with pytest.raises(InvalidInputError, match="got one string"):
        text_ngrams("red shoes")
