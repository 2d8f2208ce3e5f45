"""`netkv p4 corpus DIRECTORY`: which programs of a folder compile, and why the others do not.

Each program is compiled in a process with the limits that programs of requests have (time and
memory, see `netkv.api.sandbox`), so that one program cannot stop the others. A process
compiles many programs; after a program that exceeds a limit, a new one goes on.

A program is a `.p4` file that instantiates `main`. Files without it are parts of programs, and
programs that include another architecture than v1model are left out.
"""

from __future__ import annotations

import re
import resource
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.p4_source import Defines, Includes, compile_source
from netkv.worker_process import WorkerProcess, cores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

Outcome = Literal["accepted", "refused", "limit", "crashed", "left out"]
OUTCOMES: tuple[Outcome, ...] = ("accepted", "refused", "limit", "crashed", "left out")

_STYLES: dict[Outcome, str] = {
    "accepted": "green",
    "refused": "red",
    "limit": "bold red",
    "crashed": "bold red",
    "left out": "dim",
}
_MAIN = re.compile(r"\bmain\s*;")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ARCHITECTURE = re.compile(r'#\s*include\s*[<"](?:\S*/)?(\w+)\.p4[>"]')
_OTHERS = frozenset(
    {
        "psa", "pna", "tna", "t2na", "tofino", "tofino1_arch", "tofino2_arch", "ubpf_model",
        "ebpf_model", "xdp_model", "very_simple_model", "simple_sume_switch", "sume_switch",
    }
)  # fmt: skip
_NAMES = re.compile(r"'[^']*'")


@dataclass(frozen=True, slots=True)
class Result:
    """One program."""

    program: Path
    outcome: Outcome
    reason: str = ""
    """The message of the first error, or the limit."""
    file: str = ""
    line: int = 0

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "program": str(self.program),
            "outcome": self.outcome,
            "reason": self.reason,
            "file": self.file,
            "line": self.line,
        }


def corpus(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIRECTORY", help="A folder of P4_16 programs."),
    ],
    include: Includes = None,
    define: Defines = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Time for one program.")
    ] = 20.0,
    json: Json = False,
) -> None:
    """Compile all programs of a folder in parallel, with a table of what is refused and why.

    Exit status 1 if a program exceeds a limit or ends its process; refused programs are a result.
    """
    from netkv.errors import UsageError

    if not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder.")
    programs = sorted(file for file in folder.rglob("*.p4") if file.is_file() and _has_main(file))
    if not programs:
        raise UsageError(f"No .p4 file in '{folder}' instantiates 'main'.")
    results = _compile_all(programs, include, define, seconds)
    counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES}
    ok = counts["limit"] == counts["crashed"] == 0
    if json:
        reasons = [{"reason": reason, "programs": number} for reason, number in _reasons(results)]
        documents = [result.to_json() for result in results]
        print_json({"ok": ok, "counts": counts, "reasons": reasons, "programs": documents})
    else:
        _show(folder, results, counts)
    if not ok:
        raise typer.Exit(1)


def _show(folder: Path, results: Sequence[Result], counts: dict[Outcome, int]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("program", "outcome", "where", "reason", box=None, pad_edge=False)
    for result in results:
        if result.outcome in ("accepted", "left out"):
            continue
        where = f"{Path(result.file).name}:{result.line}" if result.line else ""
        table.add_row(
            Text(str(result.program.relative_to(folder))),
            Text(result.outcome, style=_STYLES[result.outcome]),
            Text(where),
            Text(result.reason),
        )
    if table.row_count:
        stdout().print(table)
        stdout().print()
        reasons = Table("programs", "reason, with ... for names", box=None, pad_edge=False)
        for reason, number in _reasons(results):
            reasons.add_row(str(number), Text(reason))
        stdout().print(reasons)
    tried = len(results) - counts["left out"]
    rest = f", {counts['left out']} for another architecture" if counts["left out"] else ""
    beyond = counts["limit"] + counts["crashed"]
    notify(
        f"{counts['accepted']} of {tried} programs are accepted; {counts['refused']} are refused, "
        f"{beyond} exceed a limit or crash{rest}."
    )


def _reasons(results: Sequence[Result]) -> list[tuple[str, int]]:
    """Reasons with the names left out, and the number of their programs, most frequent first."""
    kinds = Counter(
        _NAMES.sub("...", result.reason)
        for result in results
        if result.outcome not in ("accepted", "left out")
    )
    return sorted(kinds.items(), key=lambda each: (-each[1], each[0]))


def _text(file: Path) -> str:
    try:
        return _COMMENT.sub(" ", file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""


def _has_main(file: Path) -> bool:
    return _MAIN.search(_text(file)) is not None


def _other_architecture(file: Path) -> str | None:
    """The architecture that a program includes, if v1model is not among those it includes."""
    names = [found[1] for found in _ARCHITECTURE.finditer(_text(file))]
    others = [name for name in names if name in _OTHERS]
    return others[0] if others and "v1model" not in names else None


def _compile_all(
    programs: Sequence[Path],
    include: list[Path] | None,
    define: list[str] | None,
    seconds: float,
) -> list[Result]:
    options = [path.absolute() for path in include or []], list(define or [])
    free: SimpleQueue[_Compiler] = SimpleQueue()
    number = min(cores(), len(programs))
    for _ in range(number):
        free.put(_Compiler(seconds))

    def compiled(program: Path) -> Result:
        if (other := _other_architecture(program)) is not None:
            return Result(program, "left out", reason=f"for {other}.p4")
        compiler = free.get()
        try:
            return compiler.compile(program, *options)
        finally:
            free.put(compiler)

    try:
        with ThreadPoolExecutor(number) as pool:
            return list(pool.map(compiled, programs))
    finally:
        for _ in range(number):
            free.get().end()


class _Compiler:
    """A process that compiles one program after the other, and its successors."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: WorkerProcess | None = None

    def compile(self, program: Path, include: list[Path], define: list[str]) -> Result:
        from netkv.api.sandbox import MEMORY
        from netkv.worker_process import ended_how

        if self._process is None:
            self._process = WorkerProcess(_work)
            # The time of a program does not include the start of its process.
            self._process.pipe.recv()
        process = self._process
        process.send((program, include, define))
        if not process.pipe.poll(self._seconds):
            self.end()
            return Result(program, "limit", f"It takes longer than {self._seconds:g} s.")
        try:
            found: Result = process.pipe.recv()
        except (EOFError, ConnectionError):
            how = ended_how(process.end(5))
            self._process = None
            return Result(program, "crashed", f"The process ended {how}.")
        if found.outcome == "limit":
            limit = f"It needs more than {MEMORY >> 30} GiB of memory."
            return Result(program, "limit", limit)
        return found

    def end(self) -> None:
        if self._process is not None:
            self._process.end(0)
            self._process = None


def _work(pipe: Connection) -> None:
    """The process: a result for each program that comes."""
    from netkv import _engine
    from netkv.api.sandbox import MEMORY
    from netkv.errors import UsageError

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send(None)
    while True:
        try:
            program, include, define = pipe.recv()
        except EOFError:
            return
        try:
            compile_source(program, include, define)
            result = Result(program, "accepted")
        except _engine.CompileError as error:
            errors = [it for it in error.diagnostics if it["severity"] == "error"]
            first: dict[str, Any] = (
                errors[0] if errors else {"message": str(error), "file": "", "line": 0}
            )
            result = Result(program, "refused", first["message"], first["file"], first["line"])
        except (OSError, UnicodeDecodeError, UsageError) as error:
            result = Result(program, "refused", str(error))
        except MemoryError:
            result = Result(program, "limit")
        except BaseException as error:
            result = Result(program, "crashed", f"{type(error).__name__}: {error}")
        pipe.send(result)
