"""`netkv worker`: executes simulated runs for others."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from netkv.cli.output import notify


def worker(
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS", help="Of a Dask scheduler: tcp://HOST:PORT or tls://HOST:PORT."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Units at a time (default: one on each core).")
    ] = None,
    invited: Annotated[
        bool, typer.Option("--invited", hidden=True, help="The standard input has an invitation.")
    ] = False,
    ends_with_input: Annotated[
        bool, typer.Option("--ends-with-input", hidden=True, help="End when the input is closed.")
    ] = False,
    answer_probe: Annotated[
        bool, typer.Option("--answer-probe", hidden=True, help="Answer 'doctor --hosts'.")
    ] = False,
    nodes: Annotated[
        bool, typer.Option("--nodes", hidden=True, help="Start nodes of a rack ('lab.hosts').")
    ] = False,
) -> None:
    """Execute units (simulated runs, cases of a soak) that commands with '--on' give to a cluster.

    It ends when the scheduler has gone. Units go to workers with the same netkv only, so the same
    wheel has to be installed everywhere.
    """
    import asyncio

    from netkv.errors import NetkvError, UsageError

    if nodes:
        from netkv.live import host_program

        asyncio.run(host_program.main())
        return
    try:
        from netkv.executors import credentials, probe, worker
        from netkv.executors.same_code import identity
    except ModuleNotFoundError as error:
        raise NetkvError("A worker needs Dask, which is not installed: netkv[cluster].") from error
    from netkv.worker_process import cores

    if answer_probe:
        probe.answer()
        return
    if invited == (address is not None):
        raise UsageError(
            "The address of a scheduler is missing. 'dask scheduler' starts one and prints it: "
            "netkv worker tcp://HOST:8786"
        )
    own = None
    if address is None:
        invitation = credentials.read(sys.stdin.readline())
        address, own = invitation.address, invitation.credentials
    count = jobs or cores()
    notify(f"{identity()}: {count} at a time, for {address}")
    asyncio.run(worker.work(address, count, own, ends_with_input=ends_with_input))
