"""Compilation of a program that a request supplies as text.

Rules
-----
1. An `#include` names a file of the request or one that ships, by a relative path without `..`. It
   is checked in the text before the compiler sees it, so that the message names the field of the
   request. The compiler itself includes only files below the directories that it searches,
   whatever the text is and also by a macro (`compile_source`), so that no other file of the server
   is read, and nothing shows whether one exists.
2. Messages name the file of the program `program.p4`, and other files as `#include` names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from netkv import resources
from netkv.api.errors import RequestFieldError
from netkv.api.models.programs import MAX_SOURCE, Diagnostic, ProgramCheck, SourceText
from netkv.api.programs import interface

NAME = "program.p4"

_ANY_NAMED = re.compile(r"""include\s*(?:"([^"\n]*)|<([^>\n]*))""")
_PATH = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:/[A-Za-z0-9_][\w.+-]*)*", re.ASCII)


def check(request: SourceText) -> ProgramCheck:
    """Compile a program; its errors are part of the result."""
    from netkv import _engine

    try:
        bundle = compiled(request.source, request.files, request.defines)
    except _engine.CompileError as error:
        found = [_diagnostic(each) for each in error.diagnostics]
        warnings = [each for each in found if each.severity != "error"]
        errors = [each for each in found if each.severity == "error"]
        return ProgramCheck(ok=False, errors=errors, warnings=warnings, interface=None)
    warnings = [_diagnostic(each) for each in interface.document(bundle)["warnings"]]
    return ProgramCheck(
        ok=True, errors=[], warnings=warnings, interface=interface.of(bundle, shown)
    )


def compiled(source: str, files: Mapping[str, str], defines: Mapping[str, str]) -> bytes:
    """The bundle of a program; the process must be in an empty directory, where `files` go.

    Raises `CompileError`, and `RequestFieldError` for files that a request may not include.
    """
    from netkv import _engine

    if len(source) + sum(map(len, files.values())) > MAX_SOURCE:
        raise RequestFieldError(
            f"The program and its files have more than {MAX_SOURCE:,} characters.", "files"
        )
    for name, text in files.items():
        if not _PATH.fullmatch(name) or name == NAME:
            raise RequestFieldError(f"'{name}' is no path of a file, as 'parts/cache.p4'.", "files")
        check_includes(name, text, f"files.{name}")
    check_includes(NAME, source, "source")
    for name, text in files.items():
        file = Path(name)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except (OSError, UnicodeEncodeError) as error:
            raise RequestFieldError(f"'{name}' cannot be a file: {error}.", "files") from error
    return _engine.compile_source(NAME, source, [str(resources.path("p4"))], dict(defines))


def shown(file: str) -> str:
    """The name of a file in messages."""
    path, shipped = Path(file), resources.path("p4")
    return str(path.relative_to(shipped)) if path.is_relative_to(shipped) else file


def without_paths(text: str) -> str:
    """A message without the path of the folder of programs."""
    return text.replace(str(resources.path("p4")), "p4").replace("searched: '', ", "searched: ")


def check_includes(file: str, text: str, field: str) -> None:
    """Raises `RequestFieldError` for an include that rule 1 forbids.

    The preprocessor takes the name after the first `include` of a line, whatever stands before it,
    so every `include` with a name counts here, in comments, too.
    """
    names = [found[1] or found[2] or "" for found in _ANY_NAMED.finditer(text)]
    for name in names:
        path = name.rstrip('">')
        if not _PATH.fullmatch(path) or ".." in PurePosixPath(path).parts:
            raise RequestFieldError(
                f"{file}: '{path[:60]}' cannot be included: name a file of the request or one that "
                f'ships with netkv, as "common/wire.p4".',
                field,
            )


def _diagnostic(found: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(
        severity=found.get("severity", "error"),
        file=shown(found.get("file", "")),
        line=found.get("line", 0),
        column=found.get("column", 0),
        message=without_paths(found["message"]),
        source_line=found.get("source_line"),
        help=found.get("help"),
    )
