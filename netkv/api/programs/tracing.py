"""The way of packets through a program, from the engine's interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netkv import _engine
from netkv.api.errors import RequestFieldError
from netkv.api.models.programs import (
    Frame,
    Step,
    TracedPacket,
    TraceRequest,
    TraceResult,
)
from netkv.api.programs import compiling, interface, packets, shipped, state

MAX_STEPS = 20_000
"""Steps in a response."""

_SOURCE_ONLY = "'{field}' is for a program of your own: POST /programs/source/trace."


@dataclass(frozen=True)
class Job:
    """A request for a program; `program` is its name, or `source`."""

    program: str
    request: TraceRequest


def trace(job: Job) -> TraceResult:
    """Send the packets of a request through the program, one after the other."""
    bundle = _compiled(job)
    request = job.request
    frames = [packets.frame(packet, f"packets.{at}") for at, packet in enumerate(request.packets)]
    # Only the interpreter traces steps.
    switch = _engine.Switch(bundle, request.seed, "interpreter", request.pipelines)
    schema = interface.schema(bundle)
    touched = state.write(switch, schema, request.setup)
    traced, left = [], MAX_STEPS
    for packet, data in zip(request.packets, frames, strict=True):
        out, document, text = switch.trace(packet.port, data)
        events = document["events"]
        touched.add(events)
        traced.append(
            TracedPacket(
                title=packet.title,
                arrives=_frame(packet.port, data),
                leaves=[_frame(port, each) for port, each in out],
                steps=list(_steps(events[:left], text)),
                steps_left_out=max(0, len(events) - left),
            )
        )
        left = max(0, left - len(events))
    return TraceResult(packets=traced, state=state.after(switch, schema, touched))


def _compiled(job: Job) -> bytes:
    request = job.request
    if job.program == shipped.SOURCE:
        if request.source is None:
            raise RequestFieldError("'source' is the text of the program.", "source")
        try:
            return compiling.compiled(request.source, request.files, request.defines or {})
        except _engine.CompileError as error:
            text = compiling.without_paths(str(error))
            raise RequestFieldError(f"The program does not compile.\n{text}", "source") from error
    for field in ("source", "files"):
        if getattr(request, field):
            raise RequestFieldError(_SOURCE_ONLY.format(field=field), field)
    program = shipped.program(job.program)
    macros = shipped.defines(program) if request.defines is None else request.defines
    return shipped.compiled(program, macros)


def _frame(port: int, data: bytes) -> Frame:
    return Frame(port=port, bytes=data.hex(), message=packets.message(data))


def _steps(events: list[Mapping[str, Any]], text: str) -> Iterator[Step]:
    """The steps of a packet. The text has one line for each, or more if a message has some."""
    lines = iter(text.split("\n"))
    for event in events:
        more = sum(value.count("\n") for value in event.values() if isinstance(value, str))
        shown = "\n".join(next(lines).strip() for _ in range(1 + more))
        file, line = event["file"], event["line"]
        details = {
            key: value
            for key, value in event.items()
            if key not in ("event", "file", "line", "graph", "text")
        }
        if "text" in event:
            details["operation"] = event["text"]
        yield Step(
            kind=event["event"],
            text=shown.removesuffix(f"  ({file}:{line})"),
            file=compiling.shown(file) if file else None,
            line=line or None,
            block=event["graph"],
            **details,
        )
