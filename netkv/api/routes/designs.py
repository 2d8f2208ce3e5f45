"""The routes of designs for FPGAs: those that ship, and those that run live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path

from netkv.api.errors import NotFoundError, RequestFieldError
from netkv.api.models.designs import (
    DesignCounters,
    DesignDetails,
    DesignMemory,
    DesignPort,
    DesignRegister,
    DesignRegisters,
    DesignResource,
    Designs,
    DesignSummary,
    DesignSynthesis,
    RegisterValue,
    RegisterWrite,
    RunningDesign,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.errors import NetkvError, UsageError, suggest

if TYPE_CHECKING:
    from netkv.model.manifest import Manifest

_RESOURCES = ("lut", "ff", "bram")

Register = Annotated[
    str,
    Path(
        pattern=r"^[a-z][a-z0-9_-]*(\.[0-9]+)?$",
        max_length=100,
        description="Name of a register, with its index if there are several.",
    ),
]

routes = APIRouter(tags=["designs"])


@routes.get("/designs")
def list_designs() -> Designs:
    """The designs that ship with netkv, and whether they are built."""
    from netkv.fpga import build
    from netkv.model import manifest

    designs = [manifest.load(file) for file in manifest.files().values()]
    built: dict[str, bool] = {}
    problem = None
    try:
        built = build.built(designs)
    except NetkvError as error:
        problem = str(error)
    return Designs(
        designs=[_summary(each, built=built.get(each.name, False)) for each in designs],
        problem=problem,
    )


@routes.get("/designs/{name}", responses=responses(404))
def show_design(name: Name) -> DesignDetails:
    """A design: its ports, registers, and what it takes of an FPGA beside the paper."""
    from netkv.fpga import build

    manifest = _find(name)
    problem = None
    built = False
    try:
        built = build.built([manifest]).get(name, False)
    except NetkvError as error:
        problem = str(error)
    return _details(manifest, built=built, problem=problem)


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


@routes.get("/running-designs/{name}/registers", responses=responses(404))
def show_registers(name: Name) -> DesignRegisters:
    """The registers of a design that runs live."""
    return _registers(name)


@routes.put("/running-designs/{name}/registers/{register}", responses=responses(404))
def write_register(name: Name, register: Register, body: RegisterWrite) -> DesignRegisters:
    """Write a register of a design that runs live; the registers afterwards."""
    from netkv.fpga import live, replay

    design = found(lambda each: live.request(each, {"do": "info"}), name)["design"]
    manifest = _find(design)
    found(manifest.register, register)
    try:
        address, value = replay.setting(manifest, f"{register}={body.value}")
    except UsageError as error:
        raise RequestFieldError(str(error), "value") from error
    live.request(name, {"do": "write", "address": address, "value": value})
    return _registers(name)


def _find(name: str) -> Manifest:
    from netkv.model import manifest

    if name not in manifest.files():
        raise NotFoundError(
            f"There is no design '{name}'. {suggest(name, manifest.files(), label='Designs')}"
        )
    return manifest.find(name)


def _registers(name: str) -> DesignRegisters:
    from netkv.fpga import live
    from netkv.model import manifest

    about = found(lambda each: live.request(each, {"do": "info"}), name)
    values = live.request(name, {"do": "registers"})["registers"]
    named: dict[str, dict[int, str]] = {}
    # A design of a manifest of one's own has no names here.
    if about["design"] in manifest.files():
        for register in _find(about["design"]).registers:
            meanings = {value: text for text, value in register.values.items()}
            named |= {each: meanings for each, _ in register.addresses()}
    return DesignRegisters(
        name=name,
        design=about["design"],
        registers=[
            RegisterValue(name=each, value=value, meaning=named.get(each, {}).get(value))
            for each, value in values.items()
        ],
    )


def _details(manifest: Manifest, *, built: bool, problem: str | None) -> DesignDetails:
    from netkv.fpga import synth

    synthesis = None
    try:
        synthesis = synth.kept(manifest)
    except NetkvError as error:
        problem = problem or str(error)
    judged = {} if synthesis is None else synth.verdicts(manifest, synthesis)
    return DesignDetails(
        **_summary(manifest, built=built).model_dump(),
        top=manifest.top,
        word_bytes=manifest.word_bytes,
        port_details=[DesignPort(**each.model_dump()) for each in manifest.ports],
        memories=[
            DesignMemory(name=each.name, description=each.description) for each in manifest.memories
        ],
        registers=[
            DesignRegister(**each.model_dump(exclude={"stride"})) for each in manifest.registers
        ],
        counters=[
            name
            for register in manifest.registers
            if register.kind == "counter"
            for name, _ in register.addresses()
        ],
        resource_details={name: _resource(manifest, name, judged) for name in _RESOURCES},
        synthesis=None
        if synthesis is None
        else DesignSynthesis(
            yosys=synthesis.yosys,
            seconds=synthesis.seconds,
            latches=synthesis.latches,
            cells=dict(synthesis.cells),
        ),
        problem=problem,
    )


def _resource(
    manifest: Manifest, name: str, judged: Mapping[str, Mapping[str, Any]]
) -> DesignResource:
    if name in judged:
        return DesignResource(**judged[name])
    band = getattr(manifest.resources, name)
    return DesignResource(
        found=None,
        expected=band and band.expected,
        tolerance=band and band.tolerance,
        paper=band and band.paper,
        ok=None,
    )


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
