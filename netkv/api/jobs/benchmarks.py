"""The benchmarks as jobs: each is a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from netkv.api.errors import NotFoundError
from netkv.api.jobs.commands import Command, function
from netkv.bench import catalogue
from netkv.errors import suggest


@dataclass(frozen=True)
class Entry:
    """A benchmark in the API: one of `netkv.bench.benchmarks`, or all of them together."""

    id: str
    name: str
    title: str
    measures: str
    against: str
    seconds: float
    needs: Sequence[str] = ()
    in_suite: bool = False

    @property
    def command(self) -> Command:
        """Its command."""
        return _command(self.name)


_ALL = Entry(
    id="all",
    name="bench",
    title="All main benchmarks",
    measures="the main figures of the data plane, end to end, simulator, gateway, Redis, RocksDB "
    "and commands, one after the other",
    against="the goals of the project",
    seconds=900,
)


def entries() -> list[Entry]:
    """All together, then each."""
    fields = list(Entry.__dataclass_fields__)
    each = catalogue.all_benchmarks()
    return [_ALL, *(Entry(**{name: getattr(it, name) for name in fields}) for it in each)]


def find(name: str) -> Entry:
    """The benchmark of that name in the API; raises `NotFoundError`."""
    known = {each.id: each for each in entries()}
    if name not in known:
        raise NotFoundError(
            f"There is no benchmark '{name}'. {suggest(name, known, label='Benchmarks')}"
        )
    return known[name]


@cache
def _command(name: str) -> Command:
    return Command(name, function("netkv.cli.bench:function")(name))
