"""The web application: the routes of the API and the files of the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from netkv import __version__, metrics, resources
from netkv.api import designs, problems
from netkv.api.downsample import MAX_POINTS, downsample
from netkv.api.guard import Guard
from netkv.api.launcher import Launcher
from netkv.api.models import (
    Activity,
    GroupVerdicts,
    Look,
    Looks,
    MetricInfo,
    Plots,
    PlottedFigure,
    Problem,
    RunRequest,
    ScenarioDetails,
    ScenarioSummary,
    Series,
)
from netkv.api.problems import NotFoundError
from netkv.api.stream import follow, parse_cursor
from netkv.errors import UsageError
from netkv.report import style
from netkv.runs import RunHead, RunRecord, Store, overview, walltime
from netkv.runs.compare import Comparison, compare
from netkv.runs.records import columns
from netkv.scenarios import loader, scheme_options
from netkv.scenarios.model import Scenario
from netkv.schemes import all_schemes

if TYPE_CHECKING:
    from netkv.report.plots import Drawn

_MAX_COMPARED = 500
_LOOKS = 100
"""Styles for each scheme: its runs on one page look different up to this number."""
RunId = Annotated[str, Path(max_length=200, description="Whole id of a run.")]
RunIds = Annotated[list[str], Query(max_length=_MAX_COMPARED, description="Ids of runs.")]
_PICTURES = {"svg": "image/svg+xml", "png": "image/png"}
T = TypeVar("T")


class _Page(StaticFiles):
    """The dashboard's files; the browser revalidates its cached copies at each request."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "no-cache"
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["path"].startswith("/api"):
            raise NotFoundError(f"There is nothing at {scope['path']}.")
        return await super().get_response(path, scope)


def create_app(store: Store, closing: asyncio.Event | None = None) -> FastAPI:
    """The application for a store. Event streams end when `closing` is set."""
    launcher = Launcher(store)
    closed = closing or asyncio.Event()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        closed.set()
        await asyncio.to_thread(launcher.close)

    app = FastAPI(
        title="netkv",
        version=__version__,
        summary="Runs of a testbed for in-network acceleration of key-value stores.",
        description=(
            "Rates are operations per second, latencies microseconds, times seconds. "
            'Every error is JSON: `{"error": "a sentence"}`.'
        ),
        openapi_url="/api/openapi.json",
        # FastAPI's documentation pages load their scripts from the network.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={422: {"model": Problem, "description": "The request is invalid."}},
    )
    app.add_middleware(Guard)
    problems.install(app)
    _add_runs(app, store)
    _add_plots(app, store)
    _add_scenarios(app, store)
    designs.add(app)
    _add_activity(app, launcher)
    _add_stream(app, store, launcher, closed)
    app.mount("/", _Page(directory=resources.path("web"), html=True), name="page")
    return app


def _add_runs(app: FastAPI, store: Store) -> None:
    @app.get("/api/runs", tags=["runs"])
    def list_runs(
        group: Annotated[str | None, Query(description="Only runs of this group.")] = None,
        scenario: Annotated[str | None, Query(description="Only runs of this scenario.")] = None,
        limit: Annotated[int, Query(ge=1, le=5000)] = 200,
    ) -> list[RunHead]:
        """Runs without their series, newest first."""
        return store.heads(group=group, scenario=scenario, limit=limit)

    @app.get("/api/runs/{run_id}", tags=["runs"], responses=_MISSING)
    def show_run(run_id: RunId) -> RunRecord:
        """The complete record of a run, as `netkv runs show --json` prints it."""
        return _found(store.record, run_id)

    @app.get("/api/runs/{run_id}/series", tags=["runs"], responses=_MISSING)
    def show_series(
        run_id: RunId,
        limit: Annotated[
            int, Query(ge=10, le=MAX_POINTS, description="Maximum number of points.")
        ] = MAX_POINTS,
    ) -> Series:
        """A run over time. In long runs, neighbouring intervals are joined to at most `limit`."""
        head = _found(store.head, run_id)
        samples, last = store.samples(run_id)
        points = downsample(samples, limit)
        return Series(
            run=head,
            interval=max((point.interval for point in points), default=1.0),
            columns=columns(points),
            events=store.events(run_id),
            last_sample=last,
        )

    @app.get("/api/compare", tags=["runs"], responses=_MISSING)
    def compare_runs(
        run: RunIds,
        baseline: Annotated[
            str | None,
            Query(max_length=200, description="Id of one of the runs, or one of their schemes."),
        ] = None,
    ) -> Comparison:
        """A comparison of runs; runs with the same settings are one row. Ratios are to the first
        scheme of the scenario at the same sweep point, unless `baseline` is given.
        """
        return compare([_found(store.record, each) for each in run], baseline)

    @app.get("/api/metrics", tags=["runs"])
    def list_metrics() -> list[MetricInfo]:
        """All metrics of runs, in the order of tables."""
        return [
            MetricInfo(
                name=each.name,
                label=each.label,
                unit=each.unit,
                sense=each.sense,
                repeats=each.repeats,
                time=each.time,
                column=each.column,
                schemes=[scheme.name for scheme in all_schemes() if each in scheme.metrics],
                not_shown=[scheme.name for scheme in all_schemes() if not each.shown(scheme)],
                meaning=each.meaning,
            )
            for each in metrics.all_metrics()
        ]

    @app.get("/api/groups/{group}/verdicts", tags=["runs"], responses=_MISSING)
    def show_verdicts(group: Annotated[str, Path(max_length=200)]) -> GroupVerdicts:
        """The verdicts on the expectations of the scenario; empty while the group runs."""
        if store.owner(group) is None:
            raise NotFoundError(f"There is no group '{group}'.")
        return GroupVerdicts(group=group, thresholds=store.thresholds(group))


def _add_plots(app: FastAPI, store: Store) -> None:
    @app.get("/api/looks", tags=["runs"])
    def show_looks() -> Looks:
        """Colours, dashes, markers and patterns of runs, as in the figures that netkv draws."""
        return Looks(
            schemes={
                each.name: [_look(style.of_scheme(each.name, at)) for at in range(_LOOKS)]
                for each in all_schemes()
            },
            others=[_look(style.neutral(at)) for at in range(_LOOKS)],
        )

    # Imported here: the drawing libraries take a second to import.
    def drawn(ids: list[str]) -> Drawn:
        from netkv.report.plots import defined

        return defined([_found(store.record, each) for each in ids])

    @app.get("/api/plots", tags=["runs"], responses=_MISSING)
    def show_plots(run: RunIds) -> Plots:
        """The figures that the scenarios of these runs define, in the form of plotly.js."""
        from netkv.report.interactive import plotly

        found = drawn(run)
        figures = []
        for figure in found.figures:
            parts = plotly(figure).to_plotly_json()
            figures.append(
                PlottedFigure(
                    name=figure.name,
                    title=figure.title,
                    data=parts["data"],
                    layout=parts["layout"],
                )
            )
        return Plots(figures=figures, left_out=found.left_out)

    @app.get(
        "/api/plots/{name}.{kind}",
        tags=["runs"],
        responses={**_MISSING, 200: {"content": {media: {} for media in _PICTURES.values()}}},
        response_class=Response,
    )
    def show_picture(
        name: Annotated[str, Path(max_length=200)], kind: Literal["svg", "png"], run: RunIds
    ) -> Response:
        """One of these figures as a file, as `netkv runs plot` writes it."""
        from netkv.report.drawing import draw

        figures = {figure.name: figure for figure in drawn(run).figures}
        if name not in figures:
            available = ", ".join(figures) or "none"
            raise NotFoundError(f"These runs have no figure '{name}'. Their figures: {available}.")
        return Response(
            draw([figures[name]], kind),
            media_type=_PICTURES[kind],
            headers={"content-disposition": f'attachment; filename="{name}.{kind}"'},
        )


def _add_scenarios(app: FastAPI, store: Store) -> None:
    @app.get("/api/scenarios", tags=["scenarios"])
    def list_scenarios() -> list[ScenarioSummary]:
        """The scenarios that ship with netkv."""
        history = walltime.History(store.timings())
        return [_summary(loader.load(file), history) for file in resources.scenarios()]

    @app.get("/api/scenarios/{name}", tags=["scenarios"], responses=_MISSING)
    def show_scenario(
        name: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)],
    ) -> ScenarioDetails:
        """A scenario with all its options, defaults included."""
        try:
            file = loader.find(name)
        except UsageError as error:
            raise NotFoundError(str(error)) from error
        scenario = loader.load(file)
        history = walltime.History(store.timings(scenario.name))
        return ScenarioDetails(
            **_summary(scenario, history).model_dump(),
            options=scheme_options.document(scenario),
            topologies=scheme_options.topologies(scenario),
        )


def _add_activity(app: FastAPI, launcher: Launcher) -> None:
    conflict: dict[int | str, dict[str, Any]] = {
        409: {
            "model": Problem,
            "description": "Another run is in progress, or there is no run to stop.",
        }
    }

    @app.get("/api/activity", tags=["activity"])
    def show_activity() -> Activity:
        """The runs in progress, if any."""
        return launcher.activity()

    @app.post("/api/activity", tags=["activity"], status_code=202, responses=conflict)
    def start_run(request: RunRequest) -> Activity:
        """Start a scenario, as `netkv scenario run` does. Only one can run at a time."""
        return launcher.start(request)

    @app.delete("/api/activity", tags=["activity"], status_code=202, responses=conflict)
    def stop_run() -> Activity:
        """Stop the scenario in progress, as Ctrl-C does. Its unfinished runs are cancelled."""
        return launcher.stop()


def _add_stream(app: FastAPI, store: Store, launcher: Launcher, closed: asyncio.Event) -> None:
    @app.get("/api/stream", tags=["activity"], response_class=EventSourceResponse)
    async def stream(
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> AsyncIterator[ServerSentEvent]:
        """New samples and events of all runs, and changes of the activity.

        The stream begins after the message `Last-Event-ID`; without this header, it begins now.
        """
        async for message in follow(store, launcher, parse_cursor(last_event_id), closed):
            yield message


_MISSING: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "The requested object does not exist."}
}


def _found(query: Callable[[str], T], key: str) -> T:
    """The result of a query of the store; raises `NotFoundError` if there is none."""
    try:
        return query(key)
    except UsageError as error:
        raise NotFoundError(str(error)) from error


def _look(found: style.Style) -> Look:
    return Look(line=found.plotly_line(), marker=found.plotly_marker(), bar=found.plotly_bar())


def _summary(scenario: Scenario, history: walltime.History) -> ScenarioSummary:
    found = overview.of_scenario(scenario, walltime.of_scenario(scenario, history))
    return ScenarioSummary.model_validate(asdict(found))
