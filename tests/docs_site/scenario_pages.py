"""The pages of the scenarios that ship, each scenario with a figure.

A figure is drawn from the stored results of a paper's evaluation (`docs/evaluation`). A scenario
without such results is simulated while the site is built if that does not take long.
The runs are stored and taken from the store by the next build, until something changes that may
change their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netkv import evaluation, resources
from netkv.cli.stored import rounds
from netkv.evaluation.reference import Evaluation, Experiment
from netkv.report import papers, plots, text
from netkv.report.drawing import draw
from netkv.report.figure import Figure
from netkv.report.rows import title as scheme_title
from netkv.runs import walltime
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario
from netkv.worker_process import cores
from tests.docs_site.markdown import escaped, table

MAX_FIGURES = 2
"""Figures of a scenario."""


@dataclass(frozen=True)
class Drawn:
    """The figures of a scenario, and where they come from, as Markdown."""

    figures: Sequence[Figure]
    source: str


class Pages:
    """The pages by path, and the images that they show."""

    def __init__(self, max_seconds: float) -> None:
        """`max_seconds`: the longest estimated time of a scenario that is simulated."""
        self._max_seconds = max_seconds
        self._experiments = list(_experiments())
        self.images: dict[str, bytes] = {}
        groups: dict[str, list[str]] = {}
        for name, file in resources.scenarios().items():
            folder = file.parent
            top = resources.path("scenarios")
            groups.setdefault("general" if folder == top else folder.name, []).append(name)
        self.pages = {
            f"reference/scenarios/{group}.md": self._page(group, names)
            for group, names in sorted(groups.items(), key=lambda item: item[0] != "general")
        }
        self.pages = {"reference/scenarios/index.md": _index(groups), **self.pages}

    def _page(self, group: str, names: Sequence[str]) -> str:
        parts = [f"# {_title(group)}\n"]
        for name in names:
            scenario = _scenario(name)
            drawn = self._drawn(scenario)
            parts.append(_section(scenario))
            parts.append(f"{drawn.source}\n")
            for at, figure in enumerate(drawn.figures[:MAX_FIGURES], 1):
                image = f"{name}-{at}.svg"
                self.images[f"reference/scenarios/{image}"] = draw([figure], "svg")
                parts.append(f"![{figure.title}]({image})\n\n{figure.note}\n")
        return "\n".join(parts)

    def _drawn(self, scenario: Scenario) -> Drawn:
        repeated = [each for each in self._experiments if each[1].scenario == scenario.name]
        for paper, experiment in sorted(repeated, key=lambda each: len(each[1].changes)):
            if (found := _of_paper(paper, experiment)).figures:
                return found
        documented = "".join(
            f" Its results over several seeds are in {_linked(paper)}." for paper, _ in repeated[:1]
        )
        command = f"`netkv scenario run {scenario.name} --mode sim --plot figures/`"
        planned = scenario.model_copy(update={"mode": "sim"})
        none = walltime.History(())
        seconds = walltime.of_scenario(planned, none, cores()).wall_seconds
        if seconds > self._max_seconds:
            return Drawn(
                (),
                f"No figure here: its runs take about {text.duration(seconds)} in the simulator. "
                f"{command} draws them.{documented}",
            )
        with rounds(jobs=cores(), resume=True, history=none) as opened:
            done = opened.stored(opened.run(planned))
        figures = plots.defined_or_usual(done.records).figures
        return Drawn(figures, f"{command} draws its figures.{documented}")


@cache
def _scenario(name: str) -> Scenario:
    return loader.load(loader.find(name))


def _experiments() -> Iterator[tuple[Evaluation, Experiment]]:
    for name in evaluation.names():
        paper = evaluation.load(name)
        for experiment in paper.experiments:
            yield paper, experiment


def _of_paper(paper: Evaluation, experiment: Experiment) -> Drawn:
    measured = evaluation.Measured.read(resources.path("evaluation"), experiment.name)
    assert measured is not None, f"docs/evaluation has no results of {experiment.name}"
    rows = evaluation.rows(experiment, measured)
    figures = papers.figures(experiment, rows) or papers.figures(
        experiment, rows, measured_only=True
    )
    changed = "".join(f" --set '{change}'" for change in experiment.changes)
    changes = f" The options are changed with `{changed.strip()}`." if changed else ""
    return Drawn(
        figures,
        f"It repeats an experiment of {paper.paper} ({experiment.source}), which {_linked(paper)} "
        f"discusses. The [scoreboard](../scoreboard.md#{experiment.name}) has its table.{changes}",
    )


def _linked(paper: Evaluation) -> str:
    return f"[{Path(paper.document).name}](../../{paper.document})"


def _section(scenario: Scenario) -> str:
    schemes = ", ".join(scheme_title(name) for name in scenario.schemes)
    about = " ".join(scenario.description.split())
    file = resources.scenarios()[scenario.name].relative_to(resources.path("scenarios").parent)
    return (
        f"## {scenario.name}\n\n**{scenario.title}.** {escaped(about)}\n\n"
        f"Schemes: {schemes}. File: `{file}`.\n"
    )


def _title(group: str) -> str:
    if group == "general":
        return "Scenarios of any scheme"
    return f"Scenarios of {scheme_title(group.replace('_', '-'))}"


def _index(groups: Mapping[str, Sequence[str]]) -> str:
    parts = [
        "# The scenarios that ship\n\n"
        "Each scenario is an experiment that one command runs, and a file to begin a scenario of "
        "your own with: `netkv scenario show NAME` prints it. "
        "[scenarios.md](../../use/scenarios.md) explains the files.\n"
    ]
    for group, names in sorted(groups.items(), key=lambda item: item[0] != "general"):
        rows = [(f"[{name}]({group}.md#{name})", _scenario(name).title) for name in names]
        parts.append(f"## {_title(group)}\n\n{table(['scenario', 'what it is about'], rows)}")
    return "\n".join(parts)
