"""Writes the modules of each view into web/js/preload.js: python -m tests.web.modules

A browser finds a module only when the one that imports it has arrived. With the list, it requests
all of them at once.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

JS = Path(__file__).parents[2] / "web" / "js"
LIST = JS / "preload.js"
ENTRY = "main.js"
_STATIC = re.compile(r'^(?:import|export) [^;]*?from "(\.[^"]+)";', re.MULTILINE)
_VIEW = re.compile(
    r'^  (\w+): \{ title: "\w+", load: \(\) => import\("\./([^"]+)"\),', re.MULTILINE
)
_LISTS = re.compile(r"(?<=const MODULES = ).*?(?=;\n)", re.DOTALL)


def imported(entry: str) -> list[str]:
    """A module and all that it imports, directly or not, relative to web/js."""
    found = {entry: None}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        for path in _STATIC.findall((JS / name).read_text(encoding="utf-8")):
            other = str((JS / name).parent.joinpath(path).resolve().relative_to(JS.resolve()))
            if other not in found:
                found[other] = None
                waiting.append(other)
    return sorted(found)


def lists() -> dict[str, list[str]]:
    """The modules of each view, without those that every view needs, which are at `main`."""
    shared = imported(ENTRY)
    views = _VIEW.findall((JS / ENTRY).read_text(encoding="utf-8"))
    own = {name: [each for each in imported(path) if each not in shared] for name, path in views}
    return {"main": [each for each in shared if each != ENTRY], **own}


def text() -> str:
    """preload.js as it should be."""
    found = lists()
    rows = "\n".join(f"    {name}: {json.dumps(modules)}," for name, modules in found.items())
    return _LISTS.sub(lambda _: "{\n" + rows + "\n  }", LIST.read_text(encoding="utf-8"))


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
