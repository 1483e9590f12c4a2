"""Figures as files, and as `data:` URIs in a page."""

import base64
import io
import os
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure

from kinhash import storage
from kinhash.show.plots.style import STYLE


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> list[Path]:
    """Write `figure` as `path`.png and `path`.svg, in a folder that is made if needed."""
    stem = Path(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for file in files:
        drawn = _drawn(figure, file.suffix[1:])
        with storage.atomic(file) as part:
            part.write_bytes(drawn)
    return files


def data_uri(figure: Figure, format: Literal["svg", "png"] = "svg") -> str:  # noqa: A002 - its name
    """Return `figure` as a `data:` URI, ready to be the `src` of an `<img>`."""
    media = {"svg": "image/svg+xml", "png": "image/png"}[format]
    return f"data:{media};base64,{base64.b64encode(_drawn(figure, format)).decode()}"


def _drawn(figure: Figure, kind: str) -> bytes:
    metadata: dict[str, Any] = {
        "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
        "png": {"Software": None},
    }[kind]
    raw = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(raw, format=kind, dpi=160, metadata=metadata)
    return raw.getvalue()
