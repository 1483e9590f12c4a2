"""NUS-WIDE: 269,648 photographs with 81 concepts and 1,000 tags (Chua et al., 2009).

Of the photographs only features are read, bags of 500 visual words.
"""

from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arrays import Bytes, Floats
from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import missing_data
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

FOLDERS = ("nus-wide", "NUS-WIDE")
CONCEPTS = "ConceptsList/Concepts81.txt"
LABELS = "Groundtruth/AllLabels/Labels_{}.txt"
TAGS = "NUS_WID_Tags/AllTags1k.txt"
TAG_NAMES = "NUS_WID_Tags/TagList1k.txt"
WORDS = "Low_Level_Features/BoW_int.dat"
# Where there is no file of all, there may be these, in the order of their own lists.
WORD_PARTS = ("Low_Level_Features/BoW_Train_int.dat", "Low_Level_Features/BoW_Test_int.dat")
ALL_PHOTOS = "ImageList/Imagelist.txt"
PHOTO_PARTS = ("ImageList/TrainImagelist.txt", "ImageList/TestImagelist.txt")

N_CONCEPTS = 81
N_FREQUENT = 21
N_TAGS = 1_000
N_WORDS = 500

_BLOCK_BYTES = 1 << 24
_BLOCK_ROWS = 4_096


def load_nus_wide(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return the photographs that have one of the 21 most frequent concepts.

    `labels` are a 0/1 matrix of these concepts, the most frequent first. `attributes` hold `tags`,
    a 0/1 matrix of the 1,000 tags; `texts` are the tags with spaces between, and empty for some
    photographs. `modalities` are "image", the vectors, and "text", the tags as a sparse matrix.
    `ids` are the places in the full list of photographs, from 0.

    Args:
        root: The folder that holds `nus-wide` or `NUS-WIDE`, or that folder itself; in it, the
            published archives unpacked.
        features: "words", the default: how often each of 500 visual words occurs.
        progress: Called with (photographs done, photographs in all) while features are read, which
            takes a quarter of a minute.

    Raises:
        InvalidInputError: A file is missing or has the wrong size or content, or `features` is
            unknown.
    """
    if features not in (None, "words"):
        raise unknown_name("kind of features for nus-wide", features, ("words",))
    folder = _folder(root)
    concepts, labels = _frequent_concepts(folder)
    rows = np.flatnonzero(labels.any(axis=1))
    tag_names = _read_names(folder / TAG_NAMES, N_TAGS)
    tags = _read_bits(folder / TAGS, N_TAGS)
    _check_rows(folder / TAGS, len(tags), len(labels))
    tags = tags[rows]
    vectors = _read_words(folder, len(labels), progress)[rows]
    return Dataset(
        "nus-wide",
        vectors,
        labels=labels[rows],
        names=concepts,
        ids=rows,
        texts=_texts(tags, tag_names),
        attributes={"tags": tags},
        modalities={"image": vectors, "text": scipy.sparse.csr_array(tags, dtype=np.float32)},
    )


def _folder(root: Path) -> Path:
    """Return the folder with all files but those of the features and of single concepts."""
    folders = (*(root / name for name in FOLDERS), root)
    for folder in folders:
        if (folder / CONCEPTS).is_file():
            for file in (TAG_NAMES, TAGS):
                _check_there(folder, file)
            return folder
    raise _missing(folders, CONCEPTS, LABELS.format("<concept>"), TAG_NAMES, TAGS, WORDS)


def _check_there(folder: Path, *files: str) -> None:
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise _missing((folder,), *missing)


def _missing(folders: tuple[Path, ...], *files: str) -> InvalidInputError:
    return missing_data(
        "NUS-WIDE",
        files,
        folders,
        "Unpack ConceptsList.zip, Groundtruth.zip, NUS_WID_Tags.zip, ImageList.zip and "
        "NUS_WID_Low_Level_Features.rar, which "
        "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html lists, "
        "there, or name another folder with `root` or $KINHASH_DATA.",
    )


def _frequent_concepts(folder: Path) -> tuple[tuple[str, ...], Bytes]:
    """Return the names and the 0/1 matrix of the most frequent concepts, of all photographs."""
    names = _read_names(folder / CONCEPTS, N_CONCEPTS)
    files = [LABELS.format(name) for name in names]
    _check_there(folder, *files)
    columns = [_read_bits(folder / file, 1)[:, 0] for file in files]
    for file, column in zip(files, columns, strict=True):
        _check_rows(folder / file, len(column), len(columns[0]))
    counts = [int(column.sum()) for column in columns]
    frequent = sorted(range(len(names)), key=lambda j: -counts[j])[:N_FREQUENT]
    return tuple(names[j] for j in frequent), np.stack([columns[j] for j in frequent], axis=1)


def _read_names(path: Path, n_expected: int) -> tuple[str, ...]:
    try:
        names = tuple(path.read_text("utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error
    if len(names) != n_expected:
        raise InvalidInputError(f"{path} must hold {n_expected} names, but has {len(names)}.")
    return names


def _read_bits(path: Path, width: int) -> Bytes:
    """Return a text of zeros and ones, `width` to a line with blanks between, as a matrix."""
    bits, n_lines, last = [], 0, b"\n"
    # A file of tags has half a gigabyte, and each of its values is a single character.
    with path.open("rb") as file:
        while content := file.read(_BLOCK_BYTES):
            characters = np.frombuffer(content, dtype=np.uint8)
            is_bit = (characters == ord("0")) | (characters == ord("1"))
            if content.translate(None, b"01 \t\r\n"):
                raise InvalidInputError(f"{path} must hold 0 and 1 only, with blanks between.")
            bits.append(characters[is_bit] - ord("0"))
            n_lines += content.count(b"\n")
            last = content[-1:]
    n_lines += last != b"\n"
    n_bits = sum(block.size for block in bits)
    if n_bits != n_lines * width or not n_lines:
        raise InvalidInputError(
            f"{path} must have {width} values in each line, but has {n_bits} in {n_lines} lines."
        )
    return np.concatenate(bits).reshape(n_lines, width)


def _read_words(folder: Path, n: int, progress: Progress | None) -> Floats:
    """Return the bags of words of all photographs, in the order of the full list."""
    words = np.empty((n, N_WORDS), dtype=np.float32)
    if (folder / WORDS).is_file():
        _fill(words, np.arange(n), folder / WORDS, 0, progress)
        return words
    if not all((folder / file).is_file() for file in WORD_PARTS):
        raise _missing((folder,), f"{WORDS}, or {WORD_PARTS[0]}", WORD_PARTS[1])
    _check_there(folder, ALL_PHOTOS, *PHOTO_PARTS)
    places = {name: row for row, name in enumerate(_read_list(folder / ALL_PHOTOS))}
    parts = [_read_list(folder / file) for file in PHOTO_PARTS]
    listed = sorted(name for part in parts for name in part)
    if len(places) != n or listed != sorted(places):
        raise InvalidInputError(
            f"{folder / ALL_PHOTOS} must list {n} photographs, and those of "
            f"{' and '.join(PHOTO_PARTS)}, but has {len(places)} and they {len(listed)}."
        )
    n_done = 0
    for part, file in zip(parts, WORD_PARTS, strict=True):
        rows = np.array([places[name] for name in part], dtype=np.int64)
        _fill(words, rows, folder / file, n_done, progress)
        n_done += len(rows)
    return words


def _fill(
    words: Floats,
    rows: npt.NDArray[np.int64],
    path: Path,
    n_done: int,
    progress: Progress | None,
) -> None:
    """Write line i of a text of numbers to row `rows[i]`; `n_done` rows were filled before."""
    n_read = 0
    with path.open("rb") as file:
        while lines := list(islice(file, _BLOCK_ROWS)):
            content = b"".join(lines)
            if content.translate(None, b"0123456789 \t\r\n"):
                raise InvalidInputError(f"{path} must hold whole numbers, with blanks between.")
            # Several times faster than `loadtxt`, and safe now that nothing else is in the text.
            values = np.fromstring(content, dtype=np.int32, sep=" ")
            if values.size != len(lines) * N_WORDS:
                raise InvalidInputError(
                    f"{path} must have {N_WORDS} values in each line, but has {values.size} in the "
                    f"{len(lines)} lines after line {n_read}."
                )
            n_read += len(lines)
            if n_read > len(rows):
                break
            words[rows[n_read - len(lines) : n_read]] = values.reshape(-1, N_WORDS)
            if progress is not None:
                progress(n_done + n_read, len(words))
    _check_rows(path, n_read, len(rows))


def _read_list(path: Path) -> list[str]:
    """Return the photographs of a list; between folder and name, copies differ in the slash."""
    lines = path.read_text("latin-1").splitlines()
    return [line.strip().replace("\\", "/") for line in lines if line.strip()]


def _check_rows(path: Path, n_found: int, n_expected: int) -> None:
    if n_found != n_expected:
        more = " or more" if n_found > n_expected else ""
        raise InvalidInputError(
            f"{path} must have {n_expected} lines, one for each photograph, but has "
            f"{n_found}{more}."
        )


def _texts(tags: Bytes, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of each row's tags with spaces between."""
    rows, columns = np.nonzero(tags)
    ends = np.cumsum(np.bincount(rows, minlength=len(tags))).tolist()
    words = [names[j] for j in columns.tolist()]
    return tuple(" ".join(words[i:j]) for i, j in zip([0, *ends[:-1]], ends, strict=True))
