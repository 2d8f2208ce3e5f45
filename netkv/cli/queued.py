"""Runs a scenario through the queue of the running server, and follows it in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from netkv.cli.output import notify
from netkv.errors import NetkvError

if TYPE_CHECKING:
    from typing import Unpack

    from netkv.api.models.jobs import Job
    from netkv.api_client import Changes, Client
    from netkv.scenarios.results import ScenarioResult


def submit(name: str, **changes: Unpack[Changes]) -> tuple[Client, Job]:
    """Queues the scenario; raises `NoServerError` if no server runs."""
    from netkv.api_client import Client

    client = Client.local()
    job = client.submit(_scenario(name), **changes)
    place = f"number {job.position} in the queue" if job.position else job.state
    notify(f"Job {job.id} of {client.url}: {place}.")
    return client, job


def _scenario(name: str) -> str:
    """The name of a scenario that ships, or the text of a file: the server reads no file."""
    from netkv.scenarios import flattening, loader, sources

    if not sources.is_path(name):
        return name
    # A text is told from a name by its lines.
    return f"{flattening.flattened(sources.read(loader.find(name)))}\n"


def follow(client: Client, job: Job) -> ScenarioResult:
    """Shows the progress of a job until its end; returns its result.

    After Ctrl-C the user is asked whether the job shall be cancelled as well. A script that is
    interrupted cancels it, as if the run were its own.
    """
    from netkv.cli.jobs import CANCEL_WAIT_S

    try:
        with _shown() as show:
            ended = client.follow(job.id, show)
    except KeyboardInterrupt:
        if _cancels():
            try:
                found = client.cancel(job.id, wait=CANCEL_WAIT_S)
                notify(f"Job {job.id} is {found.state}.")
            except NetkvError as error:
                # It has just ended, or the server has.
                notify(str(error))
        else:
            notify(f"Job {job.id} continues: 'netkv jobs show {job.id}'.")
        raise
    return client.result(ended)


def _cancels() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print("Cancel the job as well? It continues otherwise. [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        return True


@contextmanager
def _shown() -> Iterator[Callable[[Job], None]]:
    """A bar on a terminal; elsewhere a line for each change of the state or of the run."""
    from netkv.cli.progress import bars, left_text

    if not sys.stderr.isatty():
        yield _Lines()
        return
    with bars() as shown:
        task = shown.add_task("", total=1.0, left="", label="")

        def show(job: Job) -> None:
            now = job.progress
            shown.update(
                task,
                completed=now.fraction if now else 0.0,
                description=job.state,
                left=left_text(now.left_seconds if now else None),
                label=_where(job),
            )

        yield show


class _Lines:
    """Prints a line when the state of a job, or what runs, changes."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, job: Job) -> None:
        text = f"{job.state} {_where(job)}".strip()
        if text != self._shown:
            self._shown = text
            notify(text)


def _where(job: Job) -> str:
    """What a job does now."""
    if job.position is not None:
        return f"number {job.position} in the queue"
    if job.progress is None:
        return ""
    done, total = job.progress.done, job.progress.total
    runs = [f"{each.scheme} {each.phase}" for each in job.progress.runs]
    return ", ".join([f"[{done}/{total}]", *runs])
