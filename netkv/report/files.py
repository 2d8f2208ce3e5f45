"""Where figures are written to: SVG, PNG and HTML files, or a directory with files for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netkv.errors import NetkvError, UsageError
from netkv.report.figure import Figure

Kind = Literal["svg", "png", "html", "directory"]
_SUFFIXES: dict[str, Kind] = {".svg": "svg", ".png": "png", ".html": "html", ".htm": "html"}


@dataclass(frozen=True)
class Destination:
    """A file or directory that the user has named."""

    path: Path
    kind: Kind


def destination(path: Path, option: str = "--plot") -> Destination:
    """What the user means by a path; raises `UsageError`, so ask before anything takes its time."""
    if path.is_dir():
        return Destination(path, "directory")
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            f"{option} {path}: the name should end in '.svg', '.png' or '.html', "
            f"or be that of a directory that is there."
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: there is no directory '{path.parent}'.")
    return Destination(path, kind)


def write(
    to: Sequence[Destination], figures: Sequence[Figure], page: Callable[[], str]
) -> list[Path]:
    """Writes the figures everywhere; returns the files. Raises `NetkvError` if one cannot be.

    A directory gets an SVG and a PNG file for each figure, by its name. An SVG or PNG file that has
    the name of a figure gets that one, any other gets all of them. HTML is what `page` gives.
    """
    written: list[Path] = []
    for each in to:
        if each.kind == "directory":
            for figure in figures:
                for kind in ("svg", "png"):
                    file = each.path / f"{figure.name}.{kind}"
                    written.append(_written(file, kind, [figure], page))
        else:
            named = [figure for figure in figures if figure.name == each.path.stem]
            written.append(_written(each.path, each.kind, named or figures, page))
    return written


def _written(file: Path, kind: str, figures: Sequence[Figure], page: Callable[[], str]) -> Path:
    if kind == "html":
        content = page().encode()
    else:
        # Commands that draw nothing need not wait for matplotlib.
        from netkv.report.drawing import draw

        content = draw(figures, "svg" if kind == "svg" else "png")
    try:
        file.write_bytes(content)
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    return file
