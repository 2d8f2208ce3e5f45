"""The routes of benchmarks."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from netkv.api.context import Context, Current
from netkv.api.models.benchmarks import Benchmark
from netkv.api.models.jobs import CommandRequest, Job
from netkv.api.parameters import Name
from netkv.api.problems import responses

routes = APIRouter(tags=["benchmarks"])


@routes.get("/benchmarks")
def list_benchmarks() -> list[Benchmark]:
    """The benchmarks of netkv itself, each a command."""
    from netkv.api.jobs import benchmarks

    return [
        Benchmark(
            id=each.id,
            name=each.name,
            title=each.title,
            measures=each.measures,
            against=each.against,
            seconds=each.seconds,
            in_suite=each.in_suite,
            needs=list(each.needs),
            options_schema=each.command.schema,
        )
        for each in benchmarks.entries()
    ]


@routes.post("/benchmarks/{name}", status_code=202, responses=responses(404, 422, 429))
async def start_benchmark(context: Current, name: Name, request: CommandRequest) -> Job:
    """Run a benchmark as a job, as its command does with `--json`. Its result is the document
    that the command prints."""
    return await asyncio.to_thread(_submit, context, name, request)


def _submit(context: Context, name: str, request: CommandRequest) -> Job:
    from netkv.api.jobs import benchmarks

    entry = benchmarks.find(name)
    command = entry.command.line(request.options)
    return context.jobs.submit(
        kind="benchmark",
        title=entry.name,
        request={"benchmark": entry.id, "options": request.options},
        command=lambda _id, _directory: command,
        # The estimate is for the options of the benchmark itself.
        expected_seconds=None if request.options else entry.seconds,
    )
