"""The papers' evaluations beside their repetitions, as `netkv evaluate` compares them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from netkv import evaluation, resources
from netkv.api import figure_files
from netkv.api.context import Context
from netkv.api.errors import NotFoundError
from netkv.api.models.figures import (
    ClaimRow,
    ClaimSpread,
    EvaluationSummary,
    ExperimentFigures,
    ExperimentSummary,
    NearRows,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.evaluation import Evaluation, Experiment, Row, scores
from netkv.evaluation.document import reported
from netkv.evaluation.scores import Score


def router(_context: Context) -> APIRouter:
    """The routes of evaluations."""
    routes = APIRouter(tags=["figures"])

    @routes.get("/evaluations")
    def list_evaluations() -> list[EvaluationSummary]:
        """The papers whose evaluations are repeated, with their experiments."""
        return [
            EvaluationSummary(
                name=name,
                paper=paper.paper,
                experiments=[_summary(paper, each) for each in paper.experiments],
            )
            for name in evaluation.names()
            for paper in [evaluation.load(name)]
        ]

    @routes.get("/evaluations/{evaluation_name}/{experiment}", responses=responses(404))
    def show_experiment(evaluation_name: Name, experiment: Name) -> ExperimentFigures:
        """The figures of an experiment beside those of its paper."""
        from netkv.report import papers

        paper, own, rows = _experiment(evaluation_name, experiment)
        return ExperimentFigures(
            paper=paper.paper,
            experiment=_summary(paper, own),
            command=f"netkv evaluate {evaluation_name} {experiment}",
            rows=[_row(row) for row in rows],
            figures=[figure_files.plotted(each) for each in papers.figures(own, rows)],
        )

    @routes.get(
        "/evaluations/{evaluation_name}/{experiment}/{name}.{kind}",
        responses={**responses(404), **figure_files.RESPONSES},
        response_class=Response,
    )
    def show_file(
        evaluation_name: Name, experiment: Name, name: Name, kind: figure_files.Kind
    ) -> Response:
        """One of these figures as a file in column width, or its numbers."""
        from netkv.report import papers

        _, own, rows = _experiment(evaluation_name, experiment)
        figures = {figure.name: figure for figure in papers.figures(own, rows)}
        if name not in figures:
            available = ", ".join(figures) or "none"
            raise NotFoundError(f"Experiment '{experiment}' has no figure '{name}': {available}.")
        return figure_files.response(figures[name], kind)

    return routes


def _experiment(paper_name: str, experiment: str) -> tuple[Evaluation, Experiment, list[Row]]:
    paper = found(evaluation.load, paper_name)
    own = found(paper.experiment, experiment)
    rows = scores.read(paper, own, resources.path("evaluation"))
    if rows is None:
        raise NotFoundError(
            f"There are no figures of experiment '{own.name}'. "
            f"'netkv evaluate {paper_name} {own.name}' measures them."
        )
    return paper, own, rows


def _summary(paper: Evaluation, experiment: Experiment) -> ExperimentSummary:
    rows = scores.read(paper, experiment, resources.path("evaluation"))
    found = scores.of_rows(rows or [])
    return ExperimentSummary(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        scenario=experiment.scenario,
        changes=experiment.changes,
        measured=rows is not None,
        by_seed=_near(found.by_seed),
        as_published=_near(found.published),
    )


def _near(score: Score) -> NearRows | None:
    return NearRows(rows=score.rows, near=score.near) if score.rows else None


def _published(row: Row) -> ClaimSpread | None:
    found = row.published
    if found is None:
        return None
    return ClaimSpread(
        mean=found.mean,
        low=found.low,
        high=found.high,
        seeds=found.seeds,
        difference=row.difference_as_published,
    )


def _row(row: Row) -> ClaimRow:
    return ClaimRow(
        quantity=row.claim.name,
        at=row.point,
        paper=reported(row.reported, row.claim.digits),
        artefact=row.listed,
        mean=row.measured.mean,
        low=row.measured.low,
        high=row.measured.high,
        seeds=row.measured.seeds,
        difference=row.difference,
        as_published=_published(row),
        digits=row.claim.digits,
    )
