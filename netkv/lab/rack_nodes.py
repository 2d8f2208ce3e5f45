"""The nodes of a live rack: processes, and the controller, whose tasks run in this process."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from netkv.errors import UsageError
from netkv.lab import cabling
from netkv.lab.cabling import Cable
from netkv.lab.channel import ControlChannel
from netkv.lab.controller import Controller
from netkv.lab.process import BusyPortError, Kind, NodeProcess
from netkv.rack import nodes
from netkv.rack.nodes import Direction, NodeError, Storage
from netkv.rack.report import EventKind

if TYPE_CHECKING:
    from netkv.lab.rack import LiveRack

_REBIND_TIMEOUT = 5.0
"""Seconds for the addresses of a node that has ended to become free again."""


class LiveNode(nodes.Node):
    """A node that is a process."""

    KIND: ClassVar[Kind]
    """Kind of the process (`netkv.lab.node`), unless `_kind` is overridden."""

    def __init__(self, name: str, rack: LiveRack) -> None:
        self.name = name
        self.process: NodeProcess | None = None
        """The newest process; None before the first."""
        self._rack = rack

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
        self.process = self._new_process(self._rack.directory / "logs" / f"{self.name}.log")
        await self.process.spawn()
        # Reported before it is ready: a clean-up after a crash needs every process.
        self._rack.processes_changed()
        await self.process.configure()

    async def request(self, do: str, arguments: dict[str, Any] | None = None) -> Any:
        """Sends a command to the process; raises `NodeError`."""
        return await self._running_process().command(do, arguments)

    async def statistics(self) -> dict[str, Any]:
        """Its counters; empty if it does not answer."""
        return await self._answer("statistics")

    async def _answer(self, do: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self.request(do)
            return answer
        except NodeError:
            return {}

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
        config = self._configuration()
        return NodeProcess(self.name, self._kind, config, log, self._rack.process_ended)

    @property
    def _kind(self) -> Kind:
        return self.KIND

    @abstractmethod
    def _configuration(self) -> dict[str, Any]:
        """The configuration of a new process."""


class LiveSwitch(LiveNode, nodes.Switch):
    """The process of the switch; its kind depends on the target."""

    @property
    def _kind(self) -> Kind:
        return self._rack.target.kind

    def _configuration(self) -> dict[str, Any]:
        rack = self._rack
        links = [link for node in rack.linked_nodes for link in node.links()]
        rack.controller.switch_launched()
        return rack.target.switch_config(rack.spec, rack.cabling, links)


class LiveRedisServer(LiveNode, nodes.RedisServer):
    """A redis-server with the records of one storage server."""

    KIND = "redis"

    def __init__(self, server: int, rack: LiveRack) -> None:
        super().__init__(f"{self.NAME}{server}", rack)
        self._server = server

    def _new_process(self, log: Path) -> NodeProcess:
        def note(text: str) -> None:
            self._rack.emit("note", self.name, text)

        return self._rack.shards.new_server(self._server, log, self._rack.process_ended, note)

    def _configuration(self) -> dict[str, Any]:
        raise AssertionError("a redis-server has none")


class LiveLinkedNode(LiveNode, nodes.LinkedNode):
    """A process at the end of a link."""

    def __init__(self, name: str, rack: LiveRack) -> None:
        super().__init__(name, rack)
        self._impairments: dict[Direction, dict[str, float]] = {}

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        self._impairments[direction] = dict(impairment)
        if self._rack.switch.running:
            await self._rack.switch.request("impair", self._link(direction))

    def links(self) -> list[dict[str, Any]]:
        """The impairments of its link, for the configuration of a new switch process."""
        return [self._link(direction) for direction in self._impairments]

    def _link(self, direction: Direction) -> dict[str, Any]:
        impairment = self._impairments[direction]
        return {"port": self._cable.port, "direction": direction, "impairment": impairment}

    @property
    @abstractmethod
    def _cable(self) -> Cable:
        """Its cable to the switch."""


class LiveServers(LiveLinkedNode, nodes.Servers):
    """A process with storage servers."""

    KIND = "server"

    def __init__(self, index: int, servers: Sequence[int], rack: LiveRack) -> None:
        super().__init__(f"{self.NAME}{index}", rack)
        self._index = index
        self._servers = servers
        self._slow = 1.0

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        if self._rack.cards:
            # The switch impairs links, and this one does not reach it.
            raise UsageError(
                f"Live, the link between '{self.name}' and its card cannot be impaired; that of "
                f"'{self._rack.cards[self._index].name}' to the switch can."
            )
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
        rack.sampler.servers.forget(self._servers)
        return cabling.server_config(
            rack.spec,
            rack.cabling,
            self._index,
            rack.scheme.server_role,
            rack.data(self.name),
            rack.shards.places(self._servers),
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
            await self._rack.wipe_shards(self._servers)
        elif storage == "lost" and durable:
            shutil.rmtree(self._rack.data(self.name), ignore_errors=True)
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

    async def command(self, command: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = await self.request("client", {"command": command})
        return result

    async def sample(self) -> dict[str, Any]:
        """Figures of the load since the last call; empty if it does not answer."""
        return await self._answer("sample")

    @property
    def _cable(self) -> Cable:
        return self._rack.cabling.client

    def _configuration(self) -> dict[str, Any]:
        rack = self._rack
        return cabling.client_config(rack.spec, rack.cabling, rack.scheme.client_role)


class LiveController(nodes.Controller):
    """The controller of the switch. `stop` and `kill` have the same effect."""

    def __init__(self, rack: LiveRack) -> None:
        self.name = self.NAME
        self.set_up = False
        """Whether the switch that runs now has had a controller."""
        self._rack = rack
        self._channel = ControlChannel()
        self._saved = rack.data(self.name) / "saved"
        self._controller: Controller | None = None
        self._bytes_of_ended = 0
        """Bytes between ended controllers and the switch."""

    @property
    def running(self) -> bool:
        return self._controller is not None and self._controller.running

    @property
    def present(self) -> bool:
        """Whether one was started and not stopped; it may have failed."""
        return self._controller is not None

    async def kill(self) -> None:
        await self._end("killed")

    async def stop(self) -> None:
        await self._end("stopped")

    async def start(self, storage: Storage | None = None) -> None:
        """Starts a new one with saved state only; it sets the switch up after this call."""
        if self.running:
            raise UsageError("The controller is running already.")
        self._check_startable(storage)
        await self.launch(())
        self._rack.emit("started", self.name, "A new controller has taken over.")

    def kill_after(self, actions: int) -> None:
        raise UsageError(
            f"A live controller cannot be killed after {actions} more actions; 'kill' kills it now."
        )

    def partition(self) -> None:
        self._channel.cut()

    def heal(self) -> None:
        self._channel.heal()

    async def launch(self, preload: Sequence[bytes]) -> Controller:
        """Replaces the controller; the new one caches the keys of `preload`."""
        await self.quit()
        rack = self._rack
        self._controller = Controller(
            rack.scheme,
            rack.spec,
            rack.cabling,
            rack.target,
            channel=self._channel,
            preload=preload,
            saved=self._saved,
            on_note=lambda text: rack.emit("control", self.name, text),
            on_recovery=lambda it: rack.emit_recovery(rack.switch.name, it),
            on_failure=lambda text: rack.fail(self.name, text),
        )
        self.set_up = True
        await self._controller.start()
        return self._controller

    async def quit(self) -> None:
        """Ends the controller, if there is one."""
        if self._controller is not None:
            controller, self._controller = self._controller, None
            self._bytes_of_ended += controller.bytes
            with contextlib.suppress(Exception):
                await controller.stop()

    def forget(self) -> None:
        """Deletes the saved state of an earlier rack's controller in this directory."""
        self._saved.unlink(missing_ok=True)

    def switch_launched(self) -> None:
        """Handles the start of a switch, which is set up only if a controller is present."""
        self.set_up = self.present

    def cached_keys(self) -> set[bytes]:
        """The keys that the control plane considers cached."""
        return set() if self._controller is None else self._controller.cached_keys()

    def registered_clients(self) -> list[int]:
        """The clients whose deregistration the control plane waits for."""
        return [] if self._controller is None else self._controller.clients_present()

    def arbitration(self) -> dict[str, Any] | None:
        """Its role among the P4Runtime clients (`Candidate.to_json`); None if it does not run."""
        if self._controller is None or not self._controller.running:
            return None
        return self._controller.candidate.to_json()

    @property
    def bytes(self) -> int:
        """Bytes between all controllers so far and the switch."""
        return self._bytes_of_ended + (0 if self._controller is None else self._controller.bytes)

    def dropped(self) -> dict[str, int]:
        """Messages dropped because its queues were full (`Controller.dropped`)."""
        return {} if self._controller is None else self._controller.dropped()

    async def _end(self, how: EventKind) -> None:
        if self._controller is None:
            raise NodeError("The controller is not running.")
        await self.quit()
        self._rack.emit(how, self.name, f"The controller was {how}.")
