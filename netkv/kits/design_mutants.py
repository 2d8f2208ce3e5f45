"""Mutants: a simulated design with one of its rules broken, to test tests and checkers.

Rules
-----
1. The RTL has no place for mutants. A mutant is one edit of its text or several, which are in
   `fpga/mutants/edits.toml`.
2. The text that an edit replaces occurs exactly once in its file, so a rewrite of the file cannot
   make the edit void: it is refused then.
3. One build has all mutants of a design: each edit is a choice by `mutant_pkg::ID` in a copy of its
   file. `REGISTER` chooses a mutant at run time; with 0 the copy does what the RTL does.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from netkv import library_cache
from netkv import rtl_sources as sources
from netkv.model.manifest import Manifest, Register

REGISTER = 0xFFFC
"""The address of the register that chooses a mutant."""

CHOICE = Register(
    name="mutant",
    address=REGISTER,
    access="wo",
    kind="setting",
    description="Number of the mutant; 0: none.",
)
"""That register."""

UNIT_BITS = 7
"""A unit of the registers of times has 2 to the power of this cycles."""


class Mutant(NamedTuple):
    """A deliberate defect."""

    number: int
    name: str
    rule: str
    """The rule of the design's document that it breaks."""


NONE = Mutant(0, "none", "the same build without a defect")


def design(of: Manifest, top: str, parameters: dict[str, Any]) -> Manifest:
    """A design with its mutants, which `netkv.fpga.build` builds as any other.

    `top`: the module in `fpga/mutants` around its top level, with its other parameters.
    """
    return Manifest.model_validate(
        of.model_dump()
        | {
            "idle": of.idle.model_dump() | {"time_unit_cycles": 1 << UNIT_BITS},
            "name": f"{of.name}-mutants",
            "title": f"{of.title}, with a rule broken for tests",
            "top": top,
            "rtl": [sources.folder() / "mutants", folder()],
            "parameters": {**parameters, "PRESCALE": UNIT_BITS},
            "registers": [*of.registers, CHOICE],
        }
    )


class Edit(NamedTuple):
    """The difference of a mutant at one place of the RTL."""

    mutant: int
    file: str
    """Below `fpga/rtl`."""
    right: str
    """The text that ships, between `«` and `»`; without them all of it. What is around them only
    makes the place unique. It is an expression, or statements."""
    wrong: str
    """What a mutant has there; `@` is the text that ships."""

    def place(self, text: str) -> tuple[int, int]:
        """Where the text that it replaces begins and ends; `ValueError` if it is not found once."""
        whole = self.right.replace("«", "").replace("»", "")
        if (count := text.count(whole)) != 1:
            raise ValueError(f"{self.file} has {count} times: {whole}")
        begin = text.index(whole)
        before = max(self.right.find("«"), 0)
        _, mark, behind = self.right.partition("»")
        return begin + before, begin + len(whole) - (len(behind) if mark else 0)


@functools.cache
def edits() -> tuple[Edit, ...]:
    """The edits of all mutants of the RTL."""
    text = (sources.folder() / "mutants" / "edits.toml").read_text(encoding="utf-8")
    return tuple(Edit(**each) for each in tomllib.loads(text)["edit"])


def places() -> set[int]:
    """The numbers of mutants in the RTL of all designs."""
    return {each.mutant for each in edits()}


def with_choices(text: str, edits: Iterable[Edit]) -> str:
    """The text of a file with its edits as choices.

    Raises:
        ValueError: the place of an edit is not found exactly once, or two places overlap.
    """
    chosen: dict[tuple[int, int], list[Edit]] = {}
    for edit in edits:
        chosen.setdefault(edit.place(text), []).append(edit)
    parts, end = [], 0
    for (begin, behind), mutants in sorted(chosen.items()):
        if begin < end:
            raise ValueError(f"{mutants[0].file}: edits overlap: {mutants[0].right}")
        parts += [text[end:begin], _choice(text[begin:behind], mutants)]
        end = behind
    return "".join([*parts, text[end:]])


def _choice(right: str, mutants: Iterable[Edit]) -> str:
    is_statement = right.endswith(";")
    choice = f"begin {right} end" if is_statement else f"({right})"
    for each in mutants:
        wrong = each.wrong.replace("@", right)
        if is_statement:
            choice = f"if (mutant_pkg::ID == {each.mutant}) begin {wrong} end else {choice}"
        else:
            choice = f"(mutant_pkg::ID == {each.mutant} ? ({wrong}) : {choice})"
    return choice


@functools.cache
def _copies() -> dict[str, str]:
    """The text of each file that has edits, in which they are choices, by the file's name."""
    copies = {}
    for file in sorted({each.file for each in edits()}):
        text = (sources.folder() / "rtl" / file).read_text(encoding="utf-8")
        mine = [each for each in edits() if each.file == file]
        copies[Path(file).name] = with_choices(text, mine)
    return copies


def folder() -> Path:
    """A folder with a copy of each file that has edits, in which they are choices."""
    copies = _copies()
    key = hashlib.sha256(repr(sorted(copies.items())).encode()).hexdigest()[:16]
    place = library_cache.folder() / f"mutants-{key}"
    if not place.exists():
        # A process that is interrupted leaves nothing that counts.
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as new:
            copy = Path(new) / "rtl"
            copy.mkdir()
            for name, text in copies.items():
                (copy / name).write_text(text, encoding="utf-8")
            with contextlib.suppress(OSError):  # another process was faster
                os.replace(copy, place)
    return place
