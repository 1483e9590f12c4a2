"""Photographs in a tar file beside a .csv table with a row for each; needs Pillow."""

import csv
import io
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.arguments import default_threads
from kinhash.errors import InvalidInputError, MissingExtraError

Images = npt.NDArray[np.uint8]


def read_rows(path: Path, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the named columns of a .csv file whose first line holds the names.

    Raises:
        InvalidInputError: The file cannot be read, has no rows, lacks a column, or has a line with
            fewer values than columns.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            lines = [(reader.line_num, line) for line in reader if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error
    missing = [column for column in columns if column not in header]
    if missing:
        raise InvalidInputError(
            f"{path} must start with a line that names the columns {', '.join(columns)}, but "
            f"{', '.join(missing)} is not among {', '.join(header) or 'nothing'}."
        )
    for number, line in lines:
        if len(line) != len(header):
            raise InvalidInputError(
                f"{path} must have {len(header)} values in each line, but has {len(line)} in line "
                f"{number}."
            )
    if not lines:
        raise InvalidInputError(f"{path} must have at least one row, but has none.")
    places = {column: header.index(column) for column in columns}
    return {column: [line[j] for _, line in lines] for column, j in places.items()}


def whole_numbers(values: Sequence[str], source: str) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers as int64."""
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{source} must hold whole numbers: {error}.") from error


def read_photos(path: Path, ids: Sequence[str], size: tuple[int, int]) -> Images:
    """Return the photographs `<id>.jpg` of a tar file in the order of `ids`, `(n, h, w, 3)`.

    One of another size than `size` (width, height) is resized, one without colours gets three equal
    channels, and one that is not asked for is left alone.

    Raises:
        InvalidInputError: An id is there twice or has no photograph, or a file is damaged.
        MissingExtraError: Pillow is not installed.
    """
    _check_pillow()
    rows = {f"{name}.jpg": row for row, name in enumerate(ids)}
    if len(rows) != len(ids):
        twice = next(name for name, n in Counter(ids).items() if n > 1)
        raise InvalidInputError(f"Each photograph must have one row, but {twice} has several.")
    contents = _members(path, rows)
    for name, row in rows.items():
        if row not in contents:
            raise InvalidInputError(
                f"The table has a row for {ids[row]}, but {path} has no {name}."
            )
    images = np.empty((len(ids), size[1], size[0], 3), dtype=np.uint8)

    def fill(row: int) -> None:
        images[row] = _decoded(contents.pop(row), size, f"{ids[row]}.jpg in {path}")

    with ThreadPoolExecutor(default_threads()) as pool:
        for _ in pool.map(fill, range(len(ids))):
            pass
    return images


def _members(path: Path, rows: Mapping[str, int]) -> dict[int, bytes]:
    """Return the content of each wanted file by its row; nothing is unpacked to disk."""
    contents: dict[int, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                row = rows.get(Path(member.name).name)
                file = archive.extractfile(member) if row is not None and member.isreg() else None
                if row is not None and file is not None:
                    contents[row] = file.read()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. Copy it again.") from error
    return contents


def _decoded(content: bytes, size: tuple[int, int], source: str) -> Images:
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(io.BytesIO(content)) as file:
            photo = file.convert("RGB")
    # Pillow raises these on damage, and on a picture so large that it must be an attack.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InvalidInputError(f"{source} is no readable picture: {error}.") from error
    if photo.size != size:
        photo = photo.resize(size, Image.Resampling.BICUBIC)
    return np.asarray(photo)


def _check_pillow() -> None:
    try:
        # Not at the top of the file: Pillow is an extra.
        import PIL  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading photographs needs Pillow", "images") from error
