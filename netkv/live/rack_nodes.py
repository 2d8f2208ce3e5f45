"""The nodes of a live rack that are processes."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from netkv.errors import UsageError
from netkv.live import cabling
from netkv.live.cable import Cable
from netkv.live.cabling import Cabling
from netkv.live.placement import Placement
from netkv.live.poll import Answer, Poll
from netkv.live.process import BusyPortError, Kind, NodeProcess
from netkv.live.shards import Shards
from netkv.live.target import Target
from netkv.model import layout, nodes
from netkv.model.hardware import Pinned
from netkv.model.nodes import Card, ClientCard, Direction, NodeError, Servers, Storage
from netkv.model.report import EventKind
from netkv.rack.base import Rack

if TYPE_CHECKING:
    from netkv.model.link import Link

_REBIND_TIMEOUT = 5.0
"""Seconds for the addresses of a node that has ended to become free again."""


class Controllers(nodes.Controller):
    """The controllers of all switches (`netkv.live.controller_node`), as other nodes see them."""

    @abstractmethod
    def switch_launched(self, switch: str) -> None:
        """A process of the switch is about to start."""


class RackOfNodes(Rack):
    """The rack as its nodes see it (`netkv.live.rack.LiveRack`)."""

    directory: Path
    """Takes logs and data."""
    target: Target
    shards: Shards
    placement: Placement
    controller: Controllers
    switch_nodes: tuple[LiveSwitch, ...]
    cards: tuple[nodes.Card, ...]
    links: tuple[LiveLink, ...]

    @property
    @abstractmethod
    def cabled(self) -> bool:
        """Whether the rack has addresses."""

    @property
    @abstractmethod
    def cabling(self) -> Cabling:
        """Its addresses."""

    @abstractmethod
    def data(self, name: str) -> Path:
        """The directory for the files of a node."""

    @abstractmethod
    async def wipe_shards(self, servers: Iterable[int]) -> None:
        """Deletes the records of servers in Redis."""

    @abstractmethod
    def processes_changed(self) -> None:
        """A process was started or has ended."""

    @abstractmethod
    def process_ended(self, process: NodeProcess) -> None:
        """A process has ended, expected or not."""

    @abstractmethod
    def fail(self, node: str, text: str) -> None:
        """A node has ended unexpectedly."""


class LiveNode(nodes.Node):
    """A node that is a process."""

    KIND: ClassVar[Kind]
    """Kind of the process (`netkv.live.node`), unless `_kind` is overridden."""
    COUNTERS: ClassVar[str] = "statistics"
    """The command for the counters of samples."""

    def __init__(self, name: str, rack: RackOfNodes) -> None:
        self.name = name
        self.process: NodeProcess | None = None
        """The newest process; None before the first."""
        self._rack = rack
        self._counters = Poll(lambda: self._once_ready(self.COUNTERS))

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.running

    async def kill(self) -> None:
        await self._running_process().kill()
        self._ended("killed")

    async def stop(self) -> None:
        await self._running_process().stop()
        self._ended("stopped")

    async def start(self, storage: Storage | None = None) -> None:
        self._check_startable(storage)
        found = await self._settle_storage(storage)
        deadline = time.monotonic() + _REBIND_TIMEOUT
        while True:
            try:
                await self.launch()
                break
            except BusyPortError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
        self._rack.emit("started", self.name, f"The node '{self.name}' was started again{found}.")

    async def launch(self) -> None:
        """Starts a process and waits until it is ready; raises `NodeError`."""
        await self._rack.placement.of(self.name).connect()
        self.process = self._new_process(self._rack.directory / "logs" / f"{self.name}.log")
        await self.process.spawn()
        await self._pin(self.process)
        # Reported before it is ready: a clean-up after a crash needs every process.
        self._rack.processes_changed()
        await self.process.configure()

    async def _pin(self, process: NodeProcess) -> None:
        kind = self._kind
        pinned: Pinned = "switch" if kind == "bmv2" or kind == "external-switch" else kind
        await process.pin(self._rack.spec.lab.cores.get(pinned, ()))

    async def request(self, do: str, arguments: dict[str, Any] | None = None) -> Any:
        """Sends a command to the process; raises `NodeError`."""
        return await self._running_process().command(do, arguments)

    async def statistics(self) -> dict[str, Any]:
        """Its counters; empty if it does not answer."""
        return await self._answer("statistics")

    async def poll(self, within: float) -> Answer | None:
        """Its counters, empty if it does not run; None if it has not answered `within` seconds."""
        try:
            answers = await self._counters.answers(within)
        except NodeError:
            return Answer(time.monotonic(), {})
        return answers[-1] if answers else None

    async def _answer(self, do: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self.request(do)
            return answer
        except NodeError:
            return {}

    async def _once_ready(self, do: str) -> dict[str, Any]:
        """The answer to a command, however long it takes. A process that starts does not run yet:
        it would answer when it is ready."""
        process = self._running_process()
        if not process.ready:
            raise NodeError(f"The node '{self.name}' is starting.")
        answer: dict[str, Any] = await process.command(do, timeout=None)
        return answer

    def _running_process(self) -> NodeProcess:
        if self.process is None or not self.process.running:
            raise NodeError(f"The node '{self.name}' is not running.")
        return self.process

    def _ended(self, how: EventKind) -> None:
        self._rack.emit(how, self.name, f"The node '{self.name}' was {how}.")
        self._rack.processes_changed()

    async def _settle_storage(self, storage: Storage | None) -> str:  # noqa: ARG002 (Servers)
        """Keeps or deletes stored records before a start; returns the end of the event's text."""
        return ""

    def _new_process(self, log: Path) -> NodeProcess:
        rack, machine = self._rack, self._rack.placement.of(self.name)
        config = self._configuration()
        return NodeProcess(self.name, self._kind, config, log, rack.process_ended, machine)

    @property
    def _kind(self) -> Kind:
        return self.KIND

    @abstractmethod
    def _configuration(self) -> dict[str, Any]:
        """The configuration of a new process."""


class LiveSwitch(LiveNode, nodes.Switch):
    """The process of a switch; its kind depends on the target."""

    def __init__(self, name: str, number: int, rack: RackOfNodes) -> None:
        super().__init__(name, rack)
        self._number = number

    @property
    def _kind(self) -> Kind:
        return self._rack.target.kind

    @property
    def captures_frames(self) -> bool:
        """Whether it can capture frames that arrive: a switch of the engine can."""
        return self._kind == "switch"

    def _configuration(self) -> dict[str, Any]:
        rack = self._rack
        links = [impaired for link in rack.links for impaired in link.impaired(self)]
        rack.controller.switch_launched(self.name)
        seed = rack.spec.seed + self._number
        return rack.target.switch_config(rack.cabling.switch(self.name), seed, links)


class LiveRedisServer(LiveNode, nodes.RedisServer):
    """A redis-server with the records of one storage server."""

    KIND = "redis"

    def __init__(self, server: int, rack: RackOfNodes) -> None:
        super().__init__(f"{self.NAME}{server}", rack)
        self._server = server

    def _new_process(self, log: Path) -> NodeProcess:
        def note(text: str) -> None:
            self._rack.emit("note", self.name, text)

        rack, machine = self._rack, self._rack.placement.of(self.name)
        return rack.shards.new_server(self._server, log, rack.process_ended, note, machine)

    def _configuration(self) -> dict[str, Any]:
        raise AssertionError("a redis-server has none")


class LiveLink(nodes.Link):
    """A link, which is impaired by the switch at a port of which it is."""

    _rack: RackOfNodes

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._impairments: dict[Direction, dict[str, float]] = {}

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        if not self._is_reached:
            raise UsageError(
                f"The link of '{self.name}' is a cable of the switch elsewhere and cannot be "
                "impaired; that of a node on this machine can."
            )
        self._impairments[direction] = dict(impairment)
        for switch in self._rack.switch_nodes:
            if switch.name == self._at[0] and switch.running:
                await switch.request("impair", self._settings(direction))

    def impaired(self, switch: LiveSwitch) -> list[dict[str, Any]]:
        """Its impairments, for the configuration of a new process of this switch."""
        if switch.name != self._at[0]:
            return []
        return [self._settings(direction) for direction in self._impairments]

    def _settings(self, direction: Direction) -> dict[str, Any]:
        return {
            "port": self._at[1],
            "direction": self._seen_from_the_port(direction),
            "impairment": self._impairments[direction],
        }

    def _seen_from_the_port(self, direction: Direction) -> Direction:
        """The direction as the switch calls it: to or from what is at the port."""
        return direction

    @property
    def _is_reached(self) -> bool:
        """Whether frames of the link pass a process of this rack's switch."""
        return True

    @property
    @abstractmethod
    def _at(self) -> tuple[str, int]:
        """Switch and port."""


class LiveCable(LiveLink, nodes.Cable):
    """A cable between two switches; the second one impairs it."""

    def __init__(self, link: Link, rack: RackOfNodes) -> None:
        super().__init__()
        self.name = layout.cable_name(link.a, link.b)
        self._rack = rack
        self._link = link

    def _seen_from_the_port(self, direction: Direction) -> Direction:
        return "from" if direction == "to" else "to"

    @property
    def _at(self) -> tuple[str, int]:
        return self._link.b, self._link.b_port


class LiveLinkedNode(LiveLink, LiveNode, nodes.LinkedNode):
    """A process at the end of a link."""

    @property
    def _at(self) -> tuple[str, int]:
        return self._cable.at, self._cable.port

    @property
    def _is_reached(self) -> bool:
        return bool(self._cable.switch)

    @property
    @abstractmethod
    def _cable(self) -> Cable:
        """Its cable to the switch."""


def _refuse_behind(name: str, card: str) -> NoReturn:
    # The switch impairs links, and this one does not reach it.
    raise UsageError(
        f"Live, the link between '{name}' and its card cannot be impaired; that of '{card}' to the "
        "switch can."
    )


class LiveServers(LiveLinkedNode, nodes.Servers):
    """A process with storage servers."""

    KIND = "server"

    def __init__(self, index: int, servers: Sequence[int], rack: RackOfNodes) -> None:
        super().__init__(f"{self.NAME}{index}", rack)
        self._index = index
        self.indices = tuple(servers)
        """Of its storage servers."""
        self._slow = 1.0

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        if self._rack.scheme.has(Card):
            _refuse_behind(self.name, self._rack.cards[self._index].name)
        await super().impair(direction, impairment)

    async def slow(self, factor: float) -> None:
        self._slow = factor
        if self.running:
            await self.request("slow", {"factor": factor})

    @property
    def _cable(self) -> Cable:
        return self._rack.cabling.servers[self._index]

    def _configuration(self) -> dict[str, Any]:
        rack = self._rack
        rack.sampler.servers.forget(self.indices)
        return cabling.server_config(
            rack.spec,
            rack.cabling,
            self._index,
            rack.scheme.role(Servers, rack.spec.lab),
            rack.data(self.name),
            rack.shards.places(self.indices),
            self._slow,
        )

    async def _settle_storage(self, storage: Storage | None) -> str:
        backend = self._rack.spec.lab.backend
        durable = backend != "memory"
        if storage == "kept" and not durable:
            raise UsageError(
                f"The records of '{self.name}' cannot be kept: a store in memory ends with its "
                f"process ('lab.backend: rocksdb' and 'redis' keep them)."
            )
        if storage == "lost" and backend == "redis":
            await self._rack.wipe_shards(self.indices)
        elif storage == "lost" and durable:
            await self._rack.placement.of(self.name).delete(self._rack.data(self.name))
        lost = storage == "lost" or not durable
        return ", without its written records" if lost else ""


class LiveCoordinator(LiveLinkedNode, nodes.Coordinator):
    """The process of the coordinator."""

    KIND = "coordinator"

    @property
    def _cable(self) -> Cable:
        assert self._rack.cabling.coordinator is not None
        return self._rack.cabling.coordinator

    def _configuration(self) -> dict[str, Any]:
        self._rack.sampler.coordinator.forget()
        return cabling.coordinator_config(self._rack.spec, self._rack.cabling)


class LiveClient(LiveLinkedNode, nodes.Client):
    """The process of the load generator."""

    KIND = "client"

    def __init__(self, name: str, rack: RackOfNodes) -> None:
        super().__init__(name, rack)
        self._samples = Poll(lambda: self._once_ready("sample"))

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        if self._rack.scheme.has(ClientCard):
            _refuse_behind(self.name, self._rack.cards[0].name)
        await super().impair(direction, impairment)

    async def command(self, command: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = await self.request("client", {"command": command})
        return result

    async def samples(self, within: float) -> list[Answer]:
        """Figures of the load, each since the one before; none if it has not answered `within`
        seconds, an empty one if it does not run."""
        try:
            return await self._samples.answers(within)
        except NodeError:
            return [Answer(time.monotonic(), {})]

    @property
    def _cable(self) -> Cable:
        return self._rack.cabling.client

    def _configuration(self) -> dict[str, Any]:
        rack = self._rack
        return cabling.client_config(rack.spec, rack.cabling, rack.scheme)
