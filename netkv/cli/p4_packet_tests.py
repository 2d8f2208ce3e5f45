"""`netkv p4 stf DIRECTORY`: all packet tests of a folder in parallel, with a table.

A test is a `NAME.stf` beside its `NAME.p4`, as in p4c's `testdata/p4_16_samples`. A program that
includes another architecture than v1model is left out.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from netkv.cli.output import notify, print_json, stdout

if TYPE_CHECKING:
    from collections.abc import Callable

    from netkv import _engine

Outcome = Literal["passed", "failed", "refused", "left out"]

_STYLES: dict[Outcome, str] = {"failed": "red", "refused": "red", "left out": "dim"}
_OTHER_ARCHITECTURE = re.compile(r'#\s*include\s*[<"](?:\S*/)?(psa|pna|ubpf_model|ebpf_model)\.p4')


class Engine(NamedTuple):
    """What runs the tests."""

    executor: str
    stop_on_assert: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One packet test."""

    test: Path
    outcome: Outcome
    packets: int = 0
    reason: str = ""
    """Why it did not pass: the first error of the compiler, or the first difference. If it passed:
    the first assertion that was false."""

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "test": str(self.test),
            "outcome": self.outcome,
            "packets": self.packets,
            "reason": self.reason,
        }


def run(
    folder: Path, engine: Engine, compile_program: Callable[[Path], bytes], *, json: bool
) -> bool:
    """Run the tests of a folder and its subfolders, and print them. False if one did not pass."""
    from netkv.errors import UsageError

    tests = sorted(test for test in folder.rglob("*.stf") if test.with_suffix(".p4").is_file())
    if not tests:
        raise UsageError(f"There is no NAME.stf beside a NAME.p4 in '{folder}'.")
    # The engine releases the GIL while it compiles and runs.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(partial(_run, engine, compile_program), tests))
    counts = {
        outcome: sum(result.outcome == outcome for result in results)
        for outcome in ("passed", "failed", "refused", "left out")
    }
    ok = counts["failed"] == counts["refused"] == 0
    if json:
        documents = [result.to_json() for result in results]
        print_json({"ok": ok, "executor": engine.executor, "counts": counts, "tests": documents})
        return ok
    from rich.table import Table
    from rich.text import Text

    table = Table("test", "packets", "outcome", "reason", box=None, pad_edge=False)
    for result in results:
        table.add_row(
            Text(str(result.test.relative_to(folder))),
            str(result.packets or ""),
            Text(result.outcome, style=_STYLES.get(result.outcome, "green")),
            Text(result.reason),
        )
    stdout().print(table)
    tried = len(results) - counts["left out"]
    rest = f", {counts['left out']} for another architecture" if counts["left out"] else ""
    notify(
        f"{counts['passed']} of {tried} tests pass; {counts['failed']} fail, "
        f"{counts['refused']} programs are refused{rest}."
    )
    return ok


def told(assertion: _engine.FailedAssertion) -> str:
    """A sentence about an assertion that was false."""
    times = "once" if assertion["times"] == 1 else f"{assertion['times']:,} times"
    return f"The assertion at {assertion['place']} was false {times}."


def _run(engine: Engine, compile_program: Callable[[Path], bytes], test: Path) -> Result:
    from netkv import _engine
    from netkv.errors import UsageError

    program = test.with_suffix(".p4")
    try:
        if _OTHER_ARCHITECTURE.search(program.read_text(encoding="utf-8")):
            return Result(test, "left out", reason="another architecture than v1model")
        text = test.read_text(encoding="utf-8")
        bundle = compile_program(program)
    except _engine.CompileError as error:
        found = [it for it in getattr(error, "diagnostics", []) if it["severity"] == "error"]
        reason = f"line {found[0]['line']}: {found[0]['message']}" if found else str(error)
        return Result(test, "refused", reason=reason)
    except (OSError, UnicodeDecodeError, UsageError) as error:
        return Result(test, "refused", reason=str(error))
    try:
        result = _engine.run_stf(bundle, text, test.name, *engine)
    except ValueError as error:
        return Result(test, "failed", reason=str(error))
    wrong, assertions = result["mismatches"], [told(it) for it in result["failed_assertions"]]
    failed = bool(wrong or (engine.stop_on_assert and assertions))
    reason = [*(it.splitlines()[0] for it in wrong[:1]), *assertions[:1], ""][0]
    return Result(test, "failed" if failed else "passed", result["packets"], reason)
