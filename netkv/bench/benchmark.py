"""What a benchmark of netkv is. `netkv.bench.benchmarks` has a module for each.

Commands, the API, `netkv bench` and the tables of results are made from it. Help lists all
benchmarks, so this module and theirs import what takes long when they measure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from netkv.bench.result import Document

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the step that begins (from 0), the number of steps, and a label."""


@dataclass(frozen=True)
class Figure:
    """A main figure of a benchmark, a ratio if it has no unit; and its goal, if it has one."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most


@dataclass(frozen=True)
class Table:
    """A table of results, as texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    """Columns with names, at the left; the others are numbers."""


@dataclass(frozen=True)
class Outcome:
    """What a benchmark has measured."""

    document: dict[str, Any]
    """What its command prints with `--json`."""
    shown: Sequence[Table | str] = ()
    """What it prints without: tables, and lines."""
    left_out: Sequence[str] = ()
    """Sentences about what was not measured, because something is not installed."""
    remarks: Sequence[str] = ()
    """Other sentences beside the result."""
    figures: Sequence[Figure] = ()
    """Its main figures, for `netkv bench`."""
    result: Any = None
    """The same as objects, for `Benchmark.report`."""


class Benchmark(ABC):
    """A benchmark. The docstring of its class is the help of its command."""

    name: ClassVar[str]
    """Its command, below `netkv`."""
    title: ClassVar[str]
    measures: ClassVar[str]
    against: ClassVar[str]
    """What its figures are compared with; measured in turns with it, unless it is a goal."""
    seconds: ClassVar[float]
    """How long it takes with its default options: load of all rows and set-up, on two cores."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Programs and rights that it needs beside netkv."""
    order: ClassVar[int] = 1000
    """Sort key in lists, ascending; the name breaks ties."""
    in_suite: ClassVar[bool] = False
    """Whether `netkv bench` runs it."""
    plan: ClassVar[type[Any]]
    """A dataclass: the options of its command, as typer declares them (`Annotated`)."""
    completes: ClassVar[Mapping[str, str]] = {}
    """Options whose values the shell completes → the function of `netkv.cli.completion`."""
    report: ClassVar[str] = ""
    """The module above this package with its tables and figures: `shown(result)`,
    `figures(result)`, `render(result)`. Its command then has `--plot`. Empty: `Outcome.shown` has
    all."""
    marker: ClassVar[str] = ""
    """Name of its table in documents, into which its command can write the table (`--write`);
    empty: it cannot."""

    @abstractmethod
    def run(self, plan: Any, progress: Progress) -> Outcome:
        """Measures; raises `NetkvError`."""

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:
        """Measures for `netkv bench`, with some seconds of load for each row; None: the usual."""
        given = {} if seconds is None else {"seconds": seconds}
        return self.run(self.plan(**given), progress)

    @property
    def id(self) -> str:
        """Its name in the API: its command without the word `bench`."""
        return self.name.replace("bench", "").strip() or "all"


def results(found: Document) -> list[Table | str]:
    """A line for each row of a document, and its ratios."""
    rows = [
        (
            each.program,
            each.path,
            each.executor,
            f"{each.pps:,.0f}",
            *("" if ns is None else f"{ns / 1000:.1f}" for ns in (each.ns_p50, each.ns_p99)),
        )
        for each in found.results
    ]
    columns = ("program", "path", "executor", "a second", "p50 us", "p99 us")
    return [Table(columns, rows, names=3), *ratios(found.ratios)]


def ratios(of: Mapping[str, float], digits: int = 2) -> list[str]:
    """A line for each ratio."""
    return [f"{ratio:{digits + 4}.{digits}f}  {name}" for name, ratio in of.items()]


def figures(of: Mapping[str, float], at_least: Mapping[str, float] = {}) -> list[Figure]:
    """Ratios of a document as main figures; `at_least` has goals by name."""
    return [
        Figure(name=name.replace("_", " "), value=ratio, at_least=at_least.get(name))
        for name, ratio in of.items()
    ]
