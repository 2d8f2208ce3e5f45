"""`netkv reproduce`: the papers' figures over several seeds, beside the papers' own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import completion, places
from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.places import On

if TYPE_CHECKING:
    from collections.abc import Callable

    from netkv.evaluation import Experiment, Measured, Row
    from netkv.evaluation.selection import Chosen
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import ScenarioResult

    Ended = Callable[[Chosen, Sequence[Measured]], None]
    """Gets an experiment and its figures: by seed, then as published."""

_SEEDS = 5
_QUICK_SEEDS = 3


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER|EXPERIMENT...",
            help="Papers, experiments, or 'all'; without one, show the scoreboard.",
            autocompletion=completion.evaluations,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help=f"What can be had in minutes: fewer figures, shorter runs, {_QUICK_SEEDS} seeds.",
        ),
    ] = False,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls", help="Run the negative controls, which must miss the papers' figures."
        ),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help=f"Runs of each scheme at each point. [{_SEEDS}; {_QUICK_SEEDS} with --quick]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; the others follow it.")] = 1,
    constants: Annotated[
        bool,
        typer.Option(
            "--constants",
            help="Run nothing: print what the numbers of papers' set-ups rest on.",
        ),
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Run nothing: read the files of an earlier --save."
        ),
    ] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Run nothing: take the figures of this release.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Save all figures in files of this directory."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables into this Markdown document."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a report: one HTML page, and each figure in a folder."
        ),
    ] = None,
    artifact: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write what a reviewer of an artefact needs: claims, commands."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Repeat also runs whose results are stored.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at a time (default: one per core)."),
    ] = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Repeat the papers' experiments and set netkv's figures beside theirs.

    Every experiment runs with several seeds. A row shows the mean and the interval in which the
    value of one further seed is expected with a probability of 99%. Points for which the paper
    has no figure are shown as well. Some experiments run a second time in the way the paper has
    measured ("as published").

    All runs are one pool. An interrupted command resumes: results of runs with the same source,
    program and settings are taken from the store, also if more seeds are asked for.
    """
    from netkv import resources
    from netkv.errors import UsageError
    from netkv.evaluation import selection

    if constants:
        from netkv.cli import reproduce_constants

        given = (quick, controls, seeds, source, shipped, save, report, artifact, again, jobs, on)
        if any(given):
            raise UsageError("--constants runs nothing: only --write and --json go with it.")
        reproduce_constants.show(names or [], write, json=json)
        return
    if source is not None and shipped:
        raise UsageError("--from and --shipped both say where the figures are; give one of them.")
    if shipped:
        source = resources.path("evaluation")
    outputs = quick or source is not None or any((save, write, report, artifact))
    if not names and not controls and not outputs:
        _list(json)
        return
    chosen = selection.choose(names or ([] if controls else [selection.ALL]))
    if controls:
        chosen += selection.controls()
    if quick:
        chosen = _quick(chosen)
    found: dict[str, tuple[Chosen, list[Row]]] = {}

    def ended(each: Chosen, measured: Sequence[Measured]) -> None:
        from netkv import evaluation
        from netkv.report import evaluation as tables

        rows = evaluation.rows(each.experiment, *measured)
        found[each.experiment.name] = each, rows
        if save is not None:
            files = ", ".join(str(own.save(save)) for own in measured)
            notify(f"{each.experiment.name}: figures in {files}")
        if not json:
            stdout().print(tables.table(each.experiment, rows))

    if source is not None:
        failed = _read(chosen, source, ended, json)
    else:
        runs = _Runs(chosen, seed, seeds or (_QUICK_SEEDS if quick else _SEEDS))
        failed = runs.run(ended, again, jobs, on)
    results = [found[each.experiment.name] for each in chosen if each.experiment.name in found]
    failed += _agreeing_controls(results)
    if write is not None:
        _write(write, results)
    if report is not None:
        from netkv.report import reproduction

        notify(f"Report: {reproduction.write(report, results)}")
    if artifact is not None:
        from netkv.report import artifact as files

        notify(f"Artefact: {files.write(artifact, results)}")
    if json:
        print_json(_document(results))
    elif len(results) > 1:
        _print_scores(results)
    for sentence in failed:
        notify(sentence)
    if failed:
        raise typer.Exit(1)


def _quick(chosen: Sequence[Chosen]) -> list[Chosen]:
    found = [(each, each.quick()) for each in chosen]
    left = [
        each.experiment.name
        for each, quick in found
        if quick is None and not each.experiment.variant
    ]
    if left:
        notify(f"Not part of --quick: {', '.join(left)}.")
    return [quick for _, quick in found if quick is not None]


class _Runs:
    """The runs of experiments."""

    def __init__(self, chosen: Sequence[Chosen], seed: int, seeds: int) -> None:
        self._chosen = chosen
        self._plans: list[tuple[int, Experiment, Scenario]] = [
            (at, variant, _scenario(variant, seed, seeds))
            for at, each in enumerate(chosen)
            for variant in each.variants
        ]

    def run(self, ended: Ended, again: bool, jobs: int | None, on: str | None) -> list[str]:
        """Runs them; `ended` gets each experiment with its figures. Returns what failed."""
        from netkv.cli.stored import run_pool
        from netkv.errors import NetkvError
        from netkv.evaluation.measured import measure
        from netkv.report import text
        from netkv.runs import walltime
        from netkv.worker_process import cores

        failed: list[str] = []
        scenarios = [scenario for _, _, scenario in self._plans]
        history = walltime.stored(*dict.fromkeys(each.name for each in scenarios))
        measured: dict[int, Measured] = {}

        def on_result(number: int, result: ScenarioResult) -> None:
            own, variant, _ = self._plans[number]
            try:
                measured[number] = measure(variant, result.runs)
            except NetkvError as error:
                failed.append(str(error))
            parts = [at for at, (of, _, _) in enumerate(self._plans) if of == own]
            figures = [found for at in parts if (found := measured.get(at)) is not None]
            if len(figures) == len(parts):
                ended(self._chosen[own], figures)

        place = places.chosen(on, jobs)
        width = jobs or cores()
        live = [[at] for at, each in enumerate(scenarios) if each.mode == "live"]
        simulated = [at for at, each in enumerate(scenarios) if each.mode != "live"]
        # Simulated ones share a pool, live ones would compete for the machine.
        for group in filter(None, [simulated, *live]):
            part = [scenarios[at] for at in group]
            times = walltime.of_scenarios(part, history, width)
            runs = sum(each.runs for each in times)
            seconds = sum(each.wall_seconds for each in times)
            title = (
                f"{_count(len(part), 'experiment')}, {_count(runs, 'run')}: about "
                f"{text.duration(seconds)}, less if runs are stored already."
            )
            run_pool(
                title,
                part,
                partial(_numbered, group, on_result),
                jobs=width,
                place=place if group is simulated else None,
                history=history,
                resume=not again,
            )
        return failed


def _numbered(
    numbers: Sequence[int],
    on_result: Callable[[int, ScenarioResult], None],
    at: int,
    result: ScenarioResult,
) -> None:
    """Passes on the result of the scenario `at` of a pool with the number of its plan."""
    on_result(numbers[at], result)


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}" + "s" * (number != 1)


def _read(chosen: Sequence[Chosen], source: Path, ended: Ended, json: bool) -> list[str]:
    from netkv.evaluation import Measured

    for each in chosen:
        own, *published = [Measured.read(source, variant.name) for variant in each.variants]
        if own is not None:
            ended(each, [own, *(found for found in published if found is not None)])
        elif not json:
            notify(f"{each.experiment.name}: no figures in {source}.")
    return []


def _scenario(experiment: Experiment, seed: int, seeds: int) -> Scenario:
    """The scenario of an experiment, with the schemes that its figures need."""
    from netkv.evaluation.measured import needed
    from netkv.scenarios import loader
    from netkv.scenarios.run_plan import only_schemes

    changes = [*experiment.changes, f"seed={seed}", f"repeat={seeds}"]
    scenario = loader.load(loader.find(experiment.scenario), changes)
    wanted = needed(experiment)
    return only_schemes(scenario, [name for name in scenario.schemes if name in wanted])


def _agreeing_controls(found: Sequence[tuple[Chosen, list[Row]]]) -> list[str]:
    """Sentences about controls that agree with the paper, and so show that agreement is worthless;
    the others are printed."""
    from netkv.evaluation import scores

    failed = []
    for each, rows in found:
        if not each.experiment.control:
            continue
        count = scores.of_rows(rows).alike.figures
        name = each.experiment.name
        if 2 * count.near >= count.rows:
            failed.append(
                f"The control {name} agrees with the paper in {count.near} of {count.rows} rows, "
                f"though what they need was taken away."
            )
        else:
            notify(
                f"The control {name} misses the paper's figures, as it must: {count.near} of "
                f"{count.rows} rows are near."
            )
    return failed


def _write(file: Path, found: Sequence[tuple[Chosen, list[Row]]]) -> None:
    from netkv.cli.documents import write_tables
    from netkv.evaluation import document

    tables = {each.experiment.name: document.markdown(rows, each.command) for each, rows in found}
    write_tables(file, tables)


def _list(json: bool) -> None:
    """Prints the evaluations, with how near the figures that ship are to those of the papers."""
    from dataclasses import asdict

    from netkv import evaluation, resources
    from netkv.evaluation import scores
    from netkv.evaluation.words import NEAR

    known = {name: evaluation.load(name) for name in evaluation.names()}
    data = resources.path("evaluation")
    found = {name: scores.of_paper(each, data) for name, each in known.items()}
    totals = {name: scores.total(each, found[name]) for name, each in known.items()}
    if json:
        documents = [
            {
                "name": name,
                "paper": each.paper,
                "scores": asdict(totals[name]),
                "experiments": [
                    {
                        "name": own.name,
                        "title": own.title,
                        "source": own.source,
                        "counted": not (own.variant or own.control),
                        "scores": asdict(score)
                        if (score := found[name].get(own.name)) is not None
                        else None,
                    }
                    for own in each.experiments
                ],
            }
            for name, each in known.items()
        ]
        print_json({"near": NEAR, "evaluations": documents})
        return
    from netkv.report import evaluation as report

    for name, each in known.items():
        stdout().print(report.scoreboard(name, each, found[name]))
    stdout().print(report.overview(totals))
    notify("'netkv reproduce NAME' repeats a paper or an experiment, '--quick' what takes minutes.")


def _print_scores(found: Sequence[tuple[Chosen, list[Row]]]) -> None:
    from netkv.evaluation import scores
    from netkv.evaluation.scores import Scores
    from netkv.report import evaluation as report

    totals: dict[str, Scores] = {}
    for each, rows in found:
        if not (each.experiment.variant or each.experiment.control):
            totals[each.paper] = totals.get(each.paper, Scores()) + scores.of_rows(rows)
    if totals:
        stdout().print(report.overview(totals))


def _document(found: Sequence[tuple[Chosen, list[Row]]]) -> dict[str, Any]:
    from dataclasses import asdict

    from netkv.evaluation import scores

    return {
        "experiments": [
            {
                "evaluation": each.paper,
                "paper": each.evaluation.paper,
                "name": each.experiment.name,
                "title": each.experiment.title,
                "source": each.experiment.source,
                "counted": not (each.experiment.variant or each.experiment.control),
                "scores": asdict(scores.of_rows(rows)),
                "rows": [_row(row) for row in rows],
            }
            for each, rows in found
        ]
    }


def _row(row: Row) -> dict[str, Any]:
    from dataclasses import asdict

    published = row.published
    return {
        "quantity": row.claim.name,
        "expression": row.claim.quantity,
        "at": row.point,
        "paper": row.reported,
        "artefact": row.listed,
        "kind": row.alike.kind,
        **asdict(row.measured),
        **asdict(row.by_seed),
        "as_published": None
        if published is None
        else {**asdict(published), **asdict(row.as_published)},
    }
