"""Files as their publishers write them, for the tests of the loaders."""

import csv
import io
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image


class Python2Pickle:
    """What cPickle of Python 2 writes at protocol 2 for lists, text, numbers and NumPy 1 arrays."""

    def __init__(self):
        self.n_stored = 0

    def dumps(self, value):
        return b"\x80\x02" + self._saved(value) + b"."

    def _put(self):
        self.n_stored += 1
        if self.n_stored < 256:
            return b"q" + bytes([self.n_stored])
        return b"r" + struct.pack("<I", self.n_stored)

    def _saved(self, value):
        if isinstance(value, dict):
            items = b"".join(self._saved(part) for item in value.items() for part in item)
            return b"}" + self._put() + b"(" + items + b"u"
        if isinstance(value, list):
            runs = [value[i : i + 1000] for i in range(0, len(value), 1000)]
            return (b"]" + self._put()) + b"".join(
                b"(" + b"".join(self._saved(part) for part in run) + b"e" for run in runs
            )
        if isinstance(value, bytes):
            is_short = len(value) < 256
            size = struct.pack("<B" if is_short else "<i", len(value))
            return (b"U" if is_short else b"T") + size + value + self._put()
        if isinstance(value, int):
            if 0 <= value < 256:
                return b"K" + bytes([value])
            return b"M" + struct.pack("<H", value) if 0 <= value < 65536 else self._long(value)
        return self._array(value)

    def _long(self, value):
        return b"J" + struct.pack("<i", value)

    def _array(self, array):
        put, saved = self._put, self._saved
        dtype = b"cnumpy\ndtype\n" + put() + saved(b"u1") + b"K\x00K\x01\x87" + put() + b"R" + put()
        dtype += b"(K\x03" + saved(b"|") + b"NNN" + self._long(-1) * 2 + b"K\x00t" + put() + b"b"
        shape = b"(" + b"".join(saved(int(side)) for side in array.shape) + b"t" + put()
        return (
            b"cnumpy.core.multiarray\n_reconstruct\n"
            + put()
            + (b"cnumpy\nndarray\n" + put() + b"K\x00\x85" + put() + saved(b"b") + b"\x87" + put())
            + (b"R" + put() + b"(K\x01" + shape + dtype + b"\x89" + saved(array.tobytes()) + b"t")
            + (put() + b"b")
        )


@pytest.fixture
def python2_pickle():
    """Return the bytes of a pickle as of 2009."""
    return lambda value: Python2Pickle().dumps(value)


@pytest.fixture
def write_photos():
    """Write a table and a tar file of photographs to a folder; return the photographs."""

    def write(folder, table, rows, sizes):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / table).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        rng = np.random.default_rng(0)
        photos = []
        with tarfile.open(folder / "images.tar", "w") as archive:
            for row, (width, height) in zip(rows, sizes, strict=True):
                coarse = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
                photos.append(Image.fromarray(coarse).resize((width, height)))
                content = io.BytesIO()
                photos[-1].save(content, "JPEG", quality=95)
                member = tarfile.TarInfo(f"{row['id']}.jpg")
                member.size = len(content.getvalue())
                archive.addfile(member, io.BytesIO(content.getvalue()))
        return photos

    return write
