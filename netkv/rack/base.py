"""The base class of racks: their interface, and the code that both drivers share."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from netkv.control.base import Recovered, Recovering
from netkv.errors import UsageError, suggest
from netkv.model.nodes import Client, Controller, Coordinator, Link, Node, Servers
from netkv.model.report import Change, EventKind, RackEvent, RackSample
from netkv.rack.sampling import Sampler
from netkv.schemes import Scheme
from netkv.schemes.programs import Programs
from netkv.schemes.spec import RackSpec

_N = TypeVar("_N", Node, Link, Servers)


class Rack(ABC):
    """A rack from its specification. Use `start` once."""

    nodes: Sequence[Node]
    """All nodes, running or not."""
    links: Sequence[Link]
    """The links of nodes, and the cables between switches."""
    client: Client
    controller: Controller
    servers: Sequence[Servers]
    coordinator: Coordinator | None

    def __init__(
        self, spec: RackSpec, scheme: Scheme, on_event: Callable[[RackEvent], None]
    ) -> None:
        self.spec = spec
        self.scheme = scheme
        self.events: list[RackEvent] = []
        self.failed: RackEvent | None = None
        """The first unexpected end of a node."""
        self.program_hash = ""
        """`Programs.source_hash` of the P4 programs."""
        self._on_event = on_event
        self.sampler = Sampler(spec.lab, scheme.card(spec.lab).hits if scheme.card else None)

    @property
    def running(self) -> dict[str, bool]:
        """Whether each node runs, by name."""
        return {node.name: node.running for node in self.nodes}

    @property
    @abstractmethod
    def filled(self) -> float | None:
        """While `start` fills caches: how far that is, 0 to 1; otherwise None."""

    @property
    @abstractmethod
    def controlled(self) -> bool:
        """Whether a controller runs, or has set up every running switch."""

    async def compile(self) -> None:
        """Compiles the scheme's programs; `start` does it if this was not called.

        Raises `NetkvError` with the compiler's report.
        """
        self.take_programs(await asyncio.to_thread(self.scheme.compile_all, self.spec.lab))

    def take_programs(self, programs: Programs) -> None:
        """Uses compiled programs instead of `compile`."""
        self.program_hash = programs.source_hash

    @abstractmethod
    async def start(self) -> None:
        """Starts all nodes; returns when switches are set up and caches are preloaded.

        Raises `NetkvError`; then all nodes are stopped.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Stops all nodes; a second call has no effect."""

    @abstractmethod
    async def sample(self) -> RackSample:
        """A sample of the time since the last call. A node that is down counts as zero."""

    async def samples(self, within: float) -> list[RackSample]:  # noqa: ARG002 (live)
        """As `sample`, in at most `within` seconds, whatever nodes do.

        None if the load generator has not answered; its figures are in the next samples. A late
        answer of it is a sample of its own, before that of now. What other nodes have not told
        counts in the sample after their answer.
        """
        return [await self.sample()]

    @abstractmethod
    def cached_keys(self) -> set[bytes]:
        """The keys that are cached according to the control plane."""

    async def hottest(self, count: int) -> list[bytes]:
        """The most popular keys at this moment, the hottest first."""
        return hottest_keys(await self.client.command(self._hottest_command(count)))

    def _hottest_command(self, count: int) -> dict[str, Any]:
        return {"do": "hottest", "n": min(count, self.spec.workload.keys)}

    def node(self, name: str) -> Node:
        """The node of that name; raises `UsageError`."""
        return self._find(name, self.nodes, "node")

    def link(self, name: str) -> Link:
        """The link of the node of that name, or the cable between two switches; raises
        `UsageError`."""
        return self._find(name, self.links, "link", "Links")

    def server_process(self, name: str) -> Servers:
        """The server process of that name; raises `UsageError`."""
        return self._find(name, self.servers, "server process")

    def set_connected(self, switch: str, connected: bool) -> None:  # noqa: ARG002 (live)
        """A switch that runs on loses its connection to the controllers, or has it again. Raises
        `UsageError` if that is not supported."""
        raise UsageError("Only the simulator can disconnect a switch that runs on.")

    def _find(self, name: str, among: Sequence[_N], what: str, label: str = "Nodes") -> _N:
        for node in among:
            if node.name == name:
                return node
        names = [node.name for node in among]
        raise UsageError(
            f"There is no {what} '{name}' in this lab.\n  {suggest(name, names, label=label)}"
        )

    @abstractmethod
    def _now(self) -> float:
        """The time of an event in seconds."""

    def emit(
        self,
        kind: EventKind,
        node: str,
        text: str,
        recovered: Recovered | None = None,
        change: Change | None = None,
    ) -> RackEvent:
        """Adds an event; `node` is the name of a node or cable, or `rack`."""
        event = RackEvent(self._now(), kind, node, text, recovered, change)
        self.events.append(event)
        self._on_event(event)
        return event

    def emit_recovery(self, switch: str, it: Recovering | Recovered) -> None:
        """Adds a report of a control plane about the recovery of a switch."""
        if isinstance(it, Recovering):
            self.emit("recovering", switch, it.describe())
        else:
            self.emit("recovered", switch, it.describe(), it)


def hottest_keys(reply: dict[str, Any]) -> list[bytes]:
    """The keys in a load generator's reply to the command `hottest`."""
    return [bytes.fromhex(key) for key in reply["keys"]]
