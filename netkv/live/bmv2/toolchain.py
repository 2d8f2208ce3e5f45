"""Finds the programs that the target `bmv2` needs; errors describe how to install them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import NetkvError
from netkv.live.bmv2 import compile_service

COMPILERS = ("p4c-bm2-ss", "p4c")
CHOSEN = "NETKV_P4C"
"""Variable with the path of another p4c, or with a folder (`compile_service`)."""
SWITCH = "simple_switch_grpc"
HOW_TO_GET = (
    "Debian and Ubuntu have both as the packages p4lang-p4c and p4lang-bmv2 of the repository "
    "https://build.opensuse.org/project/show/home:p4lang, and 'docker compose up' brings a lab "
    "with both (docs/use/bmv2.md). The target 'engine' needs neither."
)
_TIMEOUT_S = 120.0


class MissingError(NetkvError):
    """A program that is not on PATH."""


@dataclass(frozen=True)
class Compiler:
    """p4c, as `p4c-bm2-ss`, through its driver `p4c`, or elsewhere."""

    path: str
    """The program, or the folder of one that is elsewhere."""
    version: str

    @property
    def is_driver(self) -> bool:
        """Whether it is `p4c`, which needs the target as an option."""
        return Path(self.path).name == "p4c" and not self.is_service

    @property
    def is_service(self) -> bool:
        """Whether it compiles what is put into a folder."""
        return Path(self.path).is_dir()


@dataclass(frozen=True)
class Switch:
    """simple_switch_grpc."""

    path: str
    version: str
    thrift: bool
    """Whether it was built with a Thrift server, through which queue depths are set."""


def compiler(program: str | None = None) -> Compiler:
    """This p4c, that of `NETKV_P4C`, or the first of `COMPILERS` on PATH; raises `MissingError`."""
    program = program or os.environ.get(CHOSEN)
    if program is not None and Path(program).is_dir():
        folder = Path(program).absolute()
        return Compiler(str(folder), _first_version(compile_service.version(folder)))
    names = COMPILERS if program is None else (program,)
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None and program is not None:
        raise MissingError(f"'{program}' cannot be executed: give the path of a p4c.")
    if found is None:
        raise MissingError(
            f"The target 'bmv2' needs p4c: neither '{COMPILERS[0]}' nor '{COMPILERS[1]}' is on "
            f"PATH.\n  {HOW_TO_GET}"
        )
    return Compiler(found, _first_version(_output(found, "--version")))


def switch(program: str = SWITCH) -> Switch:
    """simple_switch_grpc on PATH, or at this one; raises `MissingError`."""
    found = shutil.which(program)
    if found is None and program != SWITCH:
        raise MissingError(f"'{program}' cannot be executed: give the path of a {SWITCH}.")
    if found is None:
        raise MissingError(f"The target 'bmv2' needs '{SWITCH}' on PATH.\n  {HOW_TO_GET}")
    options = _output(found, "--help")
    if "--dp-grpc-server-addr" not in options:
        raise NetkvError(
            f"'{found}' has no option '--dp-grpc-server-addr', through which frames get to its "
            f"ports. Every bmv2 since 2018 has it, so this may be another program."
        )
    version = _output(found, "--version").strip().splitlines()
    return Switch(found, version[-1] if version else "unknown", "--thrift-port" in options)


def _first_version(text: str) -> str:
    """`1.2.5 (SHA: …)` from the output of `p4c --version`."""
    for line in text.splitlines():
        _, found, version = line.partition("Version ")
        if found:
            return version.strip()
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "unknown"


def _output(program: str, option: str) -> str:
    """The output of a program; raises `NetkvError` if it cannot run."""
    try:
        done = subprocess.run(
            [program, option],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NetkvError(f"'{program} {option}' does not run: {error}") from error
    text = done.stdout + done.stderr
    if done.returncode < 0 or "error while loading shared libraries" in text:
        raise NetkvError(
            f"'{program} {option}' does not run: "
            f"{text.strip().splitlines()[-1] if text.strip() else f'signal {-done.returncode}'}"
        )
    return text
