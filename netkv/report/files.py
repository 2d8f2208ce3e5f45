"""Output of figures: SVG, PDF, PNG and HTML files, or a directory with files of each figure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netkv.errors import NetkvError, UsageError
from netkv.report.figure import Figure

Kind = Literal["svg", "pdf", "png", "html", "directory"]
_ENDING = re.compile(r"\.[A-Za-z]{2,4}")
"""The suffix of a file, in contrast to that of a directory such as `results-0.1`."""
_SUFFIXES: dict[str, Kind] = {
    ".svg": "svg",
    ".pdf": "pdf",
    ".png": "png",
    ".html": "html",
    ".htm": "html",
}

_DRAWN: dict[str, Literal["svg", "pdf", "png"]] = {"svg": "svg", "pdf": "pdf", "png": "png"}


@dataclass(frozen=True)
class Destination:
    """A file or directory that the user has specified."""

    path: Path
    kind: Kind


def destination(path: Path, option: str = "--plot") -> Destination:
    """The file or directory for a path. Raises `UsageError`, so call it before a long run.

    A path without a suffix is a directory; `write` creates it if it is missing.
    """
    if path.is_dir():
        return Destination(path, "directory")
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None and _ENDING.fullmatch(path.suffix):
        raise UsageError(
            f"{option} {path}: the name should end in '.svg', '.pdf', '.png' or '.html', "
            f"or be that of a directory, without an ending."
        )
    whole = path.absolute()
    if kind is not None:
        if not whole.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no directory '{path.parent}'.")
        return Destination(path, kind)
    existing = next(each for each in (whole, *whole.parents) if each.exists())
    if not existing.is_dir():
        raise UsageError(f"{option} {path}: '{existing}' is a file, not a directory.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {path}: no directory can be made in '{existing}'.")
    return Destination(path, "directory")


def write(
    to: Sequence[Destination], figures: Sequence[Figure], page: Callable[[], str]
) -> list[Path]:
    """Writes the figures to all destinations; returns the files. Raises `NetkvError` on failure.

    A directory gets an SVG and a PNG file with the name of each figure. Another file with the name
    of a figure contains that one, any other file all of them. `page` returns the HTML.
    """
    written: list[Path] = []
    for each in to:
        if each.kind == "directory":
            _make(each.path)
            for figure in figures:
                for kind in ("svg", "png"):
                    file = each.path / f"{figure.name}.{kind}"
                    written.append(_written(file, kind, [figure], page))
        else:
            named = [figure for figure in figures if figure.name == each.path.stem]
            written.append(_written(each.path, each.kind, named or figures, page))
    return written


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise NetkvError(f"The directory {directory} cannot be made: {reason}.") from error


def _written(file: Path, kind: str, figures: Sequence[Figure], page: Callable[[], str]) -> Path:
    if kind == "html":
        content = page().encode()
    else:
        # Imported here: other commands need not wait for matplotlib.
        from netkv.report.drawing import draw

        content = draw(figures, _DRAWN[kind])
    try:
        file.write_bytes(content)
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    return file
