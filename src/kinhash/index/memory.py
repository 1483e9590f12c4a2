"""What an index builds for each memory setting."""

import dataclasses

from kinhash.errors import unknown_name

SMALL = 256  # items up to which a segment needs no structures: comparing them all is as fast
# Codes whose neighbours within three bits, and within two, are listed however few items there are.
FEW_FAR, FEW_LISTED = 512, 4096
FEW_ALLOWED = 0.02  # share of allowed items up to which they are searched on their own
MANY_DEAD = 0.25  # share of removed items from which a segment is built anew


@dataclasses.dataclass(frozen=True)
class Structures:
    """What to build over the codes; the native core drops what the budget has no room for."""

    levels: int  # of deletion keys: codes filed with one, or two, of their bits removed
    n_chunks: int  # parts of the bits, for codes too dense for deletion keys
    groups: bool  # codes around leaders, for larger radii
    far: float  # codes per item, the heaviest, with lists of neighbours within three bits ...
    listed: float  # ... and within two
    budget: float  # bytes per item for deletion keys, more slots, chunks and neighbours together
    # Whether codes of more than one word have chunks, too: comparing them all is fast.
    wide_chunks: bool = False

    def n_chunks_of(self, n_words: int) -> int:
        """Return the most chunks for codes of so many words."""
        return self.n_chunks if n_words == 1 or self.wide_chunks else 0

    def n_far(self, n_items: int) -> int:
        """Return how many codes have all within three bits listed, at most."""
        return int(self.far * n_items) + FEW_FAR if self.far else 0

    def n_listed(self, n_items: int) -> int:
        """Return how many codes have their neighbours listed, at most; a few cost nothing."""
        return int(self.listed * n_items) + FEW_LISTED if self.listed else 0


MEMORY = {
    "lean": Structures(levels=0, n_chunks=0, groups=True, far=0.0, listed=0.0, budget=0.0),
    "balanced": Structures(
        levels=2, n_chunks=4, groups=True, far=1 / 512, listed=1 / 128, budget=48.0
    ),
    "fast": Structures(
        levels=2,
        n_chunks=4,
        groups=True,
        far=1 / 64,
        listed=1.0,
        budget=512.0,
        wide_chunks=True,
    ),
}


def structures(memory: str) -> Structures:
    """Return what to build for a memory setting.

    Raises:
        InvalidInputError: `memory` is not "lean", "balanced" or "fast".
    """
    if memory not in MEMORY:
        raise unknown_name("memory", str(memory), MEMORY)
    return MEMORY[memory]
