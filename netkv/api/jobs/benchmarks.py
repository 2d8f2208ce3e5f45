"""The benchmarks as jobs: each is a command."""

from __future__ import annotations

from functools import cache

from netkv.api.errors import NotFoundError
from netkv.api.jobs.commands import Command, function
from netkv.bench import catalogue
from netkv.bench.catalogue import Entry
from netkv.errors import suggest


def find(name: str) -> Entry:
    """The benchmark of that name in the API; raises `NotFoundError`."""
    known = {each.id: each for each in catalogue.ENTRIES}
    if name not in known:
        raise NotFoundError(
            f"There is no benchmark '{name}'. {suggest(name, known, label='Benchmarks')}"
        )
    return known[name]


@cache
def command(entry: Entry) -> Command:
    """The command of a benchmark."""
    return Command(entry.name, function(entry.place))
