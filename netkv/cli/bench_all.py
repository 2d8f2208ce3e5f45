"""`netkv bench` without the name of a benchmark: all of them, one after the other."""

from __future__ import annotations

from typing import Annotated

import typer

from netkv.cli.output import Json, notify, print_json, stdout


def every(
    context: typer.Context,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.05,
            max=600,
            help="Seconds of load for each row of each benchmark (default: each one's own; "
            "0.1 for a first look).",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure how fast netkv is on this machine.

    Without the name of a benchmark: the data plane (netkv p4 bench), e2e, sim, gateway, redis,
    rocksdb and startup, one after the other, in some minutes. Their main figures are shown beside
    the goals of the project. Programs that are not installed are left out. Exit status 1 if a
    benchmark fails, but not if a goal is not reached.
    """
    if context.invoked_subcommand is not None:
        if seconds is not None or json:
            from netkv.errors import UsageError

            raise UsageError(
                f"Options of a benchmark follow its name: 'netkv bench "
                f"{context.invoked_subcommand} --json'."
            )
        return
    from netkv.bench import catalogue, suite
    from netkv.cli.progress import steps

    parts = []
    for benchmark in catalogue.in_suite():
        notify(f"netkv {benchmark.name}")
        with steps() as progress:
            part = suite.run(benchmark, seconds, progress)
        for sentence in part.left_out:
            notify(f"Left out: {sentence}")
        if part.failed is not None:
            notify(f"Failed: {part.failed}")
        parts.append(part)
    if json:
        print_json(suite.document(parts).to_json())
    else:
        from netkv.report import benchmark as report

        stdout().print(report.rendered(suite.table(parts)))
    if any(part.failed is not None for part in parts):
        raise typer.Exit(1)
