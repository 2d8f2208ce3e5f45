"""`netkv runs`: the runs in the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli import completion, runs_store
from netkv.cli.output import Json, notify, print_json, stdout, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netkv.runs import RunRecord, Store

app = typer.Typer(
    help="List, show, compare, plot, tag, export, import and delete stored runs; repair or upgrade "
    "their store.",
    no_args_is_help=True,
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
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help="Only runs of this scheme; repeatable: of any of them.",
            autocompletion=completion.schemes,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only runs with this tag; repeatable: with all.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            help="Only runs with this status: running, done, failed or cancelled; repeatable: "
            "with any of them.",
            autocompletion=completion.statuses,
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="Only runs of this mode, live or sim.", autocompletion=completion.option("mode")
        ),
    ] = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned runs, or no pinned.")
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            metavar="WORDS",
            help="Only runs with these words in id, scenario, title, scheme, tags, note or sweep.",
        ),
    ] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUE",
            help="Only runs whose option has this value; also !=, <, <=, > and >=; repeatable.",
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Order by a field, metric or option (workload.zipf), highest first.",
            autocompletion=completion.sort_keys,
        ),
    ] = "started_at",
    ascending: Annotated[
        bool, typer.Option("--ascending", help="The opposite order: lowest or oldest first.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Runs to show.")] = 30,
    offset: Annotated[int, typer.Option(min=0, help="Runs to skip.")] = 0,
    json: Json = False,
) -> None:
    """List runs, newest first."""
    from netkv.runs import Store
    from netkv.runs.query import RunQuery

    query = RunQuery(
        scenario=scenario,
        scheme=scheme or (),
        tags=tag or (),
        status=status or (),
        mode=mode,
        pinned=pinned,
        search=search,
        where=where or (),
        sort=sort,
        descending=not ascending,
        limit=limit,
        offset=offset,
    )
    with Store() as store:
        found = store.search(query)
        stored = found.total or store.search(RunQuery(limit=0)).total
    if json:
        runs = [head.model_dump(mode="json") for head in found.runs]
        print_json({"runs": runs, "total": found.total})
        return
    if found.runs:
        from netkv.report import tables

        stdout().print(tables.run_list(found.runs))
    if not stored:
        notify("No run is stored yet. 'netkv scenario run quickstart' makes two.")
    elif not found.total:
        notify(f"None of the {stored} stored runs is like that.")
    elif len(found.runs) < found.total:
        following = offset + len(found.runs)
        more = f"; --offset {following} shows the next" if following < found.total else ""
        notify(f"{len(found.runs)} of {found.total} runs{more}.")


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

    records = _comparable(ids)
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
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Ids of runs or groups; their beginning is enough. Only --archive needs none: "
            "then it has the whole store.",
            autocompletion=completion.runs,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; without it stdout.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="A line per interval of every run.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="A page with figures that needs no network.")
    ] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="As --csv, with types, for pandas and databases.")
    ] = False,
    archive: Annotated[
        bool,
        typer.Option(
            "--archive",
            help="All that the store has about the groups of these runs, for 'netkv runs import'.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Everything, as one JSON document (the default).")
    ] = False,
) -> None:
    """Export runs as JSON, CSV, Parquet or HTML, or as an archive for another store."""
    from netkv.errors import NetkvError, UsageError
    from netkv.runs import export as formats

    if json + csv + html + parquet + archive > 1:
        raise UsageError(
            "Only one of --json, --csv, --parquet, --html and --archive can be written at once."
        )
    if parquet and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is binary: name a file with --output, or redirect stdout.")
    if archive:
        runs_store.write_archive(ids or (), output)
        return
    if not ids:
        raise UsageError("Name the runs or groups to export: 'netkv runs list' shows their ids.")
    records = _records(ids)
    if html:
        from netkv.report import page

        content = page.render(records).encode()
    elif parquet:
        content = formats.to_parquet(records)
    else:
        text = formats.to_csv(records) if csv else formats.to_json(records) + "\n"
        content = text.encode()
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        output.write_bytes(content)
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
            help="A file (.svg, .pdf, .png or .html) or a directory; repeatable. [this directory]",
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
def tag(
    ids: Ids,
    add: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Add this tag; repeatable.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Remove this tag; repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Add tags to runs, remove them, or print them."""
    from netkv.runs import Store

    with Store() as store:
        found = store.find(ids)
        if add or remove:
            store.tag(found, add or (), remove or ())
        tags = {run: store.head(run).tags for run in found}
    if json:
        print_json({"runs": [{"id": run, "tags": own} for run, own in tags.items()]})
        return
    for run, own in tags.items():
        write(f"{run}: {', '.join(own) or 'no tags'}")


@app.command()
def note(
    run: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Id of a run; its beginning is enough.",
            autocompletion=completion.runs,
        ),
    ],
    text: Annotated[
        str | None,
        typer.Argument(help="The new note; '' deletes it. [without it the note is printed]"),
    ] = None,
    json: Json = False,
) -> None:
    """Write a note about a run, or print it."""
    from netkv.runs import Store

    with Store() as store:
        (found,) = _found(store, [run], at_most_one=True)
        if text is not None:
            store.note(found, text)
        kept = store.head(found).note
    if json:
        print_json({"id": found, "note": kept})
    elif text is None:
        write(kept) if kept else notify(f"Run {found} has no note.")
    else:
        notify(f"Run {found} has {'a new' if kept else 'no'} note.")


@app.command()
def pin(ids: Ids, json: Json = False) -> None:
    """Pin runs: a pinned run cannot be deleted."""
    _pin(ids, pinned=True, json=json)


@app.command()
def unpin(ids: Ids, json: Json = False) -> None:
    """Unpin runs, so that they can be deleted."""
    _pin(ids, pinned=False, json=json)


@app.command()
def delete(
    ids: Ids,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete runs with their samples and events. Asks first on a terminal.

    Pinned runs are not deleted.
    """
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


app.command()(runs_store.repair)
app.command()(runs_store.upgrade)
app.command("import")(runs_store.import_runs)


def _pin(ids: Sequence[str], *, pinned: bool, json: bool) -> None:
    from netkv.runs import Store

    with Store() as store:
        found = store.find(ids)
        store.pin(found, pinned)
    if json:
        print_json({"runs": [{"id": run, "pinned": pinned} for run in found]})
    else:
        notify(f"{'Pinned' if pinned else 'Unpinned'} {', '.join(found)}.")


def _baseline(name: str, among: Sequence[RunRecord]) -> RunRecord:
    """The run that `--baseline` names; raises `UsageError`."""
    from netkv.errors import UsageError

    try:
        (found,) = _comparable([name], at_most_one=True)
    except UsageError as error:
        there = ", ".join(dict.fromkeys(record.scheme for record in among))
        raise UsageError(
            f"--baseline {name}: {error}\n  Schemes of these runs: {there}."
        ) from error
    return found


def _records(ids: Sequence[str], *, at_most_one: bool = False) -> list[RunRecord]:
    from netkv.runs import Store

    with Store() as store:
        return store.records(_found(store, ids, at_most_one=at_most_one))


def _comparable(ids: Sequence[str], *, at_most_one: bool = False) -> list[RunRecord]:
    from netkv.runs import Store

    with Store() as store:
        return store.comparable(_found(store, ids, at_most_one=at_most_one))


def _found(store: Store, ids: Sequence[str], *, at_most_one: bool) -> list[str]:
    """The runs of these ids; raises `UsageError`."""
    from netkv.errors import UsageError

    found = store.find(ids)
    if at_most_one and len(found) > 1:
        raise UsageError(
            f"'{ids[0]}' is a group of {len(found)} runs: {', '.join(found)}. "
            f"Name one of them, or use 'netkv runs compare {ids[0]}'."
        )
    return found
