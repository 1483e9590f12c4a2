"""Draws docs/codes.svg, the picture of the README, from codes of digits.

    python experiments/picture.py

Nothing is picked: the items are the first of their class in the database, the query is the first
of its class among the queries, and the answers are in the order of the index.
"""

import warnings
from pathlib import Path

import numpy as np

from kinhash import HammingIndex, SparseHash
from kinhash.datasets import load

PICTURE = Path(__file__).parents[1] / "docs" / "codes.svg"
DIGITS, QUERY = (0, 3, 7), 3
N_ITEMS, N_ANSWERS = 2, 12  # items of each digit, and answers, that are drawn

INK, SOFT, LINE, BLUE, ORANGE = "#1f2933", "#5b6875", "#dfe4ea", "#0072b2", "#d55e00"
GREYS = ("#d5dae0", "#9aa5b1", "#5b6875", "#1f2933")
ROW, SIDE, CELL = 34, 24, 5  # pixels: of a row, of an image, of a bit
GAP = 2  # cells between bucket and rank bits
WIDTH, TOP, CODES, BUCKET = 880, 74, 92, 472


def image(pixels, x, y, frame=None):
    """Return an image of 8 x 8 pixels from 0 to 16 as SVG: a path for each of four greys."""
    size = SIDE / 8
    levels = np.ceil(pixels.reshape(8, 8) / 4).astype(int)
    paths = []
    for level, grey in enumerate(GREYS, 1):
        steps = "".join(
            f"M{x + size * j:g} {y + size * i:g}h{size:g}v{size:g}h-{size:g}z"
            for i, j in np.argwhere(levels == level)
        )
        paths.append(f'<path d="{steps}" fill="{grey}"/>')
    colour = frame or LINE
    paths.append(
        f'<rect x="{x - 1}" y="{y - 1}" width="{SIDE + 2}" height="{SIDE + 2}" rx="2" fill="none" '
        f'stroke="{colour}" stroke-width="{2 if frame else 1}"/>'
    )
    return "".join(paths)


def code(codes, at, y, colour):
    """Return a code as SVG: a cell for each bit, filled where it is active; rank bits in grey."""
    bucket, rank = codes.to_dense()[at], codes.rank_to_dense()[at]
    behind = CODES + CELL * (len(bucket) + GAP)
    return cells(bucket, CODES, y, colour) + cells(rank, behind, y, GREYS[1])


def cells(bits, x, y, colour):
    """Return bits as SVG."""
    size = CELL - 1
    active, rest = (
        "".join(f"M{x + CELL * j} {y}h{size}v10h-{size}z" for j in np.flatnonzero(bits == value))
        for value in (1, 0)
    )
    return f'<path d="{rest}" fill="#eceff2"/><path d="{active}" fill="{colour}"/>'


def words(text, x, y, *, size=13, colour=SOFT, weight=400):
    """Return a line of text as SVG."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}">'
        f"{text}</text>"
    )


def drawn():
    """Return the picture."""
    data = load("digits")
    part = data.split(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant", UserWarning)  # blank pixels
        model = SparseHash().fit(data.vectors[part.train], data.labels[part.train])
    codes = model.encode(data.vectors[part.database])
    index = HammingIndex(codes, part.database)
    query = part.query[np.argmax(data.labels[part.query] == QUERY)]
    asked = model.encode(data.vectors[[query]])
    found, _ = index.search_radius(asked, radius=0, sort=True)[0]
    n_right = int((data.labels[found] == QUERY).sum())
    rows = [
        row
        for digit in DIGITS
        for row in part.database[data.labels[part.database] == digit][:N_ITEMS]
    ]
    shown = model.encode(data.vectors[[*rows, query]])
    bottom = TOP + ROW * len(rows) + 26
    behind = CODES + CELL * (codes.n_bits + GAP)
    parts = [
        words("vectors", 24, 36, size=16, colour=INK, weight=600),
        words(f"{data.vectors.shape[1]} pixels", 24, 54),
        words(f"codes of {model.n_bits} bits", CODES, 36, size=16, colour=INK, weight=600),
        words(
            f"{codes.n_bucket_bits} of a sparse bucket, {codes.n_rank_bits} rank bits (grey)",
            CODES,
            54,
        ),
        words("one lookup", BUCKET, 36, size=16, colour=INK, weight=600),
        words(
            "items in the query\N{RIGHT SINGLE QUOTATION MARK}s bucket, in order of rank bits",
            BUCKET,
            54,
        ),
    ]
    for at, row in enumerate(rows):
        y = TOP + ROW * at
        parts += [image(data.vectors[row], 36, y), code(shown, at, y + 7, BLUE)]
    parts += [
        f'<path d="M24 {bottom - 14}H{BUCKET - 34}" stroke="{LINE}"/>',
        image(data.vectors[query], 36, bottom, ORANGE),
        code(shown, -1, bottom + 7, ORANGE),
        words("a query that training has not seen", CODES, bottom + 36, colour=ORANGE),
        (
            f'<path d="M{behind + 8} {bottom + 12}H{BUCKET - 22}V{TOP + 46}h12" '
            f'fill="none" stroke="{ORANGE}" stroke-width="2"/>'
        ),
        f'<path d="M{BUCKET - 10} {TOP + 40}l9 6l-9 6z" fill="{ORANGE}"/>',
        (
            f'<rect x="{BUCKET}" y="{TOP - 6}" width="{WIDTH - BUCKET - 24}" height="104" rx="8" '
            f'fill="#f6f8fa" stroke="{LINE}"/>'
        ),
    ]
    half = N_ANSWERS // 2
    for at, item in enumerate(found[:N_ANSWERS]):
        place = BUCKET + 20 + 58 * (at % half), TOP + 10 + 44 * (at // half)
        parts.append(image(data.vectors[item], *place))
    parts += [
        words(
            f"{len(found)} of {len(index):,} items, {n_right} of them a {QUERY};",
            BUCKET,
            TOP + 124,
            colour=INK,
        ),
        words(f"the first {N_ANSWERS} are shown.", BUCKET, TOP + 144),
    ]
    height = bottom + 54
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" role="img">'
        "<title>Images of digits become codes; a query finds the items in its own bucket."
        f'</title><rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>'
        + "\n".join(parts)
        + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    print(f"Wrote {PICTURE}")
