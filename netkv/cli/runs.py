"""`netkv runs`: the runs in the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netkv.runs import RunRecord

app = typer.Typer(
    help="List, show, compare, plot, export and delete stored runs.", no_args_is_help=True
)

Ids = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...",
        help="Ids of runs or groups; their beginning is enough.",
        autocompletion=completion.runs,
    ),
]


@app.command("list")
def list_runs(
    scenario: Annotated[
        str | None,
        typer.Option(help="Only runs of this scenario.", autocompletion=completion.scenarios),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Newest runs to show.")] = 30,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from netkv.runs import Store

    with Store() as store:
        heads = store.heads(scenario=scenario, limit=limit)
    if json:
        print_json({"runs": [head.model_dump(mode="json") for head in heads]})
    elif not heads:
        notify("No run is stored yet. 'netkv scenario run quickstart' makes two.")
    else:
        from netkv.report import tables

        stdout().print(tables.run_list(heads))


@app.command()
def show(
    run: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Id of a run; its beginning is enough.",
            autocompletion=completion.runs,
        ),
    ],
    json: Json = False,
) -> None:
    """Show one run: figures, events, verdicts, program and machine."""
    (record,) = _records([run], at_most_one=True)
    if json:
        print_json(record.model_dump(mode="json"))
        return
    from netkv.report import recoveries, tables, violations

    out = stdout()
    out.print(tables.run_details(record))
    for table in recoveries.details(record):
        out.print()
        out.print(table)
    for table in violations.tables(record, most=len(record.violations)):
        out.print()
        out.print(table)
    if record.linearizable is False:
        notify(violations.replay(record))
    if record.events:
        out.print()
        out.print(tables.events(record))
    if record.thresholds:
        out.print()
        out.print(tables.verdicts(record.thresholds))


@app.command()
def compare(
    ids: Ids,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="ID|SCHEME",
            help="The baseline of ratios: a scheme at each sweep point, or one run. "
            "[the first scheme of the scenario]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare runs. Figures are means over repeats, with 95% confidence intervals.

    Ratios are to the first scheme of the scenario at the same sweep point, or to --baseline.
    """
    from netkv.runs.compare import compare as compare_records

    records = _records(ids)
    if baseline is not None and baseline not in {record.scheme for record in records}:
        base = _baseline(baseline, records)
        records += [base] if base.id not in {record.id for record in records} else []
        baseline = base.id
    compared = compare_records(records, baseline)
    if json:
        print_json(compared.model_dump(mode="json"))
        return
    from netkv.report import recoveries, tables

    out = stdout()
    out.print(tables.comparison(compared, narrow=out.width < tables.WIDE))
    if (recovered := recoveries.overview(compared)) is not None:
        out.print()
        out.print(recovered)


@app.command("tables")
def print_tables(json: Json = False) -> None:
    """Print the tables of the run store, each column with its type and meaning."""
    from netkv.runs import reference

    if json:
        print_json(reference.document())
    else:
        print(reference.markdown(), end="")


@app.command()
def export(
    ids: Ids,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; without it stdout.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="A line per interval of every run.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="A page with figures that needs no network.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Everything, as one JSON document (the default).")
    ] = False,
) -> None:
    """Export runs as JSON, CSV or HTML."""
    from netkv.errors import NetkvError, UsageError

    if json + csv + html > 1:
        raise UsageError("Only one of --json, --csv and --html can be written at once.")
    records = _records(ids)
    if html:
        from netkv.report import page

        text = page.render(records)
    else:
        from netkv.runs import export as formats

        text = formats.to_csv(records) if csv else formats.to_json(records) + "\n"
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NetkvError(f"{output} cannot be written: {error.strerror}.") from error
    notify(f"Wrote {len(records)} {'run' if len(records) == 1 else 'runs'} to {output}.")


@app.command()
def plot(
    ids: Ids,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "--output",
            "-o",
            metavar="FILE|DIRECTORY",
            help="A file (.svg, .png or .html) or a directory; repeatable. [this directory]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Draw the figures of the scenario of these runs. A directory gets an SVG and a PNG of each."""
    from netkv.cli.plotting import destinations, write_runs

    to = destinations(out or [Path()], "--out")
    written = write_runs(to, _records(ids))
    if json:
        print_json({"files": [str(file) for file in written]})


@app.command()
def delete(
    ids: Ids,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete runs with their samples and events. Asks first on a terminal."""
    from netkv.runs import Store

    with Store() as store:
        found = store.find(ids)
        if not yes and not json and sys.stdin.isatty():
            typer.confirm(f"Delete {', '.join(found)}?", abort=True, err=True)
        store.delete(found)
    if json:
        print_json({"deleted": found})
    else:
        notify(f"Deleted {', '.join(found)}.")


def _baseline(name: str, among: Sequence[RunRecord]) -> RunRecord:
    """The run that `--baseline` names; raises `UsageError`."""
    from netkv.errors import UsageError

    try:
        (found,) = _records([name], at_most_one=True)
    except UsageError as error:
        there = ", ".join(dict.fromkeys(record.scheme for record in among))
        raise UsageError(
            f"--baseline {name}: {error}\n  Schemes of these runs: {there}."
        ) from error
    return found


def _records(ids: Sequence[str], *, at_most_one: bool = False) -> list[RunRecord]:
    from netkv.errors import UsageError
    from netkv.runs import Store

    with Store() as store:
        found = store.find(ids)
        if at_most_one and len(found) > 1:
            raise UsageError(
                f"'{ids[0]}' is a group of {len(found)} runs: {', '.join(found)}. "
                f"Name one of them, or use 'netkv runs compare {ids[0]}'."
            )
        return store.records(found)
