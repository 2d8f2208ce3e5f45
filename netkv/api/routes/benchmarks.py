"""The routes of benchmarks."""

from __future__ import annotations

from fastapi import APIRouter

from netkv.api.context import Context
from netkv.api.models.benchmarks import Benchmark


def router(_context: Context) -> APIRouter:
    """The routes of benchmarks."""
    routes = APIRouter(tags=["benchmarks"])

    @routes.get("/benchmarks")
    def list_benchmarks() -> list[Benchmark]:
        """The benchmarks of netkv itself, each a command."""
        from netkv.bench import catalogue

        return [
            Benchmark(
                name=each.name,
                title=each.title,
                measures=each.measures,
                against=each.against,
                seconds=each.seconds,
                in_suite=each.in_suite,
                needs=list(each.needs),
            )
            for each in catalogue.ENTRIES
        ]

    return routes
