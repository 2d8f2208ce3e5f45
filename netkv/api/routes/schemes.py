"""The routes of schemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from netkv import schemes
from netkv.api.models.schemes import (
    SchemeDetails,
    SchemeMetric,
    SchemeProgram,
    Schemes,
    SchemeSummary,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.api.programs import shipped
from netkv.metrics import Metric
from netkv.metrics.common import COMMON
from netkv.model.nodes import ClientCard, Coordinator
from netkv.schemes import Scheme, metric_table, registry
from netkv.schemes.description import describe

if TYPE_CHECKING:
    from netkv.model.network import Tier

routes = APIRouter(tags=["schemes"])


@routes.get("/schemes")
def list_schemes() -> Schemes:
    """The schemes, netkv's own and those of installed packages."""
    return Schemes(
        schemes=[SchemeSummary(**_summary(each)) for each in schemes.all_schemes()],
        problems=list(registry.catalogue().problems.values()),
    )


@routes.get("/schemes/{name}", responses=responses(404))
def show_scheme(name: Name) -> SchemeDetails:
    """A scheme with its roles, limits, metrics, and its options as a JSON schema."""
    scheme = found(schemes.get, name)
    about = describe(scheme)
    return SchemeDetails(
        **_summary(scheme),
        **{
            each: about[each]
            for each in (
                "server_role",
                "client_role",
                "recovery_phases",
                "limits",
                "topology",
            )
        },
        options_schema=_options_schema(scheme),
        metrics=[_metric(each) for each in metric_table.of_scheme(scheme)],
    )


def _summary(scheme: Scheme) -> dict[str, Any]:
    return {
        "name": scheme.name,
        "title": scheme.about.title,
        "description": scheme.about.summary,
        "paper": scheme.about.paper,
        "kind": _kind(scheme),
        "package": registry.catalogue().packages.get(scheme.name),
        "programs": list(_programs(scheme)),
    }


def _kind(scheme: Scheme) -> str:
    if scheme.card is not None:
        return "client-cards" if scheme.has(ClientCard) else "server-cards"
    if scheme.has(Coordinator):
        return "coordinator"
    if scheme.traits.multigets:
        return "multigets"
    return "switch-cache" if scheme.traits.caches else "forwarding"


def _programs(scheme: Scheme) -> Iterator[SchemeProgram]:
    names = {each.file: (each.name, each.path) for each in shipped.programs().values()}
    files: dict[Tier, Any] = {"servers": scheme.program_path, **scheme.other_paths}
    for tier, file in files.items():
        name, path = names.get(file, (None, str(file)))
        yield SchemeProgram(tier=tier, name=name, file=path)


def _options_schema(scheme: Scheme) -> dict[str, Any]:
    schema = scheme.options.model_json_schema()
    for name, value in scheme.options.left_out.items():
        schema["properties"][name]["default"] = value
    return schema


def _metric(metric: Metric) -> SchemeMetric:
    return SchemeMetric(
        name=metric.name,
        label=metric.label,
        meaning=metric.meaning,
        unit=metric.unit,
        sense=metric.sense,
        of_runs=metric.of_runs,
        over_time=metric.time is not None,
        own=metric not in COMMON,
    )
