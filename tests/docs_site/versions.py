"""Puts a built site beside those of other versions: `python -m tests.docs_site.versions`.

FOLDER/versions.json     what the menu of versions on each page reads (the form of mike)
FOLDER/VERSION/          the site of a version
FOLDER/index.html        leads to the newest release, or to `dev` if there is none
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

_RELEASE = re.compile(r"\d+(\.\d+)*")


def add(folder: Path, site: Path, version: str) -> None:
    """Adds a site, or replaces the one of the same version."""
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version)
    listed = folder / "versions.json"
    known = json.loads(listed.read_text()) if listed.exists() else []
    names = sorted({version, *(each["version"] for each in known)}, key=_order, reverse=True)
    newest = next((name for name in names if _RELEASE.fullmatch(name)), names[0])
    entries = [
        {"version": name, "title": name, "aliases": ["latest"] if name == newest else []}
        for name in names
    ]
    listed.write_text(json.dumps(entries, indent=2))
    (folder / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={newest}/">'
        f'<title>netkv</title><a href="{newest}/">netkv {newest}</a>\n'
    )


def _order(version: str) -> tuple[bool, list[int]]:
    """Releases by their numbers; `dev` is first in the menu."""
    release = _RELEASE.fullmatch(version) is not None
    return not release, [int(part) for part in re.findall(r"\d+", version)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.docs_site.versions")
    parser.add_argument("folder", type=Path)
    parser.add_argument("site", type=Path)
    parser.add_argument("version")
    options = parser.parse_args()
    add(options.folder, options.site, options.version)
