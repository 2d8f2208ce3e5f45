"""Writes the package of docs/extend/add-a-scheme.md into a folder."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.docs.documents import ROOT

DOCUMENT = ROOT / "docs/extend/add-a-scheme.md"
_FILE = re.compile(r"This is\n?\s?`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files() -> dict[str, str]:
    """The text of each file in the document, by path."""
    return dict(_FILE.findall(DOCUMENT.read_text()))


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
