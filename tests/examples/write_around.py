"""Installs the package of examples/write-around into a folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.docs.documents import ROOT

PACKAGE = ROOT / "examples/write-around"
_KINDS = {".py", ".p4", ".toml", ".yaml"}


def files() -> dict[str, str]:
    """The text of each file of the package, by path."""
    found = (path for path in sorted(PACKAGE.rglob("*")) if path.suffix in _KINDS)
    return {str(path.relative_to(PACKAGE)): path.read_text() for path in found}


def install(folder: Path) -> None:
    """Writes the files and the metadata that an installer would make from `pyproject.toml`.

    The caller adds the folder to the search path. A real installer needs a build backend, which
    tests without a network do not have.
    """
    for path, text in files().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    project = tomllib.loads(files()["pyproject.toml"])["project"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        line
        for group, members in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in members.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(points) + "\n")
