"""The benchmarks as jobs: each is a command."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from netkv.api.errors import NotFoundError
from netkv.api.jobs.commands import Command
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
    from netkv.cli import bench, bench_all, p4_bench

    functions: dict[str, Callable[..., Any]] = {
        "bench": bench_all.every,
        "p4 bench": p4_bench.bench,
    }
    for each in bench.app.registered_commands:
        assert each.callback is not None
        functions[f"bench {each.name or each.callback.__name__}"] = each.callback
    return Command(entry.name, functions[entry.name])
