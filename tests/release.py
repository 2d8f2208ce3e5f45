"""What a release needs: `python -m tests.release check TAG`, and `notes TAG` for its notes.

It has no dependency, so that the workflow runs it before anything is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


class NotReadyError(Exception):
    """The sources are not those of this release."""


def versions(root: Path) -> dict[str, str]:
    """The version that each file says, without those that say none."""
    package = re.search(r'^__version__ = "(.*)"$', (root / "netkv/__init__.py").read_text(), re.M)
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text(), re.M)
    cargo = tomllib.loads((root / "engine/Cargo.toml").read_text())
    found = {"engine/Cargo.toml": cargo["workspace"]["package"]["version"]}
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    if "version" in project:
        found["pyproject.toml"] = project["version"]
    if package:
        found["netkv/__init__.py"] = package[1]
    if cited:
        found["CITATION.cff"] = cited[1].strip('"')
    return found


def notes(root: Path, version: str) -> str:
    """The section of the changelog of a version; raises `NotReadyError` if there is none."""
    text = (root / "CHANGELOG.md").read_text()
    heading = re.escape(f"## netkv {version}, ")
    found = re.search(rf"^{heading}\d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        raise NotReadyError(
            f"CHANGELOG.md has no section '## netkv {version}, DATE'. "
            f"'towncrier build --version {version}' writes it."
        )
    return found[1].strip() + "\n"


def check(root: Path, tag: str) -> str:
    """The version of a tag; raises `NotReadyError` if the sources do not agree with it."""
    version = tag.removeprefix("v")
    wrong = {file: other for file, other in versions(root).items() if other != version}
    if wrong:
        named = ", ".join(f"{file} says {other}" for file, other in wrong.items())
        raise NotReadyError(f"The tag {tag} is not the version of the sources: {named}.")
    left = sorted(it.name for it in (root / "news").iterdir() if it.name != "README.md")
    if left:
        raise NotReadyError(f"The changelog lacks {', '.join(left)} of news/.")
    notes(root, version)
    return version


def main(part: str, tag: str) -> int:
    """Prints the version of a release, or its notes."""
    try:
        print(check(ROOT, tag) if part == "check" else notes(ROOT, tag.removeprefix("v")))
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
