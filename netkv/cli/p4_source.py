"""The source of a P4 program on a command line, compiled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from netkv.cli import completion

Program = Annotated[
    Path,
    typer.Argument(
        metavar="PROGRAM.p4", help="P4_16 for v1model.", autocompletion=completion.p4_files
    ),
]
Includes = Annotated[
    list[Path] | None,
    typer.Option(
        "--include", "-I", metavar="DIR", help="Further directory for #include; repeatable."
    ),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("--define", "-D", metavar="NAME[=VALUE]", help="Define a macro; repeatable."),
]
StopOnAssert = Annotated[
    bool,
    typer.Option(
        "--stop-on-assert",
        help="A false `assert` or `assume` of the program ends the switch, as bmv2 does.",
    ),
]


def compile_source(program: Path, include: list[Path] | None, define: list[str] | None) -> bytes:
    """The bundle; raises `CompileError`, and `UsageError` for a file that cannot be read."""
    from netkv import _engine, resources
    from netkv.errors import UsageError

    if not program.is_file():
        raise UsageError(f"There is no P4 program '{program}'.")
    macros: dict[str, str | None] = {}
    for item in define or []:
        name, equals, value = item.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"--define {item}: should look like NAME or NAME=VALUE.")
        macros[name] = value if equals else None
    folders = [*map(str, include or []), str(resources.path("p4"))]
    try:
        return _engine.compile_p4(str(program), folders, macros)
    except OSError as error:
        raise UsageError(f"{program} cannot be read: {error.strerror or error}.") from error


def compiled(program: Path, include: list[Path] | None, define: list[str] | None) -> bytes:
    """The bundle of a program; raises `NetkvError` with all errors of the compiler."""
    from netkv import _engine
    from netkv.errors import NetkvError

    try:
        return compile_source(program, include, define)
    except _engine.CompileError as error:
        raise NetkvError(f"{program} does not compile.\n{error}") from error


def read_text(file: Path) -> str:
    """The text of a file; raises `UsageError` if it cannot be read."""
    from netkv.errors import UsageError

    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error
