"""All benchmarks that say how fast netkv is, one after the other: `netkv bench`.

Each is measured as its own command measures it, and its whole document is part of the result. Its
main figures come with the goals of the project, where there are any. Racks of other sizes, sweeps
and benchmarks that describe something else (a design for FPGAs, memcached, multigets, network
interfaces) have commands of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from netkv.bench.benchmark import Benchmark, Figure, Progress, Table
from netkv.bench.result import Machine, this_machine
from netkv.bench.stores import NotInstalledError
from netkv.errors import NetkvError

_REACHED = {True: "reached", False: "not reached", None: ""}


class Part(BaseModel):
    """The result of one benchmark, or the sentence why there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    benchmark: str
    """Its command, below `netkv`."""
    figures: list[Figure] = []
    document: dict[str, Any] | None = None
    """What the command prints with `--json`."""
    left_out: list[str] = []
    """Sentences about what was not measured, because a program is not installed."""
    failed: str | None = None
    """The sentence of the error with which it ended."""


class Suite(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    parts: list[Part]

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return self.model_dump(mode="json")


def run(benchmark: Benchmark, seconds: float | None, progress: Progress) -> Part:
    """Measures a benchmark, with some seconds of load for each row (None: the usual).

    An error is in the result, so that others can be measured.
    """
    name = benchmark.name
    try:
        found = benchmark.run_in_suite(seconds, progress)
    except NotInstalledError as error:
        return Part(benchmark=name, left_out=[str(error)])
    except NetkvError as error:
        return Part(benchmark=name, failed=str(error))
    return Part(
        benchmark=name,
        figures=list(found.figures),
        document=found.document,
        left_out=list(found.left_out),
    )


def document(parts: Sequence[Part]) -> Suite:
    """The document of these results."""
    return Suite(machine=this_machine(), parts=list(parts))


def table(parts: Sequence[Part]) -> Table:
    """A line for each main figure, with its goal."""
    rows = [
        (
            "" if at else f"netkv {part.benchmark}",
            figure.name,
            _number(figure, figure.value),
            _goal(figure),
            _REACHED[figure.reached],
        )
        for part in parts
        for at, figure in enumerate(part.figures)
    ]
    return Table(("benchmark", "figure", "value", "goal", ""), rows, names=2)


def _goal(figure: Figure) -> str:
    if figure.at_least is not None:
        return f"at least {_number(figure, figure.at_least)}"
    return "" if figure.at_most is None else f"at most {_number(figure, figure.at_most)}"


def _number(figure: Figure, value: float) -> str:
    return f"{value:.2f} {figure.unit}".rstrip()
