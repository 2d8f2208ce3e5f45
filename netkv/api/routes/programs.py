"""The routes of P4 programs: those that ship, compilation of text, and traces of packets."""

from __future__ import annotations

import functools

from fastapi import APIRouter

from netkv.api.models.programs import (
    ProgramCheck,
    ProgramDetails,
    ProgramSummary,
    SourceText,
    TraceExample,
    TraceRequest,
    TraceResult,
)
from netkv.api.parameters import Name
from netkv.api.problems import found, responses
from netkv.api.programs import compiling, recording, shipped, tracing
from netkv.api.sandbox import Sandbox

_sandbox = Sandbox()

routes = APIRouter(tags=["programs"])


@routes.get("/programs")
def list_programs() -> list[ProgramSummary]:
    """The P4 programs that ship, with their tables, actions, registers and headers."""
    return [shipped.summary(each) for each in shipped.programs().values()]


@routes.get("/programs/{name}", responses=responses(404))
def show_program(name: Name) -> ProgramDetails:
    """A program with its P4Info, its sources, and the resources that it needs of a switch."""
    program = found(shipped.program, name)
    about = shipped.summary(program)
    return ProgramDetails(
        **about.model_dump(),
        p4info=shipped.p4info(program),
        sources=shipped.sources(about.files),
        budget=shipped.budget(program),
    )


@routes.post("/programs/check", responses=responses(429))
def check_program(body: SourceText) -> ProgramCheck:
    """Compile a program. Its errors are part of the result."""
    return _sandbox.run(compiling.check, body, "The compilation")


@routes.get("/programs/{name}/examples", responses=responses(404, 429))
def list_examples(name: Name) -> list[TraceExample]:
    """Ready requests for a trace: what the control plane of the program's scheme sets up."""
    return _examples(name, shipped.changed(found(shipped.program, name).file))


@routes.post(
    "/programs/{name}/trace",
    responses=responses(404, 429),
    response_model_exclude_none=True,
)
def trace_packets(name: Name, body: TraceRequest) -> TraceResult:
    """Send packets through a program that ships, or one of the body (`source`), and return
    every step of each."""
    if name != shipped.SOURCE:
        found(shipped.program, name)
    return _sandbox.run(tracing.trace, tracing.Job(name, body), "The trace")


@functools.lru_cache(maxsize=64)
def _examples(name: str, _changed: float) -> list[TraceExample]:
    """The examples of a program; `_changed`: when its source was changed."""
    return _sandbox.run(recording.examples, name, "The recording of the examples", seconds=60)
