"""The nodes of a simulated rack; each starts and stops its part of the engine."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from netkv.model import nodes
from netkv.model.nodes import Direction, NodeError, Storage
from netkv.rack.base import Rack

if TYPE_CHECKING:
    from netkv import _engine
    from netkv.sim.controller import Controller, SwitchControl
    from netkv.sim.failover import Failover


class RackOfNodes(Rack):
    """The rack as its nodes see it (`netkv.sim.rack.SimRack`)."""

    simulation: _engine.Simulation
    controller: SimController
    controllers: list[Controller]
    """One for each switch, or one for all; empty before it is up."""
    control: list[SwitchControl]
    """The control channel of each switch; empty before it is up."""
    failover: Failover
    switch_nodes: tuple[SimSwitch, ...]

    @abstractmethod
    def load_program(self, switch: int) -> None:
        """Loads the program into a switch again, which empties it."""

    @abstractmethod
    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command to the load generator; raises `UsageError` for an invalid one."""


class SimNode(nodes.Node):
    """A node of a simulated rack. `stop` and `kill` have the same effect."""

    def __init__(self, name: str, rack: RackOfNodes) -> None:
        self.name = name
        self._rack = rack
        self._running = True

    @property
    def running(self) -> bool:
        return self._running

    async def kill(self) -> None:
        self._end()
        self._rack.emit("killed", self.name, f"The node '{self.name}' was killed.")

    async def stop(self) -> None:
        self._end()
        self._rack.emit("stopped", self.name, f"The node '{self.name}' was stopped.")

    async def start(self, storage: Storage | None = None) -> None:
        self._check_startable(storage)
        self._running = True
        self._power_on(storage)
        self._rack.emit("started", self.name, f"The node '{self.name}' was started again.")

    def _check_running(self) -> None:
        if not self._running:
            raise NodeError(f"The node '{self.name}' is not running.")

    def _end(self) -> None:
        self._check_running()
        self._running = False
        self._power_off()

    @abstractmethod
    def _power_on(self, storage: Storage | None) -> None:
        """Starts the node in the engine; `storage` as in `start`."""

    @abstractmethod
    def _power_off(self) -> None:
        """Stops the node in the engine."""


class SimSwitch(SimNode, nodes.Switch):
    """One of the switches."""

    def __init__(self, name: str, number: int, rack: RackOfNodes) -> None:
        super().__init__(name, rack)
        self._number = number

    def _power_on(self, storage: Storage | None) -> None:  # noqa: ARG002 (Servers)
        rack = self._rack
        rack.load_program(self._number)
        rack.simulation.start_switch(self._number)
        control = rack.control[self._number]
        if rack.controller.running:
            rack.failover.switch_started(self.name)
        # It may have been killed at one of its actions meanwhile.
        if rack.controller.running:
            control.controller.switch_started(control)
        else:
            control.started_alone()

    def set_connected(self, connected: bool) -> None:
        """The controllers can reach the switch from now on, or not any more. It runs on."""
        self._check_running()
        rack, control = self._rack, self._rack.control[self._number]
        control.connected = connected
        rack.simulation.cut_channel(self._number, not connected or rack.controller.partitioned)
        if not connected:
            if rack.controller.running:
                rack.failover.switch_stopped(self.name, rack.simulation.now())
        elif control.runs:
            rack.failover.switch_found(self.name)
        else:
            if rack.controller.running:
                rack.failover.switch_started(self.name)
            control.controller.switch_connected(control)

    def _power_off(self) -> None:
        rack = self._rack
        rack.simulation.stop_switch(self._number)
        control = rack.control[self._number]
        control.controller.switch_stopped(control)
        control.blank = True
        if rack.controller.running:
            rack.failover.switch_stopped(self.name, rack.simulation.now())


class SimCable(nodes.Cable):
    """A cable between two switches; the second one has it at a port."""

    def __init__(self, name: str, switch: int, port: int, rack: RackOfNodes) -> None:
        self.name = name
        self._switch = switch
        self._port = port
        self._rack = rack

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        to, from_ = _sides(direction, impairment)
        self._rack.simulation.impair("switch", self._switch, to, from_, self._port)


def _sides(direction: Direction, impairment: Mapping[str, float]) -> tuple[str | None, str | None]:
    """The impairments of frames to and from the end of a link."""
    text = json.dumps(dict(impairment))
    return (text, None) if direction == "to" else (None, text)


class SimLinkedNode(SimNode, nodes.LinkedNode):
    """A node with one or several hosts, each attached to a switch by a link."""

    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        to, from_ = _sides(direction, impairment)
        kind, hosts = self._hosts
        for host in hosts:
            self._rack.simulation.impair(kind, host, to, from_)

    @property
    @abstractmethod
    def _hosts(self) -> tuple[Literal["client", "server", "coordinator", "card"], Sequence[int]]:
        """Kind and numbers of its hosts in the engine."""


class SimServers(SimLinkedNode, nodes.Servers):
    """Storage servers that start and stop together, like those of one process live."""

    def __init__(self, index: int, servers: Sequence[int], rack: RackOfNodes) -> None:
        super().__init__(f"{self.NAME}{index}", rack)
        self._servers = servers

    async def slow(self, factor: float) -> None:
        for server in self._servers:
            self._rack.simulation.slow_server(server, factor)

    @property
    def _hosts(self) -> tuple[Literal["server"], Sequence[int]]:
        return "server", self._servers

    def _power_on(self, storage: Storage | None) -> None:
        for server in self._servers:
            self._rack.simulation.start_server(server, storage != "lost")
        self._rack.sampler.servers.forget(self._servers)

    def _power_off(self) -> None:
        for server in self._servers:
            self._rack.simulation.stop_server(server)


class SimCard(SimLinkedNode, nodes.Card):
    """An FPGA card; its link is the one to the switch."""

    def __init__(self, number: int, rack: RackOfNodes) -> None:
        super().__init__(f"{self.NAME}{number}", rack)
        self._number = number

    @property
    def _hosts(self) -> tuple[Literal["card"], Sequence[int]]:
        return "card", (self._number,)

    def _power_on(self, storage: Storage | None) -> None:  # noqa: ARG002 (Servers)
        self._rack.simulation.set_card(self._number, True)

    def _power_off(self) -> None:
        self._rack.simulation.set_card(self._number, False)


class SimClientCard(SimCard, nodes.ClientCard):
    """An FPGA card in clients."""

    NAME = nodes.ClientCard.NAME


class SimCoordinator(SimLinkedNode, nodes.Coordinator):
    """The coordinator's host."""

    @property
    def _hosts(self) -> tuple[Literal["coordinator"], Sequence[int]]:
        return "coordinator", (0,)

    def _power_on(self, storage: Storage | None) -> None:  # noqa: ARG002 (Servers)
        self._rack.simulation.start_coordinator()
        self._rack.sampler.coordinator.forget()

    def _power_off(self) -> None:
        self._rack.simulation.stop_coordinator()


class SimClient(SimLinkedNode, nodes.Client):
    """The hosts of all clients. Live, they are one process."""

    async def command(self, command: dict[str, Any]) -> dict[str, Any]:
        return self._rack.command(command)

    @property
    def _hosts(self) -> tuple[Literal["client"], Sequence[int]]:
        return "client", range(1, self._rack.spec.lab.clients + 1)

    def _power_on(self, storage: Storage | None) -> None:  # noqa: ARG002 (Servers)
        for client in self._hosts[1]:
            self._rack.simulation.set_client(client, True)

    def _power_off(self) -> None:
        # Pending requests and preserved records are lost; the history of operations remains.
        self._rack.command({"do": "crash"})
        for client in self._hosts[1]:
            self._rack.simulation.set_client(client, False)


class SimController(SimNode, nodes.Controller):
    """The controllers of all switches."""

    def __init__(self, name: str, rack: RackOfNodes) -> None:
        super().__init__(name, rack)
        self.partitioned = False
        """Whether the control channels of all switches are cut."""
        self._actions_left: int | None = None
        """Actions before the controllers are killed; None: they are not to be killed."""

    def kill_after(self, actions: int) -> None:
        self._check_running()
        self._actions_left = actions

    @property
    def counts_actions(self) -> bool:
        """Whether the controllers are to be killed between two actions."""
        return self._actions_left is not None

    def partition(self) -> None:
        self._cut(True)

    def heal(self) -> None:
        self._cut(False)

    async def start(self, storage: Storage | None = None) -> None:
        if self._actions_left is not None:
            self._kill_between_actions()
        await super().start(storage)

    def may_act(self) -> bool:
        """Whether a controller may carry out an action. If not, this call has killed them all."""
        if self._actions_left is None:
            return True
        if self._actions_left > 0:
            self._actions_left -= 1
            return True
        self._kill_between_actions()
        return False

    def _power_on(self, storage: Storage | None) -> None:  # noqa: ARG002 (Servers)
        rack = self._rack
        down = [
            switch.name
            for switch, control in zip(rack.switch_nodes, rack.control, strict=True)
            if not (switch.running and control.connected)
        ]
        rack.failover.controllers_started(down, rack.simulation.now())
        for controller in rack.controllers:
            controller.replace()

    def _power_off(self) -> None:
        self._actions_left = None
        self._rack.failover.controllers_stopped()
        for controller in self._rack.controllers:
            controller.stopped()

    def _cut(self, cut: bool) -> None:
        self.partitioned = cut
        for switch, control in enumerate(self._rack.control):
            self._rack.simulation.cut_channel(switch, cut or not control.connected)

    def _kill_between_actions(self) -> None:
        self._end()
        text = f"The node '{self.name}' was killed between two actions."
        self._rack.emit("killed", self.name, text)
