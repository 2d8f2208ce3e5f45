"""Compiles programs of p4/ with a defect: an edit of one piece of text."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TypeAlias

from netkv import _engine

PROGRAMS = Path(__file__).parents[2] / "p4"

Patch: TypeAlias = tuple[str, str, str]
"""A defect: a file below p4/, a piece of its text, and what stands there instead."""


@cache
def compiled(main: str, defect: Patch | None = None) -> bytes:
    """The program in a file below p4/, with a defect. The text must occur exactly once: an edit
    that changes nothing, or several places, proves nothing."""
    if defect is None:
        return _engine.compile_p4(str(PROGRAMS / main), [str(PROGRAMS)])
    file, old, new = defect
    text = (PROGRAMS / file).read_text()
    assert text.count(old) == 1, f"{file} has {text.count(old)} times: {old}"
    with tempfile.TemporaryDirectory() as folder:
        for name, content in ((main, (PROGRAMS / main).read_text()), (file, text)):
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace(old, new) if name == file else content)
        return _engine.compile_p4(str(Path(folder) / main), [folder, str(PROGRAMS)])
