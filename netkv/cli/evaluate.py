"""`netkv evaluate`: a paper's evaluation over several seeds, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.stored import run_stored

if TYPE_CHECKING:
    from netkv.evaluation import Experiment, Measured, Row
    from netkv.scenarios.model import Scenario


def evaluate(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="An evaluation; without one, list them.")
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Argument(metavar="EXPERIMENT...", help="Only these. [all]")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Runs of each scheme at each point.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; the others follow it.")] = 1,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Run nothing: read the files of an earlier --save."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Save all figures in files of this directory."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables into this Markdown document."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Repeat also runs whose results are stored.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at a time (default: one per core)."),
    ] = None,
    json: Json = False,
) -> None:
    """Run the experiments of a paper's evaluation and set them beside the paper's figures.

    Every experiment runs with several seeds. A row shows the mean and the interval in which the
    value of one further seed is expected with a probability of 99%. Points for which the paper
    has no figure are shown as well. Some experiments run a second time in the way the paper has
    measured ("as published").

    An interrupted evaluation resumes: results of runs with the same source, program and settings
    are taken from the store.
    """
    from netkv import evaluation

    if paper is None:
        _list(json)
        return
    known = evaluation.load(paper)
    chosen = [known.experiment(name) for name in experiment or []] or list(known.experiments)
    found: list[tuple[Experiment, list[Row]]] = []
    variants = [variant for each in chosen for variant in known.variants(each)]
    plans = [] if source is not None else [_scenario(each, seed, seeds) for each in variants]

    def take(variant: Experiment) -> Measured | None:
        if source is None:
            number = variants.index(variant)
            _print_time(number, plans, jobs)
            measured: Measured | None = _run(variant, plans[number], again, jobs)
        else:
            measured = _read(variant, source, json)
        if save is not None and measured is not None:
            notify(f"{variant.name}: figures in {measured.save(save)}")
        return measured

    for each in chosen:
        by_seed, *published = [take(variant) for variant in known.variants(each)]
        if by_seed is None:
            continue
        rows = evaluation.rows(each, by_seed, *published)
        found.append((each, rows))
        if not json:
            from netkv.report import evaluation as report

            stdout().print(report.table(each, rows))
    if write is not None:
        _write(write, paper, found)
    if json:
        print_json({"paper": known.paper, "experiments": [_document(*each) for each in found]})


def _read(experiment: Experiment, source: Path, json: bool) -> Measured | None:
    from netkv.evaluation import Measured

    measured = Measured.read(source, experiment.name)
    if measured is None and not json:
        notify(f"{experiment.name}: no figures in {source}.")
    return measured


def _scenario(experiment: Experiment, seed: int, seeds: int) -> Scenario:
    """The scenario of an experiment, with the schemes that its figures need."""
    from netkv.evaluation.measured import needed
    from netkv.scenarios import loader
    from netkv.scenarios.run_plan import only_schemes

    changes = [*experiment.changes, f"seed={seed}", f"repeat={seeds}"]
    scenario = loader.load(loader.find(experiment.scenario), changes)
    wanted = needed(experiment)
    return only_schemes(scenario, [name for name in scenario.schemes if name in wanted])


def _print_time(number: int, plans: Sequence[Scenario], jobs: int | None) -> None:
    """Prints what experiment `number` takes, and with it those that follow."""
    from netkv.report import text
    from netkv.runs import walltime
    from netkv.worker_process import cores

    history = walltime.stored(*(each.name for each in plans[number:]))
    times = walltime.of_scenarios(plans[number:], history, jobs or cores())
    runs = "1 run" if times[0].runs == 1 else f"{times[0].runs} runs"
    seconds = [each.wall_seconds for each in times]
    line = f"Experiment {number + 1} of {len(plans)}: {runs}, about {text.duration(seconds[0])}"
    if len(times) > 1:
        line += f"; with all that follow about {text.duration(sum(seconds))}"
    notify(f"{line}, less if runs are stored already.")


def _run(experiment: Experiment, scenario: Scenario, again: bool, jobs: int | None) -> Measured:
    from netkv.evaluation.measured import measure
    from netkv.runs import walltime
    from netkv.worker_process import cores

    history = walltime.stored(scenario.name)
    done = run_stored(scenario, jobs=jobs or cores(), resume=not again, history=history)
    return measure(experiment, done.result.runs)


def _write(file: Path, paper: str, found: list[tuple[Experiment, list[Row]]]) -> None:
    from netkv.evaluation import document

    tables = {
        each.name: document.markdown(rows, f"netkv evaluate {paper} {each.name}")
        for each, rows in found
    }
    write_tables(file, tables)


def write_tables(file: Path, tables: Mapping[str, str]) -> None:
    """Writes tables between the markers of their names in a Markdown document."""
    from netkv.errors import UsageError
    from netkv.evaluation import document

    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be read: {error.strerror or error}.") from error
    for name in tables.keys() - document.bodies(text).keys():
        notify(f"{file} has no marker '<!-- evaluation: {name} -->'; the table is left out.")
    file.write_text(document.replaced(text, tables), encoding="utf-8")


def _list(json: bool) -> None:
    """Prints the evaluations, with how near the figures that ship are to those of the papers."""
    from dataclasses import asdict

    from netkv import evaluation, resources
    from netkv.evaluation import scores

    known = {name: evaluation.load(name) for name in evaluation.names()}
    data = resources.path("evaluation")
    found = {name: scores.of_paper(each, data) for name, each in known.items()}
    if json:
        documents = [
            {
                "name": name,
                "paper": each.paper,
                "experiments": [
                    {
                        "name": own.name,
                        "title": own.title,
                        "source": own.source,
                        "scores": asdict(score)
                        if (score := found[name].get(own.name)) is not None
                        else None,
                    }
                    for own in each.experiments
                ],
            }
            for name, each in known.items()
        ]
        print_json({"near": scores.NEAR, "evaluations": documents})
        return
    from netkv.report import evaluation as report

    for name, each in known.items():
        stdout().print(report.scoreboard(name, each, found[name]))


def _published(row: Row) -> dict[str, Any] | None:
    found = row.published
    if found is None:
        return None
    return {
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "seeds": found.seeds,
        "difference": row.difference_as_published,
    }


def _document(experiment: Experiment, rows: list[Row]) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "rows": [
            {
                "quantity": row.claim.name,
                "expression": row.claim.quantity,
                "at": row.point,
                "paper": row.reported,
                "artefact": row.listed,
                "mean": row.measured.mean,
                "low": row.measured.low,
                "high": row.measured.high,
                "seeds": row.measured.seeds,
                "difference": row.difference,
                "as_published": _published(row),
            }
            for row in rows
        ],
    }
