"""Compiles P4 programs by p4c for bmv2, with a cache of the output.

The key of the cache is a hash of all inputs: compiler, source with its includes, macros, options.
The files are in `$NETKV_HOME/cache/p4c/HASH`: `program.json` for bmv2, `program.p4info.bin` for
P4Runtime, and `warnings.txt`, which is shown each time.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netkv import resources
from netkv.errors import NetkvError
from netkv.home import home
from netkv.live.bmv2 import compile_service, toolchain
from netkv.p4rt import p4info

if TYPE_CHECKING:
    from netkv.schemes import Scheme
    from netkv.schemes.spec import LabSpec

_JSON, _P4INFO, _WARNINGS = "program.json", "program.p4info.bin", "warnings.txt"
_OPTIONS = ("--std", "p4-16")
_TIMEOUT_S = 600.0


class CompilerEndedError(NetkvError):
    """p4c has reached its time limit, or a signal has ended it: it has not judged the program."""


@dataclass(frozen=True)
class Compiled:
    """Files of one compilation."""

    config: Path
    """bmv2's JSON."""
    p4info: Path
    """P4Info, a serialized protobuf message."""
    warnings: str
    """The warnings that p4c has printed."""
    cached: bool
    """Whether the files were in the cache."""


def compile_program(
    program: Path,
    source_hash: str,
    defines: Mapping[str, str],
    includes: Sequence[Path] = (),
    compiler: toolchain.Compiler | None = None,
) -> Compiled:
    """Compiles a P4 program, or finds it in the cache.

    `source_hash` is that of the program with its includes (a bundle's), `includes` are directories
    beside netkv's own. Raises `NetkvError` with p4c's report, or if there is no p4c, and
    `CompilerEndedError`.
    """
    compiler = compiler or toolchain.compiler()
    place = _cache() / _key(compiler, source_hash, defines)
    if (place / _JSON).is_file():
        return _found(place, cached=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new-"))
        try:
            _run(compiler, program, defines, [resources.path("p4"), *includes], folder)
            # Another process may have stored the same files in the meantime.
            if not place.exists():
                folder.rename(place)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise NetkvError(f"The output of p4c cannot be kept in {place.parent}: {error}.") from error
    return _found(place, cached=False)


def compile_scheme(scheme: Scheme, lab: LabSpec) -> Compiled:
    """The program of a scheme for a lab; raises `NetkvError`."""
    bundle = scheme.compile(lab)
    source_hash = str(p4info.read_bundle(bundle)["source_hash"])
    return compile_program(scheme.program_path, source_hash, scheme.programs.defines(lab))


def _arguments(
    compiler: toolchain.Compiler,
    defines: Mapping[str, str],
    program: Path,
    includes: Sequence[Path],
) -> list[str]:
    """What p4c is told, to compile a program into the folder in which it runs."""
    target = ("--target", "bmv2", "--arch", "v1model") if compiler.is_driver else ()
    return [
        *target,
        *_OPTIONS,
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
        *(word for each in includes for word in ("-I", str(each))),
        "-o",
        # The driver takes a directory and names the JSON file after the program.
        "." if compiler.is_driver else _JSON,
        "--p4runtime-files",
        _P4INFO,
        str(program),
    ]


def _run(
    compiler: toolchain.Compiler,
    program: Path,
    defines: Mapping[str, str],
    includes: Sequence[Path],
    folder: Path,
) -> None:
    """Compiles a program into a folder."""
    program, includes = program.resolve(), [each.resolve() for each in includes]
    arguments = functools.partial(_arguments, compiler, defines)
    try:
        if compiler.is_service:
            status, report = _run_there(compiler, arguments, program, includes, folder)
        else:
            status, report = _run_here(compiler, arguments(program, includes), folder)
    except (subprocess.TimeoutExpired, TimeoutError) as error:
        raise CompilerEndedError(
            f"p4c has reached its time limit: it has not compiled {program} within "
            f"{_TIMEOUT_S:g} s."
        ) from error
    if compiler.is_driver and (made := folder / f"{program.stem}.json").is_file():
        made.rename(folder / _JSON)
    if status < 0:
        raise CompilerEndedError(
            f"Signal {-status} has ended p4c, which was compiling {program}.\n{report}"
        )
    if status != 0:
        raise NetkvError(
            f"{program} does not compile for bmv2 ({compiler.path} {compiler.version}):\n{report}"
        )
    if not (folder / _JSON).is_file() or not (folder / _P4INFO).is_file():
        raise NetkvError(
            f"{compiler.path} has compiled {program}, but its output is missing: expected "
            f"'{_JSON}' and '{_P4INFO}'.\n{report}"
        )
    (folder / _WARNINGS).write_text(report)


def _run_here(
    compiler: toolchain.Compiler, arguments: Sequence[str], folder: Path
) -> tuple[int, str]:
    """Exit status, below 0 for a signal, and output of a p4c of this machine."""
    done = subprocess.run(
        [compiler.path, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_S,
        stdin=subprocess.DEVNULL,
        cwd=folder,
    )
    return done.returncode, (done.stdout + done.stderr).strip()


def _run_there(
    compiler: toolchain.Compiler,
    arguments: Callable[[Path, Sequence[Path]], list[str]],
    program: Path,
    includes: Sequence[Path],
    folder: Path,
) -> tuple[int, str]:
    """The same of a p4c elsewhere."""
    with compile_service.request(Path(compiler.path), program, includes) as request:
        status, report = request.run(arguments(request.program, request.includes))
        for name in (_JSON, _P4INFO):
            if (made := request.place / name).is_file():
                shutil.copyfile(made, folder / name)
    return status, report.strip()


def _found(place: Path, *, cached: bool) -> Compiled:
    warnings = (place / _WARNINGS).read_text()
    return Compiled(place / _JSON, place / _P4INFO, warnings, cached)


def _cache() -> Path:
    return home() / "cache" / "p4c"


def _key(compiler: toolchain.Compiler, source_hash: str, defines: Mapping[str, str]) -> str:
    told = [compiler.path, compiler.version, source_hash, sorted(defines.items()), _OPTIONS]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]
