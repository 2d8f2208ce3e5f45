"""The routes of designs for FPGAs: those that ship, and those that run live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from netkv.api.context import Context
from netkv.api.models.designs import DesignCounters, Designs, DesignSummary, RunningDesign
from netkv.api.parameters import Name
from netkv.api.problems import NotFoundError, responses
from netkv.errors import NetkvError, UsageError

if TYPE_CHECKING:
    from netkv.fpga.manifest import Manifest

_RESOURCES = ("lut", "ff", "bram")


def router(_context: Context) -> APIRouter:
    """The routes of designs."""
    routes = APIRouter(tags=["designs"])

    @routes.get("/designs")
    def list_designs() -> Designs:
        """The designs that ship with netkv, and whether they are built."""
        from netkv.fpga import build, manifest

        found = [manifest.load(file) for file in manifest.files().values()]
        built: dict[str, bool] = {}
        problem = None
        try:
            built = build.built(found)
        except NetkvError as error:
            problem = str(error)
        return Designs(
            designs=[_summary(each, built=built.get(each.name, False)) for each in found],
            problem=problem,
        )

    @routes.get("/running-designs")
    def list_running() -> list[RunningDesign]:
        """The designs that run live (`netkv fpga run --live`, cards of labs)."""
        from netkv.fpga import live

        running = []
        for name in live.names():
            try:
                about = live.request(name, {"do": "info"})
            except NetkvError:  # it has just ended, or was killed
                continue
            running.append(RunningDesign(name=name, **about))
        return running

    @routes.get("/running-designs/{name}", responses=responses(404))
    def show_counters(name: Name) -> DesignCounters:
        """The counters of a design that runs live."""
        from netkv.fpga import live

        try:
            counters = live.request(name, {"do": "counters"})
            statistics = live.request(name, {"do": "statistics"})
        except UsageError as error:
            raise NotFoundError(str(error)) from error
        return DesignCounters(name=name, **counters, **statistics)

    return routes


def _summary(manifest: Manifest, *, built: bool) -> DesignSummary:
    bands = {name: band for name in _RESOURCES if (band := getattr(manifest.resources, name))}
    return DesignSummary(
        name=manifest.name,
        title=manifest.title,
        description=manifest.description,
        clock_mhz=manifest.clock_mhz,
        parameters=manifest.module_parameters,
        ports=[port.name for port in manifest.ports],
        resources={name: band.expected for name, band in bands.items()},
        paper={name: band.paper for name, band in bands.items() if band.paper is not None},
        built=built,
    )
