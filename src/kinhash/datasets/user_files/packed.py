"""Codes that other tools made, in files of arrays and tables: `read_codes`.

What a file may hold, one code for each row:

- bytes, whole codes in each row: uint8, `(n, n_bytes)`, as `numpy.packbits`, FAISS and binary
  embeddings have them, or int8 of value - 128, as sentence-transformers' "binary" embeddings;
- integers: one number for each code, such as a SimHash of 64 bits, or several words of it;
- strings of hexadecimal digits, as perceptual hashes are often written;
- bits: a column of 0 and 1 for each.

Distances do not depend on the order of bits, as long as items and queries have the same.
"""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.arrays import Array, Bytes
from kinhash.codes import Codes, StoredCodes
from kinhash.datasets.user_files.arrays import array_names, mapped_npy, read_arrays
from kinhash.datasets.user_files.fields import as_ids
from kinhash.errors import InvalidInputError
from kinhash.tables import arrow

SUFFIXES = (".npy", ".npz", ".parquet", ".csv")
USUAL = ("codes", "code")  # names of what holds the codes, where nobody says
USUAL_IDS = ("id", "ids")
_ABOUT = "kinhash."  # what `kinhash.export` notes in a table


@dataclasses.dataclass(frozen=True)
class Form:
    """How long codes are.

    Attributes:
        n_bits: Entries of a code; None for as many as there are bits in each row.
        n_rank_bits: How many of them are rank bits, which come last.
        signed: Whether the bytes of a bucket have a plus and a minus plane.
    """

    n_bits: int | None = None
    n_rank_bits: int = 0
    signed: bool = False

    @property
    def n_bytes(self) -> int:
        """Bytes of a code of `n_bits`: each part is padded to whole bytes."""
        n_bucket_bits = (self.n_bits or 0) - self.n_rank_bits
        return (2 if self.signed else 1) * -(-n_bucket_bits // 8) - (-self.n_rank_bits // 8)


def read_codes(
    path: Path, *, form: Form | None = None, column: str | None = None, ids: str | None = None
) -> StoredCodes:
    """Return the codes in a file that ends in one of `SUFFIXES`, with their ids if it has any.

    Args:
        path: The file.
        form: What codes are expected.
        column: The array of an .npz file, or the column of a table, that holds the codes; by
            default `codes` or `code`. A Parquet file that `kinhash export` wrote says itself how
            long its codes are, and has its rank bits beside them.
        ids: The array or column with the ids of the items; by default `ids` or `id`.

    Raises:
        InvalidInputError: There is no such file, array or column, or it holds something else.
        MissingExtraError: It is a table, and pyarrow is not installed.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
    form = form or Form()
    suffix = path.suffix.lower()
    if suffix == ".npy":
        for option, value in (("column", column), ("ids", ids)):
            if value is not None:
                raise InvalidInputError(
                    f"`{option}` names an array, but {path} holds a single one without a name. "
                    "Store several arrays in an .npz file."
                )
        return StoredCodes(as_codes(mapped_npy(path), str(path), form), None, None)
    if suffix == ".npz":
        return _of_npz(path, form, column, ids)
    return _of_table(path, form, column, ids)


def as_codes(values: Array, source: str, form: Form) -> Codes:
    """Return the codes that an array holds in one of the ways that the module describes.

    Raises:
        InvalidInputError: It holds none, or codes of another length.
    """
    if values.ndim == 2 and (values.dtype == np.bool_ or values.shape[1] == form.n_bits != 1):
        return _of_bits(values, source, form)
    rows = _bytes_of(values, source)
    if form.n_bits is None:
        _check_bytes(rows, values, source, form)
        form = Form(8 * rows.shape[1])
    if values.ndim == 1 and values.dtype.kind in "iu" and form.n_bytes < rows.shape[1]:
        # A number may have room for more bits than the code has.
        _check_empty(rows[:, form.n_bytes :], rows, source, form)
        rows = rows[:, : form.n_bytes]
    if rows.shape[1] != form.n_bytes:
        raise InvalidInputError(
            f"{source} must have {form.n_bytes} bytes for each code of {form.n_bits} bits, got "
            f"{rows.shape[1]}, which are {8 * rows.shape[1]} bits."
        )
    if not form.signed and not form.n_rank_bits and (form.n_bits or 0) % 8:
        _check_empty(rows[:, -1:] >> (form.n_bits or 0) % 8, rows, source, form)
    try:
        return Codes.from_bytes(rows, form.n_bits, signed=form.signed, n_rank_bits=form.n_rank_bits)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source} cannot be taken: {error}") from error


def _check_bytes(rows: Bytes, values: Array, source: str, form: Form) -> None:
    """Raise if the length of codes is not that of the rows, or probably not."""
    if form.n_rank_bits or form.signed:
        raise InvalidInputError(f"{source}: say with `n_bits` how long its codes are.")
    if rows.shape[1] > 1 and rows.size and rows.max() <= 1:
        raise InvalidInputError(
            f"{source} holds only 0 and 1. If each number is one bit, say so with `n_bits`, which "
            f"is then {values.shape[-1]}."
        )


def _check_empty(beyond: Array, rows: Bytes, source: str, form: Form) -> None:
    """Raise if there are bits beyond the last one of a code."""
    is_long = beyond.any(axis=1)
    if is_long.any():
        raise InvalidInputError(
            f"{source} has bits beyond the {form.n_bits} of a code in row "
            f"{int(np.argmax(is_long))}. Take `n_bits` {8 * rows.shape[1]}: bits that are the same "
            "everywhere change no distance."
        )


def _of_bits(values: Array, source: str, form: Form) -> Codes:
    """Return codes whose bits have a column each."""
    if form.n_bits not in (None, values.shape[1]):
        raise InvalidInputError(
            f"{source} has {values.shape[1]} columns of bits, but `n_bits` is {form.n_bits}."
        )
    bucket, rank = np.split(values, [values.shape[1] - form.n_rank_bits], axis=1)
    try:
        return Codes.from_dense(bucket, signed=form.signed, rank=rank if form.n_rank_bits else None)
    except InvalidInputError as error:
        told = re.sub("^`(bucket|rank)` ", "", str(error))
        raise InvalidInputError(f"{source} {told}") from error


def _bytes_of(values: Array, source: str) -> Bytes:
    """Return the bytes of each code: uint8, `(n, n_bytes)`."""
    kind = values.dtype.kind
    if values.ndim == 1 and kind == "U":
        return _of_hex(values.tolist(), source)
    if values.ndim == 1 and kind in "SV" and values.dtype.fields is None and values.itemsize:
        return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.itemsize)
    if kind not in "iu" or values.ndim not in (1, 2) or 0 in values.shape[1:]:
        hint = " A float has no room for 64 bits: store integers or hexadecimal digits."
        raise InvalidInputError(
            f"{source} must hold codes: bytes or integers of shape (n, width), or an integer or "
            f"hexadecimal digits for each, got {values.dtype} of shape {values.shape}."
            + (hint if kind == "f" else "")
        )
    rows = values.reshape(len(values), -1)
    if rows.dtype == np.int8 and values.ndim == 2:
        return (rows.astype(np.int16) + 128).astype(np.uint8)
    little = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(len(rows), rows.shape[1] * rows.itemsize)


def _of_hex(texts: Sequence[str], source: str) -> Bytes:
    """Return the bytes of hexadecimal digits, which "0x" may precede."""
    digits = [text.strip().lower().removeprefix("0x") for text in texts]
    widths = {len(text) for text in digits}
    if len(widths) > 1:
        odd = next(row for row, text in enumerate(digits) if len(text) != len(digits[0]))
        raise InvalidInputError(
            f"{source} must hold as many hexadecimal digits for each code, got "
            f"{len(digits[0])} in row 0 and {len(digits[odd])} in row {odd}."
        )
    width = -(-widths.pop() // 2) if widths else 1
    parts = []
    for row, text in enumerate(digits):
        try:
            parts.append(bytes.fromhex(text.rjust(2 * width, "0")))
        except ValueError:
            parts.append(b"")
        if not text or len(parts[-1]) != width:
            raise InvalidInputError(
                f"{source} must hold hexadecimal digits, got {texts[row]!r} in row {row}."
            )
    return np.frombuffer(b"".join(parts), np.uint8).reshape(len(digits), width)


def _of_npz(path: Path, form: Form, column: str | None, ids: str | None) -> StoredCodes:
    name, id_name = _names(path, array_names(path), column, ids)
    arrays = read_arrays(path, (name,) if id_name is None else (name, id_name))
    codes = as_codes(arrays[name], f"`{name}` in {path}", form)
    if id_name is None:
        return StoredCodes(codes, None, None)
    own = as_ids(arrays[id_name], f"`{id_name}` in {path}")
    if len(own) != len(codes):
        raise InvalidInputError(
            f"{path} must have an id for each code, got {len(own)} ids and {len(codes)} codes."
        )
    return StoredCodes(codes, own, None)


def _names(
    path: Path, found: Sequence[str], column: str | None, ids: str | None
) -> tuple[str, str | None]:
    """Return the name of what holds the codes, and of what holds the ids if anything does."""
    chosen: dict[str, str | None] = {}
    for option, asked, usual in (("column", column, USUAL), ("ids", ids, USUAL_IDS)):
        matching = [name for name in found if name in (usual if asked is None else (asked,))]
        if len(matching) > 1:
            raise InvalidInputError(
                f"{path} has {' and '.join(matching)}. Say with `{option}` which one to take."
            )
        if asked is not None and not matching:
            raise InvalidInputError(
                f"`{option}` must name one of {', '.join(found) or 'nothing'} in {path}, got "
                f"{asked!r}."
            )
        chosen[option] = matching[0] if matching else None
    if chosen["column"] is None:
        raise InvalidInputError(
            f"{path} has neither `codes` nor `code`, but {', '.join(found) or 'nothing'}. Say with "
            "`column` which holds the codes."
        )
    return chosen["column"], chosen["ids"]


def _of_table(path: Path, form: Form, column: str | None, ids: str | None) -> StoredCodes:
    table = _read(path)
    name, id_name = _names(path, table.column_names, column, ids)

    def values(name: str) -> tuple[Array, str]:
        source = f"`{name}` in {path}"
        return _values(table.column(name), source), source

    own = None if id_name is None else as_ids(*values(id_name))
    noted = _exported(table.schema.metadata or {}) if name == "code" else None
    if noted is None or form.n_bits not in (None, noted.n_bits):
        return StoredCodes(as_codes(*values(name), form), own, None)
    parts = [part for part in ("code", "rank") if part in table.column_names]
    rows = np.hstack([_bytes_of(*values(part)) for part in parts])
    return StoredCodes(as_codes(rows, f"{path}", noted), own, None)


def _exported(metadata: dict[bytes, bytes]) -> Form | None:
    """Return what `kinhash.export` noted about the codes of a Parquet file."""
    noted = {
        name: metadata.get(f"{_ABOUT}{name}".encode(), b"").decode("ascii", "replace")
        for name in ("n_bits", "n_rank_bits", "signed")
    }
    if not noted["n_bits"].isdecimal() or not noted["n_rank_bits"].isdecimal():
        return None
    return Form(int(noted["n_bits"]), int(noted["n_rank_bits"]), noted["signed"] == "true")


def _read(path: Path) -> Any:  # noqa: ANN401 - untyped
    pa = arrow()
    import pyarrow.csv  # noqa: PLC0415 - an extra
    import pyarrow.parquet  # noqa: PLC0415 - an extra

    try:
        if path.suffix.lower() == ".csv":
            return pyarrow.csv.read_csv(path)
        return pyarrow.parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InvalidInputError(f"{path} cannot be read: {reason}.") from error


def _values(column: Any, source: str) -> Array:  # noqa: ANN401 - untyped
    """Return a column of a table as an array: bytes and lists as rows."""
    pa = arrow()
    if column.null_count:
        raise InvalidInputError(
            f"{source} must have a value in each row, but {column.null_count} of {len(column)} "
            "are empty."
        )
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(column.to_pylist(), dtype=np.str_)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _joined(column.to_pylist(), source)
    if pa.types.is_fixed_size_binary(kind):
        return np.frombuffer(b"".join(column.to_pylist()), np.uint8).reshape(-1, kind.byte_width)
    if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list)) or (
        pa.types.is_fixed_size_list(kind)
    ):
        return _joined(column.to_pylist(), source, column.type.value_type.to_pandas_dtype())
    return np.asarray(column.to_numpy())


def _joined(rows: Sequence[Any], source: str, dtype: Any = np.uint8) -> Array:  # noqa: ANN401
    """Return rows of one length as a matrix."""
    widths = np.array([len(row) for row in rows])
    if len(rows) and (widths != widths[0]).any():
        row = int(np.argmax(widths != widths[0]))
        raise InvalidInputError(
            f"{source} must hold codes of one length, got {widths[0]} in row 0 and {widths[row]} "
            f"in row {row}."
        )
    if rows and isinstance(rows[0], bytes):
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    return np.array(rows, dtype=dtype).reshape(len(rows), int(widths[0]) if len(rows) else 1)
