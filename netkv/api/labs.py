"""Labs as the API reports them: from their files, and from the answers of their supervisors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from netkv.api.errors import ConflictError, NotFoundError, RequestFieldError
from netkv.api.models.labs import (
    Arbitration,
    ControllerDetails,
    FaultInForce,
    Lab,
    LabEvent,
    LabLink,
    LabNode,
    LabSample,
    LabSummary,
    NodeDetails,
)
from netkv.api.problems import found
from netkv.errors import NetkvError, sentence, suggest
from netkv.labs import daemon
from netkv.labs.daemon import RefusedError
from netkv.live import diagram, external_clients, state
from netkv.live.diagram import Diagram
from netkv.p4rt.client import ControllerError
from netkv.p4rt.errors import RpcError
from netkv.p4rt.inspection import Inspector, ProgramObjects
from netkv.schemes.spec import RackSpec

T = TypeVar("T")

MAX_LABS = 4
"""Labs that are up at a time; racks of runs do not count."""
ANSWER_S = 5.0
"""Seconds within which a supervisor has to answer a question about its rack."""


def find(name: str) -> state.Lab:
    """The lab of that name; raises `NotFoundError`."""
    return found(daemon.found, name)


def every() -> list[state.Lab]:
    """All labs on disk, those without a supervisor included."""
    return [lab for name in state.names() if (lab := state.load(name)) is not None]


def summary(lab: state.Lab) -> dict[str, Any]:
    """The fields of `LabSummary`."""
    now, text = daemon.state_of(lab)
    options = lab.spec.get("lab", {})
    return {
        "name": lab.name,
        "kind": lab.kind,
        "run": lab.run,
        "state": now,
        "text": text,
        "scheme": str(lab.spec.get("scheme", "")),
        "fabric": str(options.get("fabric", "")),
        "target": str(options.get("target", "")),
        "topology": str(options.get("topology", {}).get("kind", "")),
        "filled": lab.filled,
        "created": lab.created,
    }


def summaries() -> list[LabSummary]:
    """All labs."""
    return [LabSummary(**summary(lab)) for lab in every()]


def details(lab: state.Lab) -> Lab:
    """A lab with its topology, also if its supervisor does not answer."""
    answer = status(lab)
    drawn = drawing(lab)
    return Lab(
        **summary(lab),
        nodes=nodes(lab, drawn, answer),
        links=[LabLink.of(link) for link in drawn.links],
        events=[LabEvent.of(it) for it in answer.get("events", [])],
        # Those of a lab that an older version of netkv has brought up have no numbers.
        faults=[FaultInForce(**it) for it in answer.get("faults", []) if "id" in it],
        answers=bool(answer),
    )


def status(lab: state.Lab) -> dict[str, Any]:
    """The supervisor's report; empty if it does not answer."""
    if not lab.answers:
        return {}
    try:
        return daemon.request(lab.name, {"do": "status"}, ANSWER_S)
    except NetkvError:
        return {}


def drawing(lab: state.Lab) -> Diagram:
    """The topology of a lab."""
    return diagram.of_rack(_spec(lab))


def nodes(lab: state.Lab, drawn: Diagram, answer: dict[str, Any]) -> list[LabNode]:
    """The nodes with their state; `answer`: of `status`."""
    controller = answer.get("controller") or {}
    switches = controller.get("switches", {})
    servers = answer.get("p4runtime", {})
    programs = external_clients.of_lab(lab.directory, len(lab.external_clients))
    processes = lab.processes()
    found = []
    for node in drawn.nodes:
        process = processes.get(node.name, {"pid": None, "running": False, "host": None})
        pid, running = process["pid"], process["running"]
        if node.kind == "controller":
            running = bool(answer.get("controller_running"))
            pid = lab.supervisor.pid if running and lab.supervisor is not None else None
        program = programs.get(node.name)
        if program is not None:
            pid, running = program.process.pid, True
        at = switches.get(node.name)
        address, device_id = servers.get(node.name, (None, None))
        arbitration = None if at is None else Arbitration(**at)
        found.append(
            LabNode.of(
                node,
                pid=pid,
                host=process["host"],
                running=running,
                program=program.program if program is not None else None,
                p4runtime=address,
                device_id=device_id,
                arbitration=arbitration,
            )
        )
    return found


def find_node(lab: state.Lab, name: str) -> LabNode:
    """One node; raises `NotFoundError` with the names of the nodes."""
    drawn = drawing(lab)
    check_node(lab, name, drawn)
    return next(it for it in nodes(lab, drawn, status(lab)) if it.name == name)


def check_node(lab: state.Lab, name: str, drawn: Diagram | None = None) -> None:
    """Raises `NotFoundError` with the names of the nodes, if there is none of that name."""
    names = [it.name for it in (drawn or drawing(lab)).nodes]
    if name not in names:
        raise NotFoundError(
            f"There is no node '{name}' in the lab '{lab.name}'.\n"
            f"  {suggest(name, names, label='Nodes')}"
        )


def request(lab: state.Lab, message: dict[str, Any], timeout: float = ANSWER_S) -> dict[str, Any]:
    """A supervisor's answer. Raises `ConflictError` if there is none or if the rack is not ready
    for the request, and `RequestFieldError` if it does not support it."""
    now, text = daemon.state_of(lab)
    if not lab.answers:
        raise ConflictError(f"The lab '{lab.name}' is {now}. {text}".strip())
    try:
        return daemon.request(lab.name, message, timeout)
    except RefusedError as error:
        field = ".".join(str(part) for part in error.path)
        raise RequestFieldError(sentence(str(error)), field) from error
    except NetkvError as error:
        raise ConflictError(str(error)) from error


async def node_details(lab: state.Lab, name: str) -> NodeDetails:
    """A node with everything that it counts; raises `NotFoundError`."""
    node = await asyncio.to_thread(find_node, lab, name)
    found: dict[str, Any] = {}
    if lab.answers and node.kind != "external-client":
        found = await asyncio.to_thread(request, lab, {"do": "node", "node": name})
    objects, problem = None, None
    if node.kind == "switch":
        try:
            objects = await read(node, _objects)
        except ConflictError as error:
            problem = str(error)
    return NodeDetails(
        node=node,
        statistics=found.get("statistics", {}),
        registers=found.get("registers", {}),
        controllers=[ControllerDetails(**each) for each in found.get("controllers", [])],
        sample=found.get("sample"),
        tables=objects.tables if objects else [],
        counters=objects.counters if objects else [],
        problem=problem,
    )


async def _objects(inspector: Inspector) -> ProgramObjects:
    return inspector.objects()


async def read(node: LabNode, what: Callable[[Inspector], Awaitable[T]]) -> T:
    """Reads from the P4Runtime server of a switch; raises `NotFoundError` for another node and an
    unknown name, and `ConflictError` if the switch does not answer."""
    if node.kind != "switch":
        raise NotFoundError(f"The node '{node.name}' is no switch: it has no tables or counters.")
    if node.p4runtime is None or node.device_id is None or not node.running:
        raise ConflictError(f"The switch '{node.name}' does not run.")
    try:
        async with (
            asyncio.timeout(ANSWER_S),
            Inspector.connected(node.p4runtime, node.device_id) as inspector,
        ):
            return await what(inspector)
    except TimeoutError:
        raise ConflictError(f"The switch '{node.name}' does not answer.") from None
    except ControllerError as error:
        raise ConflictError(f"The switch '{node.name}' does not answer: {error}.") from error
    except RpcError as error:
        raise NotFoundError(sentence(str(error))) from error


def samples(lab: state.Lab, after: int) -> list[LabSample]:
    """Samples with higher numbers, at most `netkv.live.feed.MAX_SAMPLES`."""
    answer = request(lab, {"do": "samples", "after": after})
    return [LabSample.model_validate(each) for each in answer["samples"]]


def _spec(lab: state.Lab) -> RackSpec:
    try:
        return RackSpec.model_validate(lab.spec)
    except ValueError as error:
        raise ConflictError(
            f"The lab '{lab.name}' is of another version of netkv; 'netkv down {lab.name}' "
            f"removes it."
        ) from error
