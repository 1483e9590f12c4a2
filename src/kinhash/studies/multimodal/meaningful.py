"""Which words say something of an item: those that a report counts."""

from collections.abc import Iterable

# Words of English grammar, as they stand in titles and tags. Longer lists, such as scikit-learn's,
# also hold words that do name things: fire, top, system, bottom.
_STOP_WORDS = """
about after all also am an and any are as at be because been before being both but by can  could
did do does doing for from had has have he her here him his how if in into is it its  just me
more most my no nor not of off on once only or other our out over own per same she  so some such
than that the their them then there these they this those to too under until  up upon us very
via was we were what when where which while who whom why will with without  would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def meaningful(words: Iterable[str]) -> list[str]:
    """Return the words that are no stop words, single letters or numbers, in their order.

    Example:
        >>> meaningful(["pack", "of", "3", "t", "shirts", "for", "men"])
        ['pack', 'shirts', 'men']
    """
    return [
        word
        for word in words
        if len(word) > 1
        and word.lower() not in STOP_WORDS
        and any(letter.isalpha() for letter in word)
    ]
