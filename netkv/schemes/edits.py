"""Mutants of P4 programs and control planes: one rule broken by an edit of the source text.

Rules
-----
1. The text that an edit replaces occurs exactly once in its file. A rewrite of the file cannot make
   the edit void: it is refused then.
2. A P4 program is compiled from a copy of its file. The file that ships is not touched.
3. Functions of Python get the code of the edited file while the mutant is in force, and their own
   code afterwards. So an edit is inside a function or method.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from netkv import resources
from netkv.schemes.scheme import Broken, Scheme


class Edit(NamedTuple):
    """A rule broken by one edit."""

    name: str
    rule: str
    """The rule that it breaks, as a clause without a full stop."""
    file: str
    """Below `p4/` or `netkv/`, with that folder: `p4/common/frame.p4`."""
    right: str
    """The text that ships."""
    wrong: str
    """What stands there instead."""

    @property
    def path(self) -> Path:
        """The file that ships."""
        kind, _, below = self.file.partition("/")
        return (resources.path("p4") if kind == "p4" else resources.package()) / below

    @property
    def is_program(self) -> bool:
        """Whether the file is part of a P4 program."""
        return self.path.suffix == ".p4"

    def text(self) -> str:
        """The edited file; raises `ValueError` if its place is not found exactly once."""
        text = self.path.read_text(encoding="utf-8")
        if (count := text.count(self.right)) != 1:
            raise ValueError(f"{self.file} has {count} times: {self.right}")
        return text.replace(self.right, self.wrong)


def mutants(edits: Sequence[Edit]) -> Mapping[str, Broken]:
    """The mutants of a scheme, by name."""
    return {edit.name: partial(_broken, edit) for edit in edits}


@contextmanager
def _broken(edit: Edit, scheme: Scheme) -> Iterator[Scheme]:
    if edit.is_program:
        yield with_programs(edit, scheme)
    else:
        with changed_code(edit):
            yield scheme


# ----------------------------------------------------------------------------- P4 programs


def with_programs(edit: Edit, scheme: Scheme) -> Scheme:
    """The scheme with programs that have the edit."""
    others = {tier: str(program(edit, path)) for tier, path in scheme.programs.others.items()}
    main = str(program(edit, scheme.programs.main))
    return replace(scheme, programs=replace(scheme.programs, main=main, others=others))


def program(edit: Edit, main: str) -> Path:
    """A copy of the program with the path `main` below `p4/` that has the edit."""
    text = (resources.path("p4") / main).read_text(encoding="utf-8")
    folder = Path(_folder(edit).name)
    copy = folder / Path(main).name
    copy.write_text(edit.text() if edit.file == f"p4/{main}" else text, encoding="utf-8")
    return copy


@functools.cache
def _folder(edit: Edit) -> tempfile.TemporaryDirectory[str]:
    """A folder with the edited file, where an `#include` finds it first. Removed at exit."""
    folder = tempfile.TemporaryDirectory(prefix="netkv-mutant-")
    copy = Path(folder.name) / edit.file.removeprefix("p4/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(edit.text(), encoding="utf-8")
    return folder


# ---------------------------------------------------------------------------------- Python


@contextmanager
def changed_code(edit: Edit) -> Iterator[None]:
    """Functions have the code of the edited file."""
    module = importlib.import_module(edit.file.removesuffix(".py").replace("/", "."))
    before = compile(edit.path.read_text(encoding="utf-8"), str(edit.path), "exec")
    after = compile(edit.text(), str(edit.path), "exec")
    changed = [
        (function, function.__code__, code)
        for name, code in _functions(after).items()
        if code != _functions(before).get(name)
        and (function := _function(module, name)) is not None
    ]
    if not changed:
        raise ValueError(f"{edit.file}: the edit is in no function: {edit.right}")
    try:
        for function, _, code in changed:
            function.__code__ = code
        yield
    finally:
        for function, code, _ in changed:
            function.__code__ = code


def _functions(code: CodeType) -> dict[str, CodeType]:
    """The code of functions and of methods of classes, by qualified name."""
    found: dict[str, CodeType] = {}
    for each in code.co_consts:
        if isinstance(each, CodeType) and "<" not in each.co_name:
            # Functions run in new locals, classes do not.
            is_function = bool(each.co_flags & inspect.CO_NEWLOCALS)
            found |= {each.co_qualname: each} if is_function else _functions(each)
    return found


def _function(module: ModuleType, name: str) -> FunctionType | None:
    """The function with a qualified name; None if the module does not keep it under this name."""
    found: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)
    unwrap: Callable[[Any], Any] = lambda it: (  # noqa: E731
        getattr(it, "fget", None) or getattr(it, "__func__", None) or it
    )
    found = inspect.unwrap(unwrap(found)) if found is not None else None
    return found if isinstance(found, FunctionType) else None
