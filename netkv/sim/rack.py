"""A rack in virtual time, with the same switch programs, roles and control planes as live.

Virtual time passes only in `advance`.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from netkv import schemes
from netkv.control import base
from netkv.errors import NetkvError, UsageError
from netkv.model import layout
from netkv.model.network import Network
from netkv.model.nodes import Card, Coordinator, LinkedNode, NodeError, client_shares, partitions
from netkv.model.profile import Profile
from netkv.model.report import RackEvent, RackSample
from netkv.model.topology import owner_index
from netkv.rack.base import hottest_keys
from netkv.schemes.programs import Programs
from netkv.schemes.spec import RackSpec
from netkv.sim import config, profiles
from netkv.sim.controller import Controller, SwitchControl
from netkv.sim.disk import Disk
from netkv.sim.failover import Failover
from netkv.sim.oracle import Oracle
from netkv.sim.rack_nodes import (
    RackOfNodes,
    SimCable,
    SimCard,
    SimClient,
    SimClientCard,
    SimController,
    SimCoordinator,
    SimServers,
    SimSwitch,
)
from netkv.sim.tables import Tables

if TYPE_CHECKING:
    from netkv import _engine
    from netkv.model.topology import Topology

SECOND = 1_000_000_000
READY_TIMEOUT = 600 * SECOND
"""Limit of the virtual time for tables and preloaded keys; a working controller needs far less."""
_READY_STEP = SECOND // 100
_COUNT_INTERVAL_S = 0.2
"""Seconds of wall time between two looks at how full the caches are."""


class VirtualClock:
    """The virtual time of a rack as the clock of a run."""

    def __init__(self, rack: SimRack) -> None:
        self._rack = rack

    def now(self) -> float:
        """Virtual seconds since the rack's start."""
        return self._rack.now

    def time(self) -> float:
        """The same as `now`: a simulated rack has no wall-clock time."""
        return self._rack.now

    async def sleep(self, seconds: float) -> None:
        """Advances the rack, while other tasks of the event loop run."""
        # At least a nanosecond: a caller that waits for a fraction of one must make progress.
        until = self._rack.nanoseconds + max(math.ceil(seconds * SECOND), 1)
        await asyncio.to_thread(self._rack.advance, until)


class SimRack(RackOfNodes):
    """A rack of the simulator."""

    client: SimClient
    controller: SimController

    def __init__(
        self,
        spec: RackSpec,
        *,
        profile: Profile | None = None,
        scheme: schemes.Scheme | None = None,
        on_event: Callable[[RackEvent], None] = lambda _: None,
        on_write: Callable[[str, base.TableWrite, str], None] | None = None,
    ) -> None:
        """`profile`: None for that of `spec.lab`. `scheme`: None for the one that `spec.scheme`
        names. `on_write` is called when a switch has carried out or refused a table write: with the
        switch, the write, and the reason ("" if it was not refused).

        Raises `UsageError` for an invalid scheme, profile or topology.
        """
        profile = profile or profiles.of(spec.lab)
        super().__init__(spec, scheme or schemes.of(spec), on_event)
        self.profile = profile
        self.network: Network = config.of_scheme(spec, self.scheme)
        self.engines: list[_engine.Switch] = []
        """The program and state of each switch; empty before `bring_up`."""
        self.controllers: list[Controller] = []
        """One for each switch, or one for all; empty before `bring_up`."""
        self.control: list[SwitchControl] = []
        """The control channel of each switch; empty before `bring_up`."""
        self.failover = Failover(
            self.network,
            round(profile.control.detection_time * 1000),
            lambda switch: self._control_of(switch).ready,
            self._change,
            lambda text: self.emit("control", self.controller.name, text),
            self._lost,
        )
        self.oracle = Oracle(spec.workload.shift, self._hottest, self._report_hot)
        self.threads = 1
        """How many threads the simulation may use; `bring_up` reads it. No result depends on it."""
        self.always_threads = False
        """Whether they are used even where that takes longer, as tests want it."""
        self._on_write = on_write
        self._watched: tuple[list[bytes], int] | None = None
        self._programs = Programs(b"")
        self._nanoseconds = 0
        """Virtual time after the last step."""
        self._filled: float | None = None
        self.switch_nodes = tuple(
            SimSwitch(name, number, self) for number, name in enumerate(self.switches)
        )
        self.servers = tuple(
            SimServers(index, servers, self) for index, servers in enumerate(partitions(spec.lab))
        )
        self.coordinator = (
            SimCoordinator(SimCoordinator.NAME, self) if self.scheme.has(Coordinator) else None
        )
        self.cards = self._card_nodes()
        self.client = SimClient(SimClient.NAME, self)
        self.controller = SimController(SimController.NAME, self)
        self.nodes = (
            *self.switch_nodes,
            *self.servers,
            *self.cards,
            *(() if self.coordinator is None else (self.coordinator,)),
            self.client,
            self.controller,
        )
        self.links = (*(it for it in self.nodes if isinstance(it, LinkedNode)), *self._cables())

    def _cables(self) -> Iterator[SimCable]:
        """The cables between switches."""
        numbers = {plan.name: number for number, plan in enumerate(self.network.switches)}
        for link in self.network.links:
            name = layout.cable_name(link.a, link.b)
            yield SimCable(name, numbers[link.b], link.b_port, self)

    @property
    def now(self) -> float:
        """Virtual seconds since the rack's start."""
        return self.nanoseconds / SECOND

    @property
    def nanoseconds(self) -> int:
        """Virtual nanoseconds since the rack's start, after the last step of `advance`.

        It is stored here, because no other thread may use the engine during `advance`.
        """
        return self._nanoseconds

    @property
    def filled(self) -> float | None:
        return self._filled

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the switches."""
        return layout.names(self.network)

    def take_programs(self, programs: Programs) -> None:
        self._programs = programs
        super().take_programs(programs)

    def set_connected(self, switch: str, connected: bool) -> None:
        """A switch that runs on loses its connection to the controllers, or has it again."""
        self.switch_nodes[self.switches.index(switch)].set_connected(connected)

    def load_program(self, switch: int) -> None:
        """Loads the program into a switch again, which empties it."""
        self.engines[switch].load(self._bundle(switch))

    async def start(self) -> None:
        if not self.program_hash:
            await self.compile()
        await asyncio.to_thread(self.bring_up)

    def bring_up(self) -> None:
        """Starts the rack after the program is compiled. Raises `NetkvError`."""
        from netkv import _engine
        from netkv.switch.assertions import AssertionWatch

        spec, lab = self.spec, self.spec.lab
        if not profiles.is_measured() and lab.profile == profiles.THIS_MACHINE:
            self.emit(
                "note", "rack", "This machine was not measured; 'netkv calibrate' measures it."
            )
        self.engines = [
            _engine.Switch(self._bundle(number), spec.seed + number, lab.executor, lab.pipelines)
            for number in range(len(self.network.switches))
        ]
        self._assertions = [AssertionWatch(engine) for engine in self.engines]
        document = config.rack_config(spec, self.scheme, self.network, self.profile, self._cards())
        try:
            self.simulation = _engine.Simulation(json.dumps(document), self.engines)
        except ValueError as error:
            raise UsageError(str(error)) from error
        self.simulation.use_threads(self.threads, always=self.always_threads)
        if self._watched is not None:
            self.simulation.watch(*self._watched)
        hottest: list[bytes] = []
        if count := self.scheme.preloaded(lab):
            hottest = self._hottest(count)
        self._make_controllers()
        wanted = 0
        servers = self.network.switches[0].topology.servers
        owners = [owner_index(key, len(servers)) for key in hottest]
        for controller in self.controllers:
            here = {
                server.index
                for it in controller.switches.values()
                for server in self.network.switches[it.number].topology.local_servers()
            }
            local = [key for key, owner in zip(hottest, owners, strict=True) if owner in here]
            controller.start(local)
            wanted += len(local)
        try:
            self._advance_until_ready(wanted)
        finally:
            self._filled = None
        self.emit("ready", "rack", f"{self.scheme.about.title} is up.")

    def _advance_until_ready(self, preloaded: int) -> None:
        """Advances until all tables are set up and caches are filled with so many entries."""
        counted = -math.inf
        while not self.ready:
            if self.simulation.now() > READY_TIMEOUT:
                raise NetkvError(
                    f"The control plane was not ready within {READY_TIMEOUT / SECOND:g} virtual s."
                )
            self.advance(self.simulation.now() + _READY_STEP)
            # Some control planes list their keys to count them.
            if preloaded and (now := time.monotonic()) - counted >= _COUNT_INTERVAL_S:
                counted = now
                cached = sum(each.cached_count for each in self.controllers)
                self._filled = min(cached / preloaded, 1.0)

    def _card_nodes(self) -> tuple[SimCard | SimClientCard, ...]:
        if self.scheme.card is None:
            return ()
        if self.scheme.has(Card):
            return tuple(SimCard(server, self) for server in range(self.spec.lab.servers))
        return tuple(SimClientCard(card, self) for card in range(len(client_shares(self.spec.lab))))

    def _cards(self) -> list[dict[str, Any]]:
        """The configuration of each card, if the scheme has cards."""
        if self.scheme.card is None:
            return []
        from netkv.fpga import card

        wanted = self.scheme.card(self.spec.lab)
        design = card.find(wanted.manifest or wanted.design, wanted.changes)
        if (text := card.must_be_built(design)) is not None:
            self.emit("note", "rack", text)
        return [
            card.configuration(
                design,
                {**(wanted.of_card(number) if wanted.of_card else {}), **wanted.settings},
                seed=self.spec.seed * 1000 + number,
                preload=wanted.preload(self.spec, number) if wanted.preload else (),
            )
            for number in range(len(self.cards))
        ]

    async def stop(self) -> None:
        """Frees the memory of the engine; then only the time and the events are available.

        A thread that an interrupted run has left in `advance` keeps the engine until it ends.

        Controllers and rack refer to each other. Without this, Python would free them only at its
        next garbage collection, whose time does not depend on the memory of the engine.
        """
        if self.control:
            self.control, self.controllers = [], []
            del self.simulation, self.engines, self._assertions

    def advance(self, until: int) -> None:
        """Advances virtual time to `until` (nanoseconds)."""
        from netkv import _engine

        simulation, controllers, failover = self.simulation, self.controllers, self.failover
        oracle = self.oracle
        switches = [(it.controller, it) for it in self.control]
        now = simulation.now()
        while True:
            next_stop = until
            for due in (failover.deadline, oracle.deadline, *(it.deadline for it in controllers)):
                if due is not None and due < next_stop:
                    next_stop = due
            # While a switch is out of service, each event may end that.
            deliver = failover.idle and not self.controller.counts_actions
            try:
                notices = self._run_engine(simulation, max(next_stop, now), deliver)
            except _engine.SimulationError as error:
                raise NodeError(f"The simulated rack has stopped: {error}.") from error
            self._nanoseconds = now = simulation.now()
            for notice in notices:
                controller, switch = switches[notice[1]]
                if notice[0] == "continued":
                    controller.handled()
                elif notice[0] == "actions":
                    controller.carry_out(notice[2])
                    controller.handled()
                elif notice[0] == "packet-in":
                    controller.packet_in(switch, notice[2])
                elif notice[0] == "written":
                    controller.written(switch, notice[2], notice[3])
                elif notice[0] == "answered":
                    controller.answered(switch, notice[2])
                elif notice[0] == "write":
                    controller.arrived(switch, notice[2], notice[3])
                else:
                    controller.digest(switch, notice[2])
            for it in controllers:
                if (due := it.deadline) is not None and due <= now:
                    it.timer(now)
            failover.advance(now)
            oracle.advance(now)
            if now >= until:
                return

    def _run_engine(
        self, simulation: _engine.Simulation, until: int, deliver: bool
    ) -> list[_engine.Notice]:
        """Runs the engine until `until`, or until something is for a controller that the engine
        does not deliver to the control plane."""
        return simulation.run(until, deliver=deliver)

    @property
    def controlled(self) -> bool:
        pairs = zip(self.control, self.switch_nodes, strict=True)
        return all(control.in_session for control, switch in pairs if switch.running)

    @property
    def ready(self) -> bool:
        """Whether every switch is up and its control plane is ready."""
        return all(controller.ready for controller in self.controllers)

    def control_statistics(self) -> list[dict[str, int]]:
        """The counters of each control plane (`ControlPlane.statistics`)."""
        return [dict(each.control_plane.statistics()) for each in self.controllers]

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command to the load generator; raises `UsageError` for an invalid one."""
        try:
            reply: dict[str, Any] = json.loads(self.simulation.command(json.dumps(command)))
        except ValueError as error:
            raise UsageError(str(error)) from error
        if command["do"] == "phase":
            self.oracle.phase(command["name"], self.nanoseconds)
        return reply

    def _hottest(self, count: int) -> list[bytes]:
        """The most popular keys at this moment, the hottest first."""
        return hottest_keys(self.command(self._hottest_command(count)))

    def _report_hot(self, keys: tuple[bytes, ...]) -> None:
        """The oracle knows these keys to be hot."""
        for controller in self.controllers:
            controller.handle(base.HotKeys(keys))

    async def sample(self) -> RackSample:
        return self.take_sample()

    def take_sample(self) -> RackSample:
        """`sample` as a plain function."""
        client = self.simulation.sample()
        for name, watch in zip(self.switches, self._assertions, strict=True):
            for text in watch.new():
                self.emit("note", name, text)
        statistics = self.simulation.statistics()
        return self.sampler.take(
            now=self.now,
            time=self.now,
            client=client,
            switch=statistics,
            servers=[{"servers": dict(enumerate(statistics["servers"]))}],
            coordinator=statistics["coordinator"],
            cards=statistics["cards"],
            links=statistics["links"],
            control_bytes={
                name: control.bytes
                for name, control in zip(self.switches, self.control, strict=True)
            },
            record_bytes=[each.record_bytes for each in self.controllers],
            counts={
                "rack": statistics,
                **{
                    name: engine.statistics()
                    for name, engine in zip(self.switches, self.engines, strict=True)
                },
            },
            cached=sum(each.cached_count for each in self.controllers),
        )

    def cached_keys(self) -> set[bytes]:
        return {key for each in self.controllers for key in each.cached_keys()}

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts of the simulation since its start."""
        return self.simulation.statistics()

    def watch(self, keys: list[bytes], limit: int) -> None:
        """Records the frames about these keys (none: all) in a journal of `limit` lines.

        Before `bring_up`, the journal begins with the first frame of the rack.
        """
        self._watched = (keys, limit)
        if self.control:
            self.simulation.watch(keys, limit)

    def journal(self) -> list[str]:
        """The journal, a line for each frame on a link; only the latest lines are kept."""
        return self.simulation.journal()

    def _now(self) -> float:
        return self.now

    def _bundle(self, switch: int) -> bytes:
        """The program of a switch."""
        return self._programs.at(self.network.switches[switch].tier)

    def _control_of(self, switch: str) -> SwitchControl:
        return self.control[self.switches.index(switch)]

    def _make_controllers(self) -> None:
        """One controller for each switch, or one for all."""
        whole, on_write = self.scheme.network_control_plane, self._on_write
        controllers: dict[str, Controller] = {}
        for number, (switch, plan) in enumerate(
            zip(self.switches, self.network.switches, strict=True)
        ):
            if whole is None or not controllers:
                controllers[switch] = Controller(
                    self.simulation,
                    Disk(self.profile.control),
                    functools.partial(self._control_plane, switch),
                    functools.partial(self._handle_notice, switch),
                    self.controller.may_act,
                )
            controller = controllers[switch if whole is None else self.switches[0]]
            self.control.append(
                SwitchControl(
                    number,
                    "" if whole is None else plan.name,
                    Tables(self.engines[number], self._bundle(number)),
                    controller,
                    on_write and functools.partial(on_write, switch),
                    functools.partial(self.load_program, number),
                )
            )
        self.controllers = list(controllers.values())

    def _control_plane(self, switch: str) -> base.ControlPlane:
        """A new control plane for a switch, or for all."""
        if self.scheme.network_control_plane is not None:
            return self.scheme.network_control_plane(self.spec, self.network)
        return self.scheme.control_plane(self.spec, self.failover.topology(switch))

    def _change(self, switch: str, topology: Topology) -> None:
        control = self._control_of(switch)
        control.controller.change(control, topology)

    def _lost(self, switch: str) -> None:
        control = self._control_of(switch)
        control.controller.switch_lost(control)

    def _handle_notice(
        self, switch: str, action: base.Note | base.Recovering | base.Recovered
    ) -> None:
        if isinstance(action, base.Note):
            self.emit("control", self.controller.name, action.describe())
        else:
            plans = [plan.name for plan in self.network.switches]
            named = self.switches[plans.index(action.switch)] if action.switch else switch
            self.emit_recovery(named, action)
