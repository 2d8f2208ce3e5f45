"""`netkv worker`: executes units of a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from distributed import Security, Worker

from netkv.errors import NetkvError
from netkv.executors import unit_processes
from netkv.executors.credentials import Credentials, joined
from netkv.machine import host

_DEATH_S = 60.0
"""Seconds without a scheduler after which a worker ends."""


async def work(
    address: str, count: int, credentials: Credentials | None, *, ends_with_input: bool
) -> None:
    """Executes so many units at a time, until the scheduler has gone or this is interrupted.

    `ends_with_input`: also when the standard input is closed, as it is when an SSH connection ends.
    Raises `NetkvError` if the scheduler cannot be reached.
    """
    logging.getLogger("distributed").setLevel(logging.WARNING)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    if ends_with_input:
        _at_end_of_input(loop, ended.set)
    with tempfile.TemporaryDirectory(prefix="netkv-worker-") as scratch:
        worker = Worker(
            address,
            nthreads=count,
            name=f"{host()['name']}-{os.getpid()}",
            # The memory is that of its processes, of which Dask knows nothing.
            memory_limit=0,
            security=Security() if credentials is None else joined(credentials),
            death_timeout=_DEATH_S,
            local_directory=scratch,
            dashboard=False,
            **unit_processes.options(count),
        )
        try:
            await _started(worker, address)
            waits: list[asyncio.Task[Any]] = [
                asyncio.create_task(worker.finished()),
                asyncio.create_task(ended.wait()),
            ]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await worker.close(timeout=5)


async def _started(worker: Worker, address: str) -> None:
    try:
        await worker
    except (OSError, TimeoutError, RuntimeError) as error:
        why = str(error.__cause__ or error).strip().split("\n")[0].rstrip(".") or "it is silent"
        raise NetkvError(
            f"The scheduler {address} cannot be reached: {why}. Its address is what 'dask "
            f"scheduler' prints, and it must have a Dask of the same version."
        ) from error


def _at_end_of_input(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    def readable() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            loop.remove_reader(sys.stdin.fileno())
            then()

    loop.add_reader(sys.stdin.fileno(), readable)
