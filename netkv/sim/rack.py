"""A rack in virtual time: the same switch programs, roles and control planes as live.

It offers what `netkv.lab.rack.Rack` offers, so that a scenario runs on either. Time passes only in
`advance`; between two calls the rack stands still.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from netkv import schemes
from netkv.control import base
from netkv.control.network import Network
from netkv.errors import NetkvError, UsageError, suggest
from netkv.lab.cabling import COORDINATOR, partitions
from netkv.lab.process import NodeError
from netkv.lab.report import EventKind, RackEvent, RackSample
from netkv.lab.sampling import ControlDrops, CoordinatorCounts, ServerCounts, client_sample
from netkv.lab.spec import RackSpec
from netkv.schemes.options import CoordinatorOptions
from netkv.sim import config, profiles
from netkv.sim.controller import SimController
from netkv.sim.disk import Disk
from netkv.sim.models import Profile
from netkv.sim.tables import Tables

SECOND = 1_000_000_000
READY_TIMEOUT = 600 * SECOND
"""Virtual time for tables and preloaded keys; a real controller would have given up long before."""
_READY_STEP = SECOND // 100


class VirtualClock:
    """The rack's own time, for a run."""

    def __init__(self, rack: SimRack) -> None:
        self._rack = rack

    def now(self) -> float:
        """Seconds since the rack was made."""
        return self._rack.now

    def time(self) -> float:
        """The same: a simulated rack knows no epoch."""
        return self._rack.now

    async def sleep(self, seconds: float) -> None:
        """Lets time pass in the rack, while other tasks of the event loop go on."""
        # At least a nanosecond: who waits for a moment between two must not wait for ever.
        until = self._rack.nanoseconds + max(math.ceil(seconds * SECOND), 1)
        await asyncio.to_thread(self._rack.advance, until)


class SimRack:
    """A rack from its specification. Use `start` once."""

    def __init__(
        self,
        spec: RackSpec,
        *,
        profile: Profile | None = None,
        scheme: schemes.Scheme | None = None,
        on_event: Callable[[RackEvent], None] = lambda _: None,
        on_write: Callable[[str, base.TableWrite, str], None] = lambda *_: None,
    ) -> None:
        """`profile`: what the rack is like; None takes that of `spec.lab`.
        `scheme`: None takes the one that `spec.scheme` names. `on_write` hears of every table write
        when a switch is done with it: the switch, the write, and why it was refused (or nothing).

        Raises `UsageError` for a scheme, profile or topology that cannot be.
        """
        self.spec = spec
        self.profile = profile or profiles.of(spec.lab)
        self._scheme = scheme or schemes.of(spec)
        self.network: Network = config.lay_out(spec, coordinator=self._scheme.coordinated)
        self.events: list[RackEvent] = []
        self.failed: RackEvent | None = None
        self.program_hash = ""
        self._on_event = on_event
        self._on_write = on_write
        self._watched: tuple[list[bytes], int] | None = None
        self._bundle = b""
        self._partitions = partitions(spec.lab)
        self._down: set[str] = set()
        self._counts = ServerCounts(spec.lab.servers)
        workers = CoordinatorOptions.of(spec.lab).coordinator_workers
        self._coordinator_counts = CoordinatorCounts(workers)
        self._control_drops = ControlDrops()
        self._control_bytes = [0] * len(self.network.switches)
        """Of each switch, up to the last sample."""
        self._sampled_at = 0.0
        self._controllers: list[SimController] = []
        self._nanoseconds = 0
        """Of virtual time, as of the last step."""
        self._steps_left: int | None = None
        """Of the controllers before they die; None: they do not."""
        self.engine_cpu = 0.0
        """Seconds on a core that `advance` has spent in the engine; its other ones are Python's."""

    @property
    def scheme(self) -> schemes.Scheme:
        """The scheme that it runs."""
        return self._scheme

    @property
    def now(self) -> float:
        """Virtual seconds since it was made."""
        return self.nanoseconds / SECOND

    @property
    def nanoseconds(self) -> int:
        """Virtual nanoseconds since it was made, as of the last step of `advance`.

        The engine cannot be asked while another thread advances it.
        """
        return self._nanoseconds

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the switches: `switch` if there is one."""
        plans = self.network.switches
        return ("switch",) if len(plans) == 1 else tuple(plan.name for plan in plans)

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, running or not."""
        count = len(self._partitions)
        coordinator = (COORDINATOR,) if self._scheme.coordinated else ()
        servers = (f"servers-{i}" for i in range(count))
        return (*self.switches, *servers, *coordinator, "client", "controller")

    @property
    def running(self) -> dict[str, bool]:
        """Which nodes are running."""
        return {name: name not in self._down for name in self.nodes}

    async def compile(self) -> None:
        """Compiles the scheme's program; raises `NetkvError` with the compiler's report."""
        self.take_program(await asyncio.to_thread(self._scheme.compile, self.spec.lab))

    def take_program(self, bundle: bytes) -> None:
        """Takes a program that is compiled already, in place of `compile`."""
        self._bundle = bundle
        self.program_hash = json.loads(bundle.split(b"\n", 1)[1])["source_hash"]

    async def start(self) -> None:
        """Makes everything, then lets time pass until the switches are set up."""
        if not self.program_hash:
            await self.compile()
        await asyncio.to_thread(self.bring_up)

    def bring_up(self) -> None:
        """As `start`, once the program is compiled. Raises `NetkvError`."""
        from netkv import _engine

        spec, lab = self.spec, self.spec.lab
        if not profiles.is_measured() and lab.profile == profiles.THIS_MACHINE:
            self._say("note", "rack", "This machine is not measured ('netkv calibrate' does it).")
        self._engines = [
            _engine.Switch(self._bundle, spec.seed + number, lab.executor, lab.pipelines)
            for number in range(len(self.network.switches))
        ]
        document = config.rack_config(spec, self._scheme, self.network, self.profile)
        try:
            self._simulation = _engine.Simulation(json.dumps(document), self._engines)
        except ValueError as error:
            raise UsageError(str(error)) from error
        if self._watched is not None:
            self._simulation.watch(*self._watched)
        hottest: list[bytes] = []
        if count := self._scheme.preloaded(lab):
            hottest = self._hottest(count)
        for number, plan in enumerate(self.network.switches):
            self._controllers.append(
                SimController(
                    self._simulation,
                    number,
                    Tables(self._engines[number], self._bundle),
                    Disk(self.profile.control),
                    functools.partial(self._scheme.control_plane, spec, plan.topology),
                    functools.partial(self._told, self.switches[number]),
                    functools.partial(self._on_write, self.switches[number]),
                    self._may_step,
                )
            )
        for controller, plan in zip(self._controllers, self.network.switches, strict=True):
            controller.start([key for key in hottest if plan.topology.is_local(key)])
        while not self.ready:
            if self._simulation.now() > READY_TIMEOUT:
                raise NetkvError(
                    f"The control plane was not ready within {READY_TIMEOUT / SECOND:g} virtual s."
                )
            self.advance(self._simulation.now() + _READY_STEP)
        self._say("ready", "rack", f"{self._scheme.title} is up.")

    async def stop(self) -> None:
        """Gives its memory back: from now on it can only be asked for the time and its events.

        A thread that an interrupted run has left in `advance` keeps the engine until it ends.

        Controllers and rack know each other, so Python itself would keep them until it happens to
        look for such circles, and that does not depend on what the engine holds.
        """
        if self._controllers:
            self._controllers = []
            del self._simulation, self._engines

    def advance(self, until: int) -> None:
        """Lets time pass up to `until` (nanoseconds)."""
        simulation, controllers = self._simulation, self._controllers
        while True:
            dues = [each.deadline for each in controllers if each.deadline is not None]
            before = time.thread_time()
            try:
                notices = simulation.run(max(min([until, *dues]), simulation.now()))
            except ValueError as error:
                raise NodeError(f"The simulated rack has stopped: {error}.") from error
            self._nanoseconds = simulation.now()
            self.engine_cpu += time.thread_time() - before
            for notice in notices:
                match notice:
                    case ("packet-in", switch, frame):
                        controllers[switch].packet_in(frame)
                    case ("digest", switch, digest):
                        controllers[switch].digest(digest)
                    case ("write", switch, token, pipeline):
                        controllers[switch].write_arrived(token, pipeline)
                    case ("answered", switch, token):
                        controllers[switch].answered(token)
            now = simulation.now()
            for controller in controllers:
                controller.timer(now)
            if now >= until:
                return

    async def kill(self, name: str) -> None:
        """Takes a node's power away."""
        self._stop(name)
        self._say("killed", name, f"The node '{name}' was killed.")

    def kill_controller_after(self, actions: int) -> None:
        """The controllers die once they have carried out so many actions more, before the next:
        frames, table writes and saves count. At the latest they die when they are started again.
        """
        if "controller" in self._down:
            raise NodeError("The node 'controller' is not running.")
        self._steps_left = actions

    async def stop_node(self, name: str) -> None:
        """The same as `kill`: nothing simulated has anything to put in order."""
        self._stop(name)
        self._say("stopped", name, f"The node '{name}' was stopped.")

    async def start_node(self, name: str, storage: Literal["kept", "lost"] | None = None) -> None:
        """Starts a node again: a switch comes back empty, a server with its store unless lost."""
        self.start_again(name, keep_storage=storage != "lost")

    def start_again(self, name: str, *, keep_storage: bool) -> None:
        """As `start_node`; `keep_storage` says whether a server's store is still there."""
        self._check_name(name)
        if name == "controller" and self._steps_left is not None:
            self._die_between_steps()
        if name not in self._down:
            raise UsageError(f"The node '{name}' is running already.")
        self._down.discard(name)
        simulation = self._simulation
        if name in self.switches:
            number = self.switches.index(name)
            self._engines[number].load(self._bundle)
            simulation.start_switch(number)
            if "controller" not in self._down:
                self._controllers[number].switch_started()
        elif name == "client":
            for client in range(1, self.spec.lab.clients + 1):
                simulation.set_client(client, True)
        elif name == "controller":
            for number, switch in enumerate(self.switches):
                if switch not in self._down:
                    self._engines[number].load(self._bundle)
                    self._controllers[number].replace()
        elif name == COORDINATOR:
            simulation.start_coordinator()
            self._coordinator_counts.forget()
        else:
            for server in self._servers_of(name):
                simulation.start_server(server, keep_storage)
            self._counts.forget(self._servers_of(name))
        self._say("started", name, f"The node '{name}' was started again.")

    def _stop(self, name: str) -> None:
        self._check_name(name)
        if name in self._down:
            raise NodeError(f"The node '{name}' is not running.")
        self._down.add(name)
        simulation = self._simulation
        if name in self.switches:
            number = self.switches.index(name)
            simulation.stop_switch(number)
            self._controllers[number].switch_stopped()
        elif name == "client":
            # What its process had under way, and preserved, is gone; what was seen is still judged.
            self.command({"do": "crash"})
            for client in range(1, self.spec.lab.clients + 1):
                simulation.set_client(client, False)
        elif name == "controller":
            self._steps_left = None
            for controller in self._controllers:
                controller.die()
        elif name == COORDINATOR:
            simulation.stop_coordinator()
        else:
            for server in self._servers_of(name):
                simulation.stop_server(server)

    def _may_step(self) -> bool:
        """Whether a controller may go on; if not, all of them have just died."""
        if self._steps_left is None:
            return True
        if self._steps_left > 0:
            self._steps_left -= 1
            return True
        self._die_between_steps()
        return False

    def _die_between_steps(self) -> None:
        self._stop("controller")
        self._say("killed", "controller", "The node 'controller' was killed between two actions.")

    async def impair(
        self, name: str, direction: Literal["to", "from"], impairment: Mapping[str, float]
    ) -> None:
        """From now on frames to or from a node's hosts meet this (`LinkFault.impairment`)."""
        self._check_name(name)
        text = json.dumps(dict(impairment))
        ways = {"to": (text, None), "from": (None, text)}[direction]
        if name == "client":
            for client in range(1, self.spec.lab.clients + 1):
                self._simulation.impair("client", client, *ways)
        elif name == COORDINATOR:
            self._simulation.impair("coordinator", 0, *ways)
        else:
            for server in self._servers_of(name):
                self._simulation.impair("server", server, *ways)

    async def slow(self, name: str, factor: float) -> None:
        """From now on all work takes the servers of a node `factor` times as long."""
        self._check_name(name)
        for server in self._servers_of(name):
            self._simulation.slow_server(server, factor)

    def partition(self) -> None:
        """Cuts the control channel of every switch."""
        for switch in range(len(self.switches)):
            self._simulation.cut_channel(switch, True)

    def heal(self) -> None:
        """Makes the control channels whole."""
        for switch in range(len(self.switches)):
            self._simulation.cut_channel(switch, False)

    @property
    def controlled(self) -> bool:
        """Whether every switch that is up has been set up by a controller."""
        down = self._down
        return all(
            controller.alive
            for controller, name in zip(self._controllers, self.switches, strict=True)
            if name not in down
        )

    @property
    def ready(self) -> bool:
        """Whether every switch is up and its control plane has set it up."""
        return all(controller.ready for controller in self._controllers)

    def control_statistics(self) -> list[dict[str, int]]:
        """What the control plane of each switch counts; see `statistics` of the schemes' own."""
        return [dict(controller.control_plane.statistics()) for controller in self._controllers]

    async def client(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command to the load generator."""
        return self.command(command)

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """As `client`. Raises `UsageError` for a command that cannot be."""
        try:
            reply: dict[str, Any] = json.loads(self._simulation.command(json.dumps(command)))
        except ValueError as error:
            raise UsageError(str(error)) from error
        return reply

    async def sample(self) -> RackSample:
        """What happened since the last call."""
        return self.take_sample()

    def take_sample(self) -> RackSample:
        """As `sample`."""
        client = self._simulation.sample()
        statistics = self._simulation.statistics()
        interval = self.now - self._sampled_at
        self._sampled_at = self.now
        servers = dict(enumerate(statistics["servers"]))
        load, dropped, counts = self._counts.take([{"servers": servers}], interval)
        control_dropped, reports_dropped = self._control_drops.take(rack=statistics)
        bytes_before = self._control_bytes
        self._control_bytes = [controller.bytes for controller in self._controllers]
        control_bytes = {
            name: now - before
            for name, now, before in zip(
                self.switches, self._control_bytes, bytes_before, strict=True
            )
        }
        return RackSample(
            time=self.now,
            client=client_sample(client),
            phase=str(client["phase"]),
            server_load=load,
            server_dropped=dropped,
            switch={key: value for key, value in statistics.items() if isinstance(value, int)},
            control_plane_bytes=sum(control_bytes.values()),
            control_plane_bytes_by_switch=control_bytes,
            cached=sum(len(controller.cached_keys()) for controller in self._controllers),
            server_statistics=counts,
            client_statistics=client,
            control_dropped=control_dropped,
            reports_dropped=reports_dropped,
            coordinator=self._coordinator_counts.take(statistics["coordinator"], interval),
        )

    def cached_keys(self) -> set[bytes]:
        """The keys that the control planes believe cached."""
        return {key for controller in self._controllers for key in controller.cached_keys()}

    async def hottest(self, count: int) -> list[bytes]:
        """The most popular keys at this moment, the hottest first."""
        return self._hottest(count)

    def _hottest(self, count: int) -> list[bytes]:
        reply = self.command({"do": "hottest", "n": min(count, self.spec.workload.keys)})
        return [bytes.fromhex(key) for key in reply["keys"]]

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts of the simulation since its start."""
        return self._simulation.statistics()

    def watch(self, keys: list[bytes], limit: int) -> None:
        """Writes down what becomes of frames about these keys (none: all), the latest `limit`.

        Before `bring_up` it holds from the rack's first moment on.
        """
        self._watched = (keys, limit)
        if self._controllers:
            self._simulation.watch(keys, limit)

    def journal(self) -> list[str]:
        """What was written down, a line for each frame on a link."""
        return self._simulation.journal()

    def _servers_of(self, name: str) -> tuple[int, ...]:
        return self._partitions[int(name.removeprefix("servers-"))]

    def _check_name(self, name: str) -> None:
        if name not in self.nodes:
            raise UsageError(
                f"There is no node '{name}' in this lab.\n"
                f"  {suggest(name, self.nodes, label='Nodes')}"
            )

    def _told(self, switch: str, action: base.Note | base.Recovering | base.Recovered) -> None:
        match action:
            case base.Note():
                self._say("control", "controller", action.describe())
            case base.Recovering():
                self._say("recovering", switch, action.describe())
            case base.Recovered():
                self._add(RackEvent(self.now, "recovered", switch, action.describe(), action))

    def _say(self, kind: EventKind, node: str, text: str) -> None:
        self._add(RackEvent(self.now, kind, node, text))

    def _add(self, event: RackEvent) -> None:
        self.events.append(event)
        self._on_event(event)
