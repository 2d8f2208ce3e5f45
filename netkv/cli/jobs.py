"""`netkv jobs`: the queue of the server that runs on this machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout

if TYPE_CHECKING:
    from netkv.api.models.jobs import Job

app = typer.Typer(
    help="List, show and cancel the jobs of 'netkv serve'; print their messages.",
    no_args_is_help=True,
)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a job.", autocompletion=completion.jobs)
]


@app.command("list")
def list_jobs(json: Json = False) -> None:
    """List the jobs that run or wait, runs of terminals included, and the newest ended ones."""
    from netkv.api_client import Client

    found = Client.local().jobs()
    if json:
        print_json(found.model_dump(mode="json"))
        return
    if not found.active and not found.ended:
        notify("There is no job. 'netkv scenario run NAME --queue' makes one.")
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("job", style="bold", no_wrap=True)
    table.add_column("what")
    table.add_column("from")
    table.add_column("state")
    table.add_column("created")
    for job in [*found.active, *found.ended]:
        created = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.created_at))
        table.add_row(job.id, job.title, job.source, state(job), created)
    stdout().print(table)


@app.command()
def show(job: Id, json: Json = False) -> None:
    """Show a job with its progress and its runs."""
    from netkv.api_client import Client

    found = Client.local().job(job)
    if json:
        print_json(found.model_dump(mode="json"))
        return
    out = stdout()
    lines = [f"{found.id}: {found.title}, {state(found)}"]
    if found.error:
        lines.append(found.error)
    for run in found.runs:
        lines.append(f"  {run.id}  {run.scheme}  {run.status}")
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if found.runs:
        notify(f"'netkv runs compare {found.id}' compares its runs.")


@app.command()
def cancel(job: Id, json: Json = False) -> None:
    """Cancel a job. Its unfinished run is stored with its samples so far, as cancelled."""
    from netkv.api_client import Client

    client = Client.local()
    found = client.cancel(job, wait=CANCEL_WAIT_S)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        notify(f"Job {found.id} is {found.state}.")


@app.command()
def log(job: Id, json: Json = False) -> None:
    """Print the end of the messages of a job."""
    from netkv.api_client import Client

    text = Client.local().log(job)
    if json:
        print_json({"text": text})
    else:
        stdout().out(text, end="", highlight=False)


CANCEL_WAIT_S = 35.0
"""Time for which the end of a cancelled job is awaited: after 30 s the server kills it."""


def state(job: Job) -> str:
    """The state of a job, with its position or its progress."""
    from netkv.cli.progress import how_far

    if job.position is not None:
        return f"queued, number {job.position}"
    if job.progress is not None and job.state == "running":
        return f"running, {how_far(job.progress.fraction, job.progress.left_seconds)}"
    if job.ok is False and job.state == "done":
        return "done, not as expected"
    return job.state
