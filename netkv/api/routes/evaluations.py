"""The papers' evaluations beside their repetitions, as `netkv reproduce` compares them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from netkv import evaluation, resources
from netkv.api import figure_files
from netkv.api.errors import NotFoundError
from netkv.api.models.figures import (
    ClaimRow,
    ClaimSpread,
    EvaluationSummary,
    ExperimentFigures,
    ExperimentSummary,
    NearRows,
    Scores,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.evaluation import Evaluation, Experiment, Row, scores
from netkv.evaluation.rows import Judged, Spread
from netkv.evaluation.table import reported

routes = APIRouter(tags=["figures"])


@routes.get("/evaluations")
def list_evaluations() -> list[EvaluationSummary]:
    """The papers whose evaluations are repeated, with their experiments."""
    return [_paper(name, evaluation.load(name)) for name in evaluation.names()]


@routes.get("/evaluations/{evaluation_name}/{experiment}", responses=responses(404))
def show_experiment(evaluation_name: Name, experiment: Name) -> ExperimentFigures:
    """The figures of an experiment beside those of its paper."""
    from netkv.report import papers

    paper, own, rows = _experiment(evaluation_name, experiment)
    return ExperimentFigures(
        paper=paper.paper,
        experiment=_summary(own, scores.of_rows(rows)),
        command=f"netkv reproduce {experiment}",
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


def _experiment(paper_name: str, experiment: str) -> tuple[Evaluation, Experiment, list[Row]]:
    paper = found(evaluation.load, paper_name)
    own = found(paper.experiment, experiment)
    rows = scores.read(paper, own, resources.path("evaluation"))
    if rows is None:
        raise NotFoundError(
            f"There are no figures of experiment '{own.name}'. "
            f"'netkv reproduce {own.name}' measures them."
        )
    return paper, own, rows


def _paper(name: str, paper: Evaluation) -> EvaluationSummary:
    found = scores.of_paper(paper, resources.path("evaluation"))
    return EvaluationSummary(
        name=name,
        paper=paper.paper,
        scores=_scores(scores.total(paper, found)),
        experiments=[_summary(each, found.get(each.name)) for each in paper.experiments],
    )


def _summary(experiment: Experiment, found: scores.Scores | None) -> ExperimentSummary:
    return ExperimentSummary(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        scenario=experiment.scenario,
        changes=experiment.changes,
        counted=not (experiment.variant or experiment.control),
        measured=found is not None,
        scores=_scores(found or scores.Scores()),
    )


def _scores(found: scores.Scores) -> Scores:
    return Scores(
        by_seed=_near(found.by_seed.figures),
        as_published=_near(found.published.figures),
        alike=_near(found.alike.figures),
        predicted=_near(found.alike.predicted),
        direction=found.alike.direction,
        text=_near(found.alike.text),
        words=_near(found.alike.words),
        moved=_near(found.alike.moved),
    )


def _near(count: scores.Count) -> NearRows:
    return NearRows(rows=count.rows, near=count.near)


def _spread(found: Spread, judged: Judged) -> ClaimSpread:
    return ClaimSpread(
        mean=found.mean,
        low=found.low,
        high=found.high,
        seeds=found.seeds,
        difference=judged.difference,
        verdict=judged.verdict,
        holds=judged.holds,
    )


def _row(row: Row) -> ClaimRow:
    published = row.published
    return ClaimRow(
        quantity=row.claim.name,
        at=row.point,
        paper=reported(row.reported, row.claim.digits),
        artefact=row.listed,
        kind=row.alike.kind,
        unlike=row.claim.unlike,
        cause=row.claim.cause,
        cause_shown_by=row.claim.cause_shown_by,
        by_seed=_spread(row.measured, row.by_seed),
        as_published=None if published is None else _spread(published, row.as_published),
        digits=row.claim.digits,
    )
