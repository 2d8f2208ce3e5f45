"""The controllers of a live rack as a node: their tasks run in this process."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkv.errors import UsageError
from netkv.live.cable import SwitchCabling
from netkv.live.channel import ControlChannel
from netkv.live.controller import Controller
from netkv.live.rack_nodes import Controllers, LiveSwitch, RackOfNodes
from netkv.model.nodes import NodeError, Storage
from netkv.model.report import EventKind
from netkv.rack.rerouting import Rerouting

if TYPE_CHECKING:
    from netkv.control import base
    from netkv.model.topology import Topology


class LiveController(Controllers):
    """The controllers of all switches. `stop` and `kill` have the same effect."""

    def __init__(self, rack: RackOfNodes) -> None:
        self.name = self.NAME
        self._rack = rack
        self._channel = ControlChannel()
        self._controllers: list[Controller] = []
        """One for each switch, or one for all; empty if it was stopped."""
        self._set_up: set[str] = set()
        """The switches whose present process has had a controller."""
        self._out_of_reach: dict[frozenset[str], int] = {}
        """Number of cached entries in the switches of each ended controller, when it ended."""
        self._blank: set[str] = set()
        """The switches that were started while no controller could reach them."""
        self._bytes_of_ended: Counter[str] = Counter()
        """Bytes between ended controllers and each switch."""
        self._preloaded = 0
        """Number of entries that the controllers were told to cache."""

    @property
    def running(self) -> bool:
        return self.present and all(each.running for each in self._controllers)

    @property
    def present(self) -> bool:
        """Whether one was started and not stopped; it may have failed."""
        return bool(self._controllers)

    @property
    def set_up(self) -> bool:
        """Whether every switch that runs has had a controller."""
        return all(it.name in self._set_up for it in self._rack.switch_nodes if it.running)

    async def kill(self) -> None:
        await self._end("killed")

    async def stop(self) -> None:
        await self._end("stopped")

    async def start(self, storage: Storage | None = None) -> None:
        """Starts a new one with saved state only; it sets the switches up after this call."""
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
        self._blank.clear()

    @property
    def partitioned(self) -> bool:
        """Whether the control channel is cut."""
        return self._channel.is_cut

    async def launch(self, preload: Sequence[bytes]) -> None:
        """Replaces the controllers; the new ones cache the keys of `preload`."""
        await self.quit()
        rack = self._rack
        rerouting = Rerouting(
            rack.cabling.network,
            self._change,
            lambda text: rack.emit("control", self.name, text),
        )
        self._preloaded = 0
        self._out_of_reach.clear()
        self._blank.clear()
        for group in self._groups():
            at_switches = [it.topology.is_local for it in group.values()]
            # A switch caches keys of its own servers only.
            local = [key for key in preload if any(at(key) for at in at_switches)]
            self._preloaded += len(local)
            self._controllers.append(
                Controller(
                    self._control_plane(group),
                    group,
                    rack.target,
                    channel=self._channel,
                    preload=local,
                    saved=self._saved(group),
                    on_note=lambda text: rack.emit("control", self.name, text),
                    on_recovery=functools.partial(self._recovery, group),
                    on_failure=lambda text: rack.fail(self.name, text),
                    on_service=rerouting.set_service,
                )
            )
        self._set_up.update(switch.name for switch in rack.cabling.switches)
        await asyncio.gather(*(each.start() for each in self._controllers))

    def _groups(self) -> Iterator[dict[str, SwitchCabling]]:
        """The switches of each controller, by the names that its control plane uses."""
        cabling = self._rack.cabling
        if self._rack.scheme.network_control_plane is None:
            for switch in cabling.switches:
                yield {"": switch}
            return
        plans = (plan.name for plan in cabling.network.switches)
        yield dict(zip(plans, cabling.switches, strict=True))

    def _control_plane(self, group: Mapping[str, SwitchCabling]) -> base.ControlPlane:
        scheme, spec = self._rack.scheme, self._rack.spec
        if scheme.network_control_plane is not None:
            return scheme.network_control_plane(spec, self._rack.cabling.network)
        (switch,) = group.values()
        return scheme.control_plane(spec, switch.topology)

    def _recovery(
        self, group: Mapping[str, SwitchCabling], it: base.Recovering | base.Recovered
    ) -> None:
        self._rack.emit_recovery(group[it.switch].name, it)

    def _change(self, switch: str, topology: Topology) -> None:
        """The topology of a switch has changed."""
        # While controllers end, one of them may still notice that its switch has failed.
        for controller in self._controllers:
            for name, connection in controller.connections.items():
                if connection.node == switch:
                    controller.change(name, topology)

    async def ready(self, timeout: float) -> None:  # noqa: ASYNC109
        """Waits until all control planes are ready; raises `NetkvError` after `timeout` seconds."""
        await asyncio.gather(*(each.ready(timeout) for each in self._controllers))

    async def quit(self) -> None:
        """Ends the controllers, if there are any."""
        ended, self._controllers = self._controllers, []
        for controller in ended:
            switches = frozenset(it.node for it in controller.connections.values())
            self._out_of_reach[switches] = self._cached_of(controller)
            for connection in controller.connections.values():
                self._bytes_of_ended[connection.node] += connection.bytes
            with contextlib.suppress(Exception):
                await controller.stop()

    def forget(self) -> None:
        """Deletes the saved state of an earlier rack's controllers in this directory."""
        for file in self._rack.data(self.name).glob("saved*"):
            file.unlink(missing_ok=True)

    def switch_launched(self, switch: str) -> None:
        """Handles the start of a switch, which is set up only if a controller is present."""
        if self.present:
            self._set_up.add(switch)
        else:
            self._set_up.discard(switch)
        if self.partitioned or not self.present:
            self._blank.add(switch)

    @property
    def cached_count(self) -> int:
        """Number of cached entries, as the control planes know. Of controllers that have ended or
        cannot reach their switches, it is the last one, unless all switches have lost their state
        since."""
        ended = self._out_of_reach.items()
        return sum(map(self._cached_of, self._controllers)) + sum(
            count for switches, count in ended if self._keep_state(switches)
        )

    def _cached_of(self, controller: Controller) -> int:
        switches = frozenset(it.node for it in controller.connections.values())
        known = controller.handles or (self.partitioned and self._keep_state(switches))
        return controller.cached if known else 0

    def _keep_state(self, switches: frozenset[str]) -> bool:
        """Whether one of them has run on since a controller could reach it."""
        running = {it.name for it in self._rack.switch_nodes if it.running}
        return bool(switches & running - self._blank)

    @property
    def filled(self) -> float | None:
        """How full the caches are with preloaded entries, 0 to 1; None if there are none."""
        return min(self.cached_count / self._preloaded, 1.0) if self._preloaded else None

    def cached_keys(self) -> set[bytes]:
        """The keys that the control planes consider cached."""
        return {key for each in self._controllers for key in each.cached_keys()}

    def describe(self) -> list[dict[str, Any]]:
        """Of each controller: its `switches`, whether it runs, its counters, and the number of
        records that it considers cached."""
        return [
            {
                "switches": [it.node for it in each.connections.values()],
                "running": each.running,
                "statistics": each.statistics(),
                "cached": self._cached_of(each),
            }
            for each in self._controllers
        ]

    def cached_at(self, switch: str) -> set[bytes]:
        """The keys that the control planes of a switch consider cached. A control plane of several
        switches does not tell which of them has a key."""
        return {
            key
            for each in self._controllers
            if any(it.node == switch for it in each.connections.values())
            for key in each.cached_keys()
        }

    def registered_clients(self) -> list[int]:
        """The clients whose deregistration a control plane waits for."""
        return sorted({n for each in self._controllers for n in each.clients_present()})

    def servers(self) -> dict[str, tuple[str, int]]:
        """For each switch the address of its P4Runtime server and its device id; none before the
        addresses are chosen."""
        if not self._rack.cabled:
            return {}
        device_id = self._rack.target.device_id
        return {it.name: (it.p4runtime, device_id) for it in self._rack.cabling.switches}

    def arbitration(self) -> dict[str, dict[str, Any]]:
        """For each switch whose controller runs, its role among the P4Runtime clients
        (`Arbitration.to_json`)."""
        return {
            connection.node: connection.arbitration.to_json()
            for controller in self._controllers
            if controller.running
            for connection in controller.connections.values()
        }

    @property
    def bytes(self) -> dict[str, int]:
        """Bytes between all controllers so far and each switch."""
        connections = (it for each in self._controllers for it in each.connections.values())
        running = Counter({it.node: it.bytes for it in connections})
        return dict(self._bytes_of_ended + running)

    @property
    def record_bytes(self) -> list[int]:
        """Bytes of records that have passed through each controller, since its start."""
        return [each.record_bytes for each in self._controllers]

    def dropped(self) -> dict[str, int]:
        """Messages dropped because their queues were full (`Controller.dropped`)."""
        return dict(sum((Counter(it.dropped()) for it in self._controllers), Counter()))

    def _saved(self, group: Mapping[str, SwitchCabling]) -> Path:
        folder = self._rack.data(self.name)
        first, *others = (switch.name for switch in group.values())
        one_of_several = not others and first != LiveSwitch.NAME
        return folder / (f"saved-{first}" if one_of_several else "saved")

    async def _end(self, how: EventKind) -> None:
        if not self.present:
            raise NodeError("The controller is not running.")
        await self.quit()
        self._rack.emit(how, self.name, f"The controller was {how}.")
