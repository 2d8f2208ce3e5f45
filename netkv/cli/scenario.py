"""`netkv scenario`: the comparisons that netkv can run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import completion, places, queued
from netkv.cli.executor import Executor, executor_change
from netkv.cli.output import Json, notify, print_json, print_result, stdout
from netkv.cli.places import On
from netkv.cli.plotting import Plots, destinations, write_runs
from netkv.cli.stored import Rounds, rounds
from netkv.cli.target import Target, target_change
from netkv.errors import UsageError

if TYPE_CHECKING:
    from netkv.api.models.jobs import Job
    from netkv.report.files import Destination
    from netkv.runs import RunRecord
    from netkv.runs.walltime import WallTime
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import ScenarioResult
    from netkv.studies.precision import Precision

app = typer.Typer(help="List, show and run scenarios.", no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of a scenario that ships, or a .yaml file.",
        autocompletion=completion.scenarios,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change an option, e.g. workload.zipf=0.9; repeatable.",
        autocompletion=completion.changes,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Simulated runs at a time, each in a process; with fewer runs, threads for each "
        "(default: one per core, or a single process with one thread for less than 10 s of work). "
        "The results are the same.",
    ),
]


_SOURCES = (
    "Measured: from stored runs of the scenario. "
    "Estimated: from its rack and load, and the speed of the simulator here. "
    "FPGA designs that are not built yet are built first, which is included."
)

Again = Annotated[
    bool, typer.Option("--again", help="Repeat also simulated runs whose results are stored.")
]
_MOST_SHOWN = 1000
"""Runs of a table."""
_MOST_SEEDS = 1000
"""Where --until ends in any case."""


@app.command("list")
def list_scenarios(json: Json = False) -> None:
    """List the scenarios that ship with netkv."""
    from netkv.runs import overview

    found = overview.shipped()
    if json:
        about = [{**asdict(each), "wall_seconds": round(each.wall_seconds, 1)} for each in found]
        print_json({"scenarios": about})
        return
    from rich import box
    from rich.table import Table

    from netkv.report import text

    table = Table(
        box=box.SIMPLE_HEAD,
        caption=f"Wall time on this machine. {_SOURCES}",
        caption_justify="left",
    )
    table.add_column("scenario", style="bold", no_wrap=True)
    table.add_column("what it is about")
    table.add_column("schemes")
    table.add_column("runs", justify="right")
    table.add_column("takes about", justify="right")
    table.add_column("")
    for each in found:
        table.add_row(
            each.name,
            each.title,
            ", ".join(each.schemes),
            str(each.runs),
            text.duration(each.wall_seconds),
            each.wall_seconds_source,
        )
    stdout().print(table)


@app.command()
def show(name: Name, changes: Changes = None, json: Json = False) -> None:
    """Show a scenario as it would run: every default, but of events and plots only what is set."""
    from netkv.scenarios import capacity, loader, scheme_options

    file = loader.find(name)
    scenario = loader.load(file, changes or [])
    from netkv.runs import walltime

    wall_time = walltime.of_scenario(scenario, walltime.stored(scenario.name))
    warnings = capacity.warnings(scenario)
    topologies = scheme_options.topologies(scenario)
    document = scheme_options.document(scenario)
    if json:
        switches = {name: each.model_dump(mode="json") for name, each in topologies.items()}
        about = {
            "file": str(file),
            **_time(wall_time),
            "warnings": warnings,
            "topologies": switches,
        }
        print_json({**about, **document})
        return
    import io

    from rich.syntax import Syntax
    from ruamel.yaml import YAML

    shown = io.StringIO()
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    # Most options do not apply to a given event or plot: only those that are set are shown.
    given = scenario.model_dump(mode="json", include={"events", "plots"}, exclude_unset=True)
    # Options of schemes that do not run are left out.
    lab = {
        option: value
        for option, value in document["lab"].items()
        if scheme_options.applies(option, scenario.schemes)
    }
    yaml.dump({**document, "lab": lab, **given}, shown)
    differ = len(set(topologies.values())) > 1
    different = [f"{name}: {each.describe()}" for name, each in topologies.items() if differ]
    out = stdout()
    warned = [f"Warning: {each}" for each in warnings]
    for line in (file, _sentence(wall_time), *warned, *different):
        out.print(f"# {line}", style="dim", markup=False, highlight=False, soft_wrap=True)
    out.print(Syntax(shown.getvalue(), "yaml", background_color="default", word_wrap=True))


@app.command()
def reference(json: Json = False) -> None:
    """Print every option of a scenario with type, default, unit and meaning.

    As Markdown (docs/use/scenario-reference.md) or, with --json, as a JSON schema.
    """
    from netkv.scenarios import reference as options

    if json:
        print_json(options.schema())
    else:
        print(options.markdown(), end="")


@app.command()
def run(
    name: Name,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this scheme; repeatable. The first is the baseline.",
            autocompletion=completion.schemes,
        ),
    ] = None,
    changes: Changes = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all random draws (default: the scenario's).")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Runs per scheme and sweep point.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="Run live or in the simulator, sim (default: the scenario's).",
            autocompletion=completion.option("mode"),
        ),
    ] = None,
    target: Target = None,
    executor: Executor = None,
    jobs: Jobs = None,
    on: On = None,
    again: Again = False,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="CONDITION",
            help="Add seeds until an interval of 95% is narrow enough at all points: "
            "'SCHEME.throughput_ops within 2%'.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--at-most",
            min=0,
            metavar="SECONDS",
            help="With --until: begin no further seeds after this time.",
        ),
    ] = None,
    plot: Plots = None,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue", help="Hand it to the server that runs ('netkv serve'), and follow it."
        ),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="With --queue: print the id of the job and end.")
    ] = False,
    json: Json = False,
    group: Annotated[
        str | None, typer.Option(hidden=True, help="Id of the group in the store.")
    ] = None,
) -> None:
    """Run a scenario, store its runs, and compare the schemes.

    Exit status 1 if a run failed or a threshold was missed, 130 if it was interrupted.
    """
    changed = target_change(executor_change(changes, executor), target)
    if detach and not queue:
        raise UsageError("'--detach' is for '--queue': without a server, the run would end, too.")
    if queue:
        local = {"--jobs": jobs, "--on": on, "--until": until, "--at-most": seconds}
        for option, given in local.items():
            if given is not None:
                raise UsageError(f"'{option}' is for runs of this terminal, not for '--queue'.")
        to = destinations(plot)
        if to and detach:
            raise UsageError("'--plot' needs the result: it is not possible with '--detach'.")
        client, job = queued.submit(
            name, schemes=scheme or (), set=changed, mode=mode, seed=seed, repeat=repeat
        )
        if detach:
            _detached(job, json)
            return
        result = queued.follow(client, job)
        _finish(
            result, job.id, lambda: [client.run_record(run.id) for run in result.runs], to, json
        )
        return
    if seconds is not None and until is None:
        raise UsageError("'--at-most' is for '--until'.")
    scenario = _prepared(name, scheme, changed, seed, repeat, mode)
    to = destinations(plot)
    from netkv.runs import walltime
    from netkv.scenarios import capacity

    place = places.chosen(on, jobs, here=scenario.mode == "live")
    history = walltime.stored(scenario.name)
    wall_time = walltime.of_scenario(scenario, history, jobs)
    notify(_sentence(wall_time))
    for warning in capacity.warnings(scenario):
        notify(f"Warning: {warning}")
    condition = None
    if until is not None:
        if scenario.mode == "live":
            raise UsageError("'--until' is for simulated runs: choose '--mode sim'.")
        from netkv.studies import precision

        condition = precision.parse(until, scenario.schemes)
    opened = rounds(group, jobs=wall_time.jobs, place=place, history=history, resume=not again)
    with opened as several:
        if condition is None:
            result = several.run(scenario)
        else:
            result = _until(several, scenario, condition, seconds)
        done = several.stored(result)
    _finish(done.result, done.group, lambda: done.records, to, json)


def _until(
    several: Rounds, scenario: Scenario, condition: Precision, seconds: float | None
) -> ScenarioResult:
    """Runs a scenario with more and more seeds until the condition holds, or the time is over."""
    from netkv.studies import precision

    begun = time.monotonic()
    seeds = max(scenario.repeat, precision.LEAST)
    while True:
        now = scenario.model_copy(update={"repeat": seeds})
        result = several.run(now, title=f"{scenario.title or scenario.name}, {seeds} seeds")
        wider = condition.wider(result.runs)
        if wider is None:
            notify("'--until' cannot be judged: at some point no run has such a value.")
            return result
        if wider <= 1:
            notify(f"{seeds} seeds are enough: {condition.text}.")
            return result
        late = seconds is not None and time.monotonic() - begun >= seconds
        if late or seeds >= _MOST_SEEDS:
            why = f"the time of {seconds:g} s is over" if late else "more are not tried"
            notify(
                f"{seeds} seeds are not enough: an interval is {wider:.3g} times as wide as it "
                f"should be, and {why}."
            )
            return result
        seeds = condition.following(seeds, wider, _MOST_SEEDS)


def _detached(job: Job, json: bool) -> None:
    if json:
        print_json(job.model_dump(mode="json"))
    else:
        print(job.id)
        notify(f"'netkv jobs show {job.id}' shows its progress.")


def _finish(
    result: ScenarioResult,
    group: str,
    records: Callable[[], list[RunRecord]],
    to: list[Destination],
    json: bool,
) -> None:
    """Prints and draws a result; ends the command with status 1 if it is not as expected."""
    for warning in _warnings(result):
        notify(warning)
    if (loss := result.not_stored) is not None:
        notify(
            f"Warning: not everything is in the run store ({loss.reason}): it lacks the results of "
            f"{loss.runs} runs, {loss.samples} samples and {loss.events} events."
        )
    if json:
        print_result(result)
    else:
        _report(result, group, records)
    if to:
        write_runs(to, records())
    if not result.ok:
        raise typer.Exit(1)


@app.command("search")
def search_points(
    name: Name,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="OPTION=VALUES",
            help="What to vary: 'workload.zipf=0.5..1.2', 'workload.arrivals.rate=10k..1M log', "
            "'lab.servers=4..64 int', 'workload.mix=ycsb-a,ycsb-b'; repeatable.",
        ),
    ] = None,
    points: Annotated[int, typer.Option(min=1, max=100_000, help="Number of points.")] = 32,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="How points are chosen: grid, random, sobol, or tpe, which learns from values "
            "[default: sobol; tpe with --maximise and --minimise]."
        ),
    ] = None,
    maximise: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Find the largest value of it.")
    ] = None,
    minimise: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Find the smallest value of it.")
    ] = None,
    edge: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help="Find how far it holds in a range: 'each.latency_p99_us <= 1000'.",
        ),
    ] = None,
    within: Annotated[
        float,
        typer.Option(min=0.01, max=100, metavar="PERCENT", help="How exactly, with --edge."),
    ] = 2.0,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme", help="Run only this scheme; repeatable.", autocompletion=completion.schemes
        ),
    ] = None,
    changes: Changes = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all random draws (default: the scenario's).")
    ] = None,
    repeat: Annotated[int | None, typer.Option(min=1, help="Runs per scheme and point.")] = None,
    jobs: Jobs = None,
    on: On = None,
    again: Again = False,
    plot: Plots = None,
    json: Json = False,
) -> None:
    """Vary options of a scenario: spread points, find the best one, or the edge of a condition.

    The scenario runs in the simulator, without its own sweep and its expectations. All runs are
    stored in one group. Exit status 1 if a run failed.
    """
    from netkv.cli import search

    scenario = _prepared(name, scheme, changes or [], seed, repeat, "sim")
    scenario = scenario.model_copy(update={"sweep": {}, "expect": [], "plots": []})
    asked = search.Question(over or (), points, sampler, maximise, minimise, edge, within)
    to = destinations(plot)
    done, found = search.search(scenario, asked, jobs, on, again)
    if json:
        search.document(done.result, found)
    else:
        _report(done.result, done.group, lambda: done.records)
        search.show(found)
    if to:
        write_runs(to, done.records)
    if not done.result.ok:
        raise typer.Exit(1)


def _prepared(
    name: str,
    schemes: list[str] | None,
    changes: list[str],
    seed: int | None,
    repeat: int | None,
    mode: str | None,
) -> Scenario:
    from netkv.scenarios import loader
    from netkv.scenarios.run_plan import only_schemes

    given = {"mode": mode, "seed": seed, "repeat": repeat}
    more = [f"{path}={value}" for path, value in given.items() if value is not None]
    scenario = loader.load(loader.find(name), [*changes, *more], to_run=True, also=schemes or ())
    return only_schemes(scenario, schemes) if schemes else scenario


def _warnings(result: ScenarioResult) -> list[str]:
    """The messages of the target's compiler, each once."""
    from netkv.model.report import COMPILER

    events = [event for run in result.runs for event in run.events]
    return list(dict.fromkeys(event.text for event in events if event.node == COMPILER))


def _report(result: ScenarioResult, group: str, records: Callable[[], list[RunRecord]]) -> None:
    from netkv.report import tables

    out = stdout()
    if len(result.runs) <= _MOST_SHOWN:
        _compare(result, records())
    else:
        notify(f"{len(result.runs):,} runs are too many for a table.")
    if result.thresholds:
        out.print()
        out.print(tables.verdicts(result.thresholds))
    for run in result.runs:
        if run.status == "failed":
            notify(f"Run {run.id} failed: {run.reason}")
        elif run.status == "cancelled":
            notify(f"Run {run.id} was cancelled.")
    if result.not_stored is None:
        notify(f"Stored as {group}: 'netkv runs compare {group}' shows this again.")
    notify(_dashboard())


def _compare(result: ScenarioResult, records: list[RunRecord]) -> None:
    from netkv.report import recoveries, tables, violations
    from netkv.runs.compare import compare

    compared = compare(records)
    out = stdout()
    narrow = out.width < tables.WIDE
    out.print(tables.comparison(compared, title=result.title, narrow=narrow))
    if (recovered := recoveries.overview(compared)) is not None:
        out.print()
        out.print(recovered)
    out.print()
    out.print(violations.overview(records))
    for record in records:
        for table in violations.tables(record):
            out.print(table)
        if record.linearizable is False:
            notify(violations.replay(record))


def _dashboard() -> str:
    """Where the dashboard is, or how to get one."""
    from netkv.api import running

    server = running.find()
    return "Dashboard: 'netkv serve'" if server is None else f"Dashboard: {server.url}"


def _time(wall_time: WallTime) -> dict[str, Any]:
    return {
        "wall_seconds": round(wall_time.wall_seconds, 1),
        "wall_seconds_source": wall_time.source,
        "virtual_seconds": wall_time.virtual_seconds,
        "build_seconds": wall_time.build_seconds,
    }


def _sentence(wall_time: WallTime) -> str:
    """`8 runs take about 72 s here (estimated), and simulate 16 s of virtual time.`

    If designs are not built: `(estimated, with 50 s to build FPGA designs)`.
    """
    from netkv.report import text

    runs = "1 run takes" if wall_time.runs == 1 else f"{wall_time.runs} runs take"
    virtual = wall_time.virtual_seconds
    simulated = (
        "" if virtual is None else f", and simulate {text.duration(virtual)} of virtual time"
    )
    building = wall_time.build_seconds
    built = f", with {text.duration(building)} to build FPGA designs" if building else ""
    seconds = text.duration(wall_time.wall_seconds)
    return f"{runs} about {seconds} here ({wall_time.source}{built}){simulated}."
