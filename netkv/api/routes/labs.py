"""Labs: racks of processes that are up, with their nodes, faults and samples."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.concurrency import run_in_threadpool

from netkv.api import files, labs
from netkv.api.context import Context, Current
from netkv.api.errors import ConflictError, LimitError, NotFoundError, RequestFieldError
from netkv.api.models.base import Empty
from netkv.api.models.labs import (
    MAX_WAIT_S,
    CachedKeys,
    FaultInForce,
    FaultRequest,
    HotKey,
    Lab,
    LabNode,
    LabRemoved,
    LabRequest,
    LabSamples,
    LabSummary,
    LoadRequest,
    LogLine,
    LogPart,
    NodeDetails,
)
from netkv.api.models.programs import Packet
from netkv.api.parameters import Name
from netkv.api.problems import responses
from netkv.errors import FieldError, MisfitError, OptionsError, UsageError, sentence
from netkv.events.event import action_of
from netkv.labs import daemon
from netkv.live import log_file, state
from netkv.live.feed import MAX_SAMPLES
from netkv.p4rt.inspection import CounterValue, TableContents
from netkv.scenarios.requests import MAX_CAPTURE_S, MAX_FRAMES, MAX_KEYS
from netkv.schemes.spec import RackSpec

_POLL_S = 0.1
_START_S = 60.0
"""Time-out for the start of a node, which may load records."""
_LOG_BYTES = 256 * 1024

Offset = Annotated[int, Query(ge=0, description="Number of the first one.")]
Limit = Annotated[int, Query(ge=0, le=MAX_KEYS, description="How many at most.")]
ObjectName = Annotated[
    str,
    Path(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=200, description="Its name in P4Info."),
]

routes = APIRouter(tags=["labs"])


@routes.get("/labs")
def list_labs() -> list[LabSummary]:
    """The labs that are up, and the racks of live runs."""
    return labs.summaries()


@routes.get("/labs/{name}", responses=responses(404))
def show_lab(name: Name) -> Lab:
    """A lab with its topology, the state of its nodes, its events and its faults."""
    return labs.details(labs.find(name))


@routes.post("/labs", status_code=202, responses=responses(409, 422, 429))
async def create_lab(
    context: Current,
    request: LabRequest,
    wait: Annotated[
        float,
        Query(ge=0, le=MAX_WAIT_S, description="Seconds to wait until it is up, or is not."),
    ] = 0.0,
) -> Lab:
    """Bring a lab up, as `netkv up` does. It stays up until it is deleted.

    The answer comes at once, with the state `starting`, or after `wait` seconds at most. A lab
    that does not come up has the state `broken`, and `text` the reason, until it is deleted or
    another one is brought up.
    """
    await run_in_threadpool(_begin, context, request)
    deadline = time.monotonic() + wait
    while (found := await asyncio.to_thread(labs.find, request.name)).state == "starting":
        if not found.alive or time.monotonic() >= deadline:
            break
        await asyncio.sleep(_POLL_S)
    return await asyncio.to_thread(labs.details, found)


@routes.delete("/labs/{name}", responses=responses(404, 409))
def delete_lab(name: Name) -> LabRemoved:
    """Take a lab down, as `netkv down` does: no process or file of it is left."""
    lab = labs.find(name)
    if lab.kind == "run" and lab.alive:
        raise ConflictError(f"The lab '{name}' belongs to a run, which ends it. Stop the run.")
    return LabRemoved(name=name, was_up=daemon.down(name))


@routes.get("/labs/{name}/samples", responses=responses(404, 409))
def list_samples(
    name: Name,
    after: Annotated[
        int,
        Query(ge=-MAX_SAMPLES, description="Number of the last known sample; -N: the last N."),
    ] = 0,
) -> LabSamples:
    """The rates of a lab in each second, the oldest first, after a number.

    A lab is sampled while somebody asks at least every 90 seconds. Any number of readers get
    the same samples.
    """
    lab = labs.find(name)
    return LabSamples(created=lab.created, samples=labs.samples(lab, after))


@routes.post("/labs/{name}/faults", responses=responses(404, 409, 422))
def inject_fault(name: Name, request: FaultRequest) -> list[FaultInForce]:
    """Inject a fault now, also into a live run; returns the faults in force."""
    lab = labs.find(name)
    event = request.model_dump(mode="json", exclude_none=True)
    duration = event.pop("duration", None)
    _check_target(lab, event)
    labs.request(lab, {"do": "fault", "event": event, "duration": duration}, _START_S)
    return [FaultInForce(**it) for it in labs.status(lab).get("faults", [])]


@routes.post("/labs/{name}/load", responses=responses(404, 409, 422))
def change_load(name: Name, request: LoadRequest) -> LoadRequest:
    """Start or stop the load generator of a lab, or change how it sends requests."""
    lab = labs.find(name)
    if lab.kind == "run":
        raise ConflictError(f"The lab '{name}' belongs to a run, which controls the load.")
    if request.rate is not None and request.outstanding is not None:
        text = "A load has either a 'rate' or a number 'outstanding', not both."
        raise RequestFieldError(text, "outstanding")
    for field in ("rate", "outstanding"):
        if (value := getattr(request, field)) is not None:
            labs.request(lab, {"do": "client", "command": {"do": field, "value": value}})
    phase = "measure" if request.running else "drain"
    labs.request(lab, {"do": "client", "command": {"do": "phase", "name": phase}})
    return request


@routes.get("/labs/{name}/hottest", responses=responses(404, 409))
def list_hottest_keys(name: Name, limit: Limit = 20) -> list[HotKey]:
    """The most popular keys of the load generator at this moment, and which are cached."""
    answer = labs.request(labs.find(name), {"do": "hottest", "limit": max(limit, 1)})
    return [
        HotKey(rank=rank, key=key, cached=cached)
        for rank, (key, cached) in enumerate(answer["keys"][:limit], start=1)
    ]


@routes.get("/labs/{name}/nodes/{node}", responses=responses(404, 409))
async def show_node(name: Name, node: Name) -> NodeDetails:
    """A node with its counters, and the tables of a switch."""
    lab = await asyncio.to_thread(labs.find, name)
    return await labs.node_details(lab, node)


@routes.post("/labs/{name}/nodes/{node}/start", responses=responses(404, 409))
def start_node(name: Name, node: Name, _nothing: Empty | None = None) -> LabNode:
    """Start a node, as `netkv node start` does."""
    return _changed(name, node, "start")


@routes.post("/labs/{name}/nodes/{node}/stop", responses=responses(404, 409))
def stop_node(name: Name, node: Name, _nothing: Empty | None = None) -> LabNode:
    """Stop a node in order, as `netkv node stop` does."""
    return _changed(name, node, "stop-node")


@routes.post("/labs/{name}/nodes/{node}/kill", responses=responses(404, 409))
def kill_node(name: Name, node: Name, _nothing: Empty | None = None) -> LabNode:
    """Kill a node, as `netkv node kill` does."""
    return _changed(name, node, "kill")


@routes.get("/labs/{name}/nodes/{node}/tables/{table}", responses=responses(404, 409))
async def show_table(
    name: Name, node: Name, table: ObjectName, offset: Offset = 0, limit: Limit = 100
) -> TableContents:
    """Entries of a table of a switch, in its order."""
    found = await asyncio.to_thread(_node, name, node)
    return await labs.read(found, lambda it: it.table(table, offset, limit))


@routes.get("/labs/{name}/nodes/{node}/counters/{counter}", responses=responses(404, 409))
async def show_counter(
    name: Name, node: Name, counter: ObjectName, offset: Offset = 0, limit: Limit = 100
) -> list[CounterValue]:
    """Cells of a counter of a switch."""
    found = await asyncio.to_thread(_node, name, node)
    return await labs.read(found, lambda it: it.counter(counter, offset, limit))


@routes.get("/labs/{name}/nodes/{node}/cached", responses=responses(404, 409))
def list_cached_keys(name: Name, node: Name, offset: Offset = 0, limit: Limit = 100) -> CachedKeys:
    """The keys that a switch has cached, as its controller knows."""
    lab = labs.find(name)
    if labs.find_node(lab, node).kind != "switch":
        raise NotFoundError(f"The node '{node}' is no switch: it caches no keys.")
    message = {"do": "cached", "node": node, "offset": offset, "limit": limit}
    return CachedKeys(**labs.request(lab, message))


@routes.get("/labs/{name}/nodes/{node}/packets", responses=responses(404, 409))
def list_arriving_packets(
    name: Name,
    node: Name,
    limit: Annotated[int, Query(ge=1, le=MAX_FRAMES, description="How many at most.")] = 16,
    seconds: Annotated[
        float, Query(ge=0, le=MAX_CAPTURE_S, description="For how long to wait for them.")
    ] = 1.0,
) -> list[Packet]:
    """The next packets that arrive at a switch, as a trace takes them
    (`POST /programs/NAME/trace`)."""
    lab = labs.find(name)
    if labs.find_node(lab, node).kind != "switch":
        raise NotFoundError(f"The node '{node}' is no switch: it runs no program.")
    message = {"do": "capture", "node": node, "limit": limit, "seconds": seconds}
    try:
        found = labs.request(lab, message, labs.ANSWER_S + seconds)
    except RequestFieldError as error:
        raise ConflictError(str(error)) from error
    title = f"arrived at {node} of {name}"
    return [Packet(port=port, frame=frame, title=title) for port, frame in found["frames"]]


@routes.get("/labs/{name}/nodes/{node}/log", responses=responses(404))
def show_node_log(
    name: Name,
    node: Annotated[Name, Path(description="A node, or `supervisor`.")],
    lines: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
    before: Annotated[
        int | None, Query(ge=0, description="`start` of a later part; left out: the end.")
    ] = None,
) -> LogPart:
    """The end of the log of a node; the controller writes that of `supervisor`."""
    lab = labs.find(name)
    if node != "supervisor":
        labs.check_node(lab, node)
    log = "supervisor" if node == "controller" else node
    try:
        found = log_file.tail(
            lab.directory / "logs" / f"{log}.log", lines, before, max_bytes=_LOG_BYTES
        )
    except OSError as error:
        raise NotFoundError(f"The node '{node}' of the lab '{name}' has no log.") from error
    texts = [LogLine(time=line.time, text=line.text) for line in found.lines]
    return LogPart(node=node, lines=texts, start=found.start, end=found.end)


def _node(name: str, node: str) -> LabNode:
    return labs.find_node(labs.find(name), node)


def _changed(name: str, node: str, do: str) -> LabNode:
    """The node after a request to the supervisor."""
    lab = labs.find(name)
    labs.check_node(lab, node)
    try:
        labs.request(lab, {"do": do, "node": node}, _START_S)
    except RequestFieldError as error:
        raise ConflictError(str(error)) from error
    return labs.find_node(labs.find(name), node)


_beginning = threading.Lock()
"""Held from the check of the number of labs until the next one is counted."""


def _begin(context: Context, request: LabRequest) -> None:
    """Checks a request and starts the supervisor."""
    spec = context.checks.run(requested_rack, request, "The check")
    with _beginning:
        _check_room(request.name)
        daemon.begin(request.name, spec)


def _check_room(name: str) -> None:
    """Raises an error if a lab of that name is up, or too many are."""
    up = [lab for lab in labs.every() if lab.alive and lab.kind == "lab"]
    if any(lab.name == name for lab in up):
        raise ConflictError(
            f"The lab '{name}' is up already. Delete it first, or choose another name."
        )
    if len(up) >= labs.MAX_LABS:
        raise LimitError(
            f"{len(up)} labs are up ({', '.join(lab.name for lab in up)}), and no more than "
            f"{labs.MAX_LABS} can be. Delete one first."
        )


def requested_rack(request: LabRequest) -> RackSpec:
    """The rack that is requested; raises `RequestFieldError`."""
    options = request.options()
    try:
        spec = options.rack()
        files.refuse(spec.lab)
        daemon.check(spec)
    except OptionsError as error:
        fields = {f"--set {item}": f"set.{at}" for at, item in enumerate(request.set)}
        fields |= {
            f"--set {path}={value}": name for name, (path, value) in options.named_changes().items()
        }
        text = "\n".join(sentence(each.text) for each in error.wrong)
        raise RequestFieldError(text, fields.get(error.wrong[0].where, "")) from error
    except MisfitError as error:
        named = {path: name for name, (path, _) in options.named_changes().items()}
        path = ".".join(map(str, error.path))
        raise RequestFieldError(str(error), named.get(path, "set" if request.set else "")) from None
    except RequestFieldError:
        raise
    except UsageError as error:
        raise RequestFieldError(str(error), _named_wrongly(request)) from error
    return spec


def _named_wrongly(request: LabRequest) -> str:
    """Which of the names of scenario and scheme does not exist, if one does not."""
    from netkv import schemes
    from netkv.scenarios import loader

    for field, find in (("scenario", loader.find), ("scheme", schemes.get)):
        name = getattr(request, field)
        try:
            if name is not None:
                find(name)
        except UsageError:
            return field
    return ""


def _check_target(lab: state.Lab, event: dict[str, Any]) -> None:
    """Raises `NotFoundError` if the target of a fault is no node or cable of the lab."""
    try:
        target = action_of(event).node
    except FieldError as error:
        field = ".".join(str(part) for part in error.path)
        raise RequestFieldError(sentence(str(error)), field) from None
    # The names of the switches at the ends of a cable.
    for node in () if target is None else target.split(":"):
        labs.check_node(lab, node)
