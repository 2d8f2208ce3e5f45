"""A live rack: one switch, its servers, one load generator, and the control plane.

Rules
-----
1. Addresses are chosen once; a node that is started again gets the addresses it had.
2. A node that ends without being asked to is a failure: it is told at once, and the first one is
   kept in `failed`. The rack itself goes on; whether the run does is its owner's decision.
3. `stop` and every failed `start` leave no process behind.
4. The controller is a node, too, but no process: its tasks run here. To stop and to kill it is the
   same.
5. Faults of links, servers and the control channel last until they are healed, whoever restarts.
6. Redis servers of the rack are nodes like the others: they start before the servers that use them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from netkv import schemes
from netkv.control import base
from netkv.errors import UsageError, suggest
from netkv.lab import cabling
from netkv.lab.cabling import COORDINATOR, Cabling
from netkv.lab.conditions import Conditions, Direction
from netkv.lab.controller import Controller
from netkv.lab.guests import Farewells
from netkv.lab.process import BusyPortError, Kind, NodeError, NodeProcess
from netkv.lab.report import EventKind, RackEvent, RackSample
from netkv.lab.sampling import ControlDrops, CoordinatorCounts, ServerCounts, client_sample
from netkv.lab.shards import Shards, is_shard
from netkv.lab.spec import RackSpec
from netkv.schemes.options import CoordinatorOptions

_ADDRESS_TRIES = 5
"""How often to choose other addresses when somebody else took one."""
_REBIND_TIMEOUT = 5.0
"""Seconds for the addresses of a dead node to become free again."""
PRELOAD_TIMEOUT = 60.0
CONTROLLER = "controller"


class Rack:
    """A rack from its specification. Use `start` once; all methods from one event loop."""

    def __init__(
        self,
        spec: RackSpec,
        directory: Path,
        *,
        on_event: Callable[[RackEvent], None] = lambda _: None,
        on_processes: Callable[[dict[str, NodeProcess]], None] = lambda _: None,
    ) -> None:
        """`directory` takes logs and data. `on_processes` hears when nodes were started or ended.

        Raises `UsageError` for a scheme that does not exist or cannot run in this lab.
        """
        self.spec = spec
        self.scheme = schemes.of(spec)
        self.directory = directory
        self.events: list[RackEvent] = []
        self.failed: RackEvent | None = None
        """The first unexpected death."""
        self.program_hash = ""
        """Hash of the P4 program's source, includes and all."""
        self._on_event = on_event
        self._on_processes = on_processes
        self._nodes: dict[str, NodeProcess] = {}
        self._cabling: Cabling | None = None
        self._bundle = directory / "program.bundle"
        self._saved = self._data(CONTROLLER) / "saved"
        """What the controller has saved."""
        self._shards = Shards(spec.lab, self._data)
        self._controller: Controller | None = None
        self._farewells: Farewells | None = None
        self._set_up = False
        """Whether the switch that runs now has had a controller."""
        self._conditions = Conditions()
        self._server_counts = ServerCounts(spec.lab.servers)
        workers = CoordinatorOptions.of(spec.lab).coordinator_workers
        self._coordinator_counts = CoordinatorCounts(workers)
        self._control_drops = ControlDrops()
        self._control_bytes = 0
        """Between all controllers and the switch, up to the last sample."""
        self._bytes_of_the_dead = 0
        """The same of controllers that have ended."""
        self._sampled_at = time.monotonic()

    @property
    def nodes(self) -> tuple[str, ...]:
        """All processes, running or not: `switch`, `servers-0`, ..., `coordinator` if the scheme
        has one, `client`, and where records are in Redis servers of the rack, `redis-0`, ..."""
        return ("switch", *self._linked, *self._shards.names)

    @property
    def server_processes(self) -> tuple[str, ...]:
        """The processes that have storage servers: `servers-0`, ..."""
        count = min(self.spec.lab.server_processes, self.spec.lab.servers)
        return tuple(f"servers-{i}" for i in range(count))

    @property
    def _coordinator(self) -> tuple[str, ...]:
        return (COORDINATOR,) if self.scheme.coordinated else ()

    @property
    def _linked(self) -> tuple[str, ...]:
        """The nodes at the ends of links."""
        return (*self.server_processes, *self._coordinator, "client")

    @property
    def running(self) -> dict[str, bool]:
        """Which processes are running."""
        return {name: name in self._nodes and self._nodes[name].running for name in self.nodes}

    @property
    def controlled(self) -> bool:
        """Whether a controller runs, or has run since the switch was started last."""
        return self._controller is not None or self._set_up

    async def start(self) -> None:
        """Brings everything up: nodes, then control plane, then the preloaded cache.

        Raises `NetkvError`; then nothing is left running.
        """
        self._tell("starting", "rack", f"Bringing up {self.scheme.title}.")
        try:
            if not self.program_hash:
                await self.compile()
            # A rack that comes up has no memory, also if another one ran in this directory.
            self._saved.unlink(missing_ok=True)
            if self._shards.foreign:
                await self._wipe_shards(range(self.spec.lab.servers))
            await self._start_nodes()
            await self._start_controller()
            self._farewells = Farewells(self.guests(), self._clients_present)
            self._farewells.start()
        except BaseException:
            await self.stop()
            raise
        self._tell("ready", "rack", f"{self.scheme.title} is up.")

    async def stop(self) -> None:
        """Ends everything; nothing happens the second time."""
        if self._farewells is not None:
            await self._farewells.stop()
        await self._stop_controller()
        nodes = [node for node in self._nodes.values() if node.running]
        for node in nodes:
            node.expected_to_exit = True
        if nodes:
            self._tell("stopping", "rack", "Stopping all nodes.")
            await asyncio.gather(*(node.stop() for node in nodes))
        self._on_processes(self._nodes)

    async def kill(self, name: str) -> None:
        """Kills a node (SIGKILL), as a crash would."""
        if name == CONTROLLER:
            await self._end_controller("killed", "was killed")
            return
        node = self._node(name)
        await node.kill()
        self._tell("killed", name, f"The node '{name}' was killed.")
        self._on_processes(self._nodes)

    def kill_controller_after(self, actions: int) -> None:
        """Only the simulator can do it: raises `UsageError`."""
        raise UsageError(
            f"A live controller cannot be killed after {actions} more actions; 'kill' kills it now."
        )

    async def stop_node(self, name: str) -> None:
        """Stops a node in order."""
        if name == CONTROLLER:
            await self._end_controller("stopped", "was stopped")
            return
        node = self._node(name)
        await node.stop()
        self._tell("stopped", name, f"The node '{name}' was stopped.")
        self._on_processes(self._nodes)

    async def start_node(self, name: str, storage: Literal["kept", "lost"] | None = None) -> None:
        """Starts a node that was stopped, killed or died, with its old addresses.

        A switch comes back empty; the control plane notices and installs everything again. A
        controller comes back without memory and sets the switch up; that takes a moment longer
        than this call. `storage` says whether servers find their records; None: if their back end
        can keep them. Raises `UsageError` for what cannot be.
        """
        if name == CONTROLLER:
            if self._controller is not None and self._controller.running:
                raise UsageError("The controller is running already.")
            await self._launch_controller(())
            self._tell("started", name, "A new controller has taken over.")
            return
        self._check_name(name)
        if self.running[name]:
            raise UsageError(f"The node '{name}' is running already.")
        found = await self._settle_storage(name, storage)
        deadline = time.monotonic() + _REBIND_TIMEOUT
        while True:
            try:
                await self._launch(name)
                break
            except BusyPortError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
        self._tell("started", name, f"The node '{name}' was started again{found}.")

    async def impair(
        self, name: str, direction: Direction, impairment: Mapping[str, float]
    ) -> None:
        """Sets how the link of a node treats frames in one direction (`SwitchNode.impair`).

        In place of what was set before; it lasts while nodes come and go. Raises `NodeError`.
        """
        assert self._cabling is not None
        self._check_name(name, self._linked, "node at the end of a link")
        self._conditions.set_link(name, direction, impairment)
        if self.running["switch"]:
            port = self._cabling.node_port(name)
            command = {"port": port, "direction": direction, "impairment": dict(impairment)}
            await self._node("switch").command("impair", command)

    async def slow(self, name: str, factor: float) -> None:
        """Makes the servers of a process `factor` times slower than their service rate.

        It lasts while the process comes and goes. Raises `NodeError`.
        """
        self._check_name(name, self.server_processes, "server process")
        self._conditions.set_slow(name, factor)
        if self.running[name]:
            await self._node(name).command("slow", {"factor": factor})

    def partition(self) -> None:
        """Cuts the control channel (`netkv.lab.channel`)."""
        self._conditions.channel.cut()

    def heal(self) -> None:
        """Restores the control channel."""
        self._conditions.channel.heal()

    async def client(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command to the load generator (`ClientNode.command`); raises `NodeError`."""
        result: dict[str, Any] = await self._node("client").command("client", {"command": command})
        return result

    async def sample(self) -> RackSample:
        """What happened since the last call. A node that is down counts as zero."""
        client, switch, coordinator, *servers = await asyncio.gather(
            self._ask("client", "sample"),
            self._ask("switch", "statistics"),
            self._ask_coordinator(),
            *(self._ask(name, "statistics") for name in self.server_processes),
        )
        now = time.monotonic()
        interval, self._sampled_at = now - self._sampled_at, now
        load, dropped, statistics = self._server_counts.take(servers, interval)
        bytes_before, self._control_bytes = self._control_bytes, self._controller_bytes()
        control_bytes = self._control_bytes - bytes_before
        controller = {} if self._controller is None else self._controller.dropped()
        control_dropped, reports_dropped = self._control_drops.take(
            switch=switch, controller=controller
        )
        return RackSample(
            time=time.time(),
            client=client_sample(client),
            phase=str(client.get("phase", "down")),
            server_load=load,
            server_dropped=dropped,
            switch={key: value for key, value in switch.items() if isinstance(value, int)},
            control_plane_bytes=control_bytes,
            control_plane_bytes_by_switch={"switch": control_bytes},
            cached=self._controller.cached if self._controller is not None else 0,
            server_statistics=statistics,
            client_statistics=client,
            control_dropped=control_dropped,
            reports_dropped=reports_dropped,
            coordinator=self._coordinator_counts.take(coordinator, interval),
        )

    def guests(self) -> list[dict[str, Any]]:
        """What programs are told that use the rack (`netkv.client`), one for each place."""
        assert self._cabling is not None, "addresses are chosen when the rack is started"
        return cabling.guest_configs(self.spec, self._cabling, self.scheme.client_role)

    def standing(self) -> dict[str, Any] | None:
        """How the controller stands among the P4Runtime clients (`Candidate.to_json`).

        None while there is none.
        """
        if self._controller is None or not self._controller.running:
            return None
        return self._controller.candidate.to_json()

    def _clients_present(self) -> list[int]:
        return [] if self._controller is None else self._controller.clients_present()

    def cached_keys(self) -> set[bytes]:
        """The keys that the control plane believes cached."""
        return set() if self._controller is None else self._controller.cached_keys()

    async def hottest(self, count: int) -> list[bytes]:
        """The most popular keys at this moment, the hottest first."""
        reply = await self.client({"do": "hottest", "n": min(count, self.spec.workload.keys)})
        return [bytes.fromhex(key) for key in reply["keys"]]

    async def compile(self) -> None:
        """Compiles the scheme's program; `start` does it if this was not called.

        Raises `NetkvError` with the compiler's report.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        bundle = await asyncio.to_thread(self.scheme.compile, self.spec.lab)
        self._bundle.write_bytes(bundle)
        self.program_hash = json.loads(bundle.split(b"\n", 1)[1])["source_hash"]

    async def _start_nodes(self) -> None:
        for attempt in range(1, _ADDRESS_TRIES + 1):
            self._cabling = cabling.plug(
                self.spec, self.scheme.guests(self.spec.lab), self.scheme.coordinated
            )
            try:
                # The switch first: servers and clients may send as soon as they are there.
                await self._launch("switch")
                await asyncio.gather(*(self._launch(name) for name in self._shards.names))
                await asyncio.gather(*(self._launch(name) for name in self._linked))
                return
            except BusyPortError as error:
                if attempt == _ADDRESS_TRIES:
                    raise
                self._tell("note", "rack", f"Choosing other addresses: {error}")
                await self._end_all()

    async def _end_all(self) -> None:
        await asyncio.gather(*(node.kill() for node in self._nodes.values()))

    async def _start_controller(self) -> None:
        assert self._cabling is not None
        hottest = []
        if count := self.scheme.preloaded(self.spec.lab):
            hottest = await self.hottest(count)
        controller = await self._launch_controller(hottest)
        await controller.ready(PRELOAD_TIMEOUT)

    async def _launch_controller(self, preload: Sequence[bytes]) -> Controller:
        assert self._cabling is not None
        await self._stop_controller()
        self._controller = Controller(
            self.scheme,
            self.spec,
            self._cabling,
            self._bundle,
            channel=self._conditions.channel,
            preload=preload,
            saved=self._saved,
            tell=lambda text: self._tell("control", CONTROLLER, text),
            on_recovery=self._recovery,
            on_failure=self._controller_failed,
        )
        self._set_up = True
        await self._controller.start()
        return self._controller

    async def _stop_controller(self) -> None:
        if self._controller is not None:
            controller, self._controller = self._controller, None
            self._bytes_of_the_dead += controller.bytes
            with contextlib.suppress(Exception):
                await controller.stop()

    async def _end_controller(self, kind: EventKind, how: str) -> None:
        if self._controller is None:
            raise NodeError("The controller is not running.")
        await self._stop_controller()
        self._tell(kind, CONTROLLER, f"The controller {how}.")

    async def _launch(self, name: str) -> None:
        log = self.directory / "logs" / f"{name}.log"
        if is_shard(name):
            note = partial(self._tell, "note", name)  # of a server that hangs
            node: NodeProcess = self._shards.server(name, log, self._node_ended, note)
        else:
            kind, config = self._configuration(name)
            node = NodeProcess(name, kind, config, log, self._node_ended)
        self._nodes[name] = node
        self._server_counts.forget(self._servers_of(name))
        await node.spawn()
        # Told before it is ready: whoever cleans up after a crash has to know every process.
        self._on_processes(self._nodes)
        await node.configure()

    def _configuration(self, name: str) -> tuple[Kind, dict[str, Any]]:
        """What a node of netkv's own is told first."""
        assert self._cabling is not None
        kind: Kind = "client"
        config = cabling.client_config(self.spec, self._cabling, self.scheme.client_role)
        if name == "switch":
            kind = "switch"
            ports = {node: self._cabling.node_port(node) for node in self._linked}
            links = self._conditions.links(ports)
            config = cabling.switch_config(self.spec, self._cabling, self._bundle, links)
            self._set_up = self._controller is not None
        elif name == COORDINATOR:
            kind = "coordinator"
            config = cabling.coordinator_config(self.spec, self._cabling)
            self._coordinator_counts.forget()
        elif name.startswith("servers-"):
            index = int(name.removeprefix("servers-"))
            kind = "server"
            config = cabling.server_config(
                self.spec,
                self._cabling,
                index,
                self.scheme.server_role,
                self._data(name),
                self._shards.places(self._servers_of(name)),
                self._conditions.slow(name),
            )
        return kind, config

    def _data(self, name: str) -> Path:
        """Where the servers of a process may keep files."""
        return self.directory / "data" / name

    async def _settle_storage(self, name: str, storage: Literal["kept", "lost"] | None) -> str:
        """Makes a store be as it shall be found; returns what to say of it."""
        servers = name.startswith("servers-")
        durable = self.spec.lab.backend != "memory"
        if storage is not None and not servers:
            raise UsageError(f"The node '{name}' has no storage that could be {storage}.")
        if storage == "kept" and not durable:
            raise UsageError(
                f"The records of '{name}' cannot be kept: a store in memory is gone with its "
                f"process ('lab.backend: rocksdb' and 'redis' keep them)."
            )
        if storage == "lost" and self.spec.lab.backend == "redis":
            await self._wipe_shards(self._servers_of(name))
        elif storage == "lost" and durable:
            shutil.rmtree(self._data(name), ignore_errors=True)
        lost = servers and (storage == "lost" or not durable)
        return ", without what was written to it" if lost else ""

    async def _wipe_shards(self, servers: Iterable[int]) -> None:
        running = self.running
        await asyncio.to_thread(self._shards.wipe, servers, running.__getitem__)

    def _servers_of(self, name: str) -> tuple[int, ...]:
        if self._cabling is None or not name.startswith("servers-"):
            return ()
        return self._cabling.partitions[int(name.removeprefix("servers-"))]

    def _node_ended(self, node: NodeProcess) -> None:
        if not node.expected_to_exit:
            self._fail(node.name, f"The node '{node.name}' {node.obituary()}")
            self._on_processes(self._nodes)

    def _recovery(self, it: base.Recovering | base.Recovered) -> None:
        if isinstance(it, base.Recovering):
            self._tell("recovering", "switch", it.describe())
        else:
            self._add(RackEvent(time.time(), "recovered", "switch", it.describe(), it))

    def _controller_failed(self, text: str) -> None:
        self._fail("controller", text)

    def _fail(self, name: str, text: str) -> None:
        event = self._tell("failed", name, text)
        if self.failed is None:
            self.failed = event

    def _tell(self, kind: EventKind, node: str, text: str) -> RackEvent:
        return self._add(RackEvent(time.time(), kind, node, text))

    def _add(self, event: RackEvent) -> RackEvent:
        self.events.append(event)
        self._on_event(event)
        return event

    def _check_name(self, name: str, among: Sequence[str] = (), what: str = "node") -> None:
        names = among or (*self.nodes, CONTROLLER)
        if name not in names:
            raise UsageError(
                f"There is no {what} '{name}' in this lab.\n  {suggest(name, names, label='Nodes')}"
            )

    def _node(self, name: str) -> NodeProcess:
        self._check_name(name)
        if not self.running[name]:
            raise NodeError(f"The node '{name}' is not running.")
        return self._nodes[name]

    async def _ask_coordinator(self) -> dict[str, Any]:
        return await self._ask(COORDINATOR, "statistics") if self.scheme.coordinated else {}

    async def _ask(self, name: str, do: str) -> dict[str, Any]:
        try:
            result: dict[str, Any] = await self._node(name).command(do)
            return result
        except NodeError:
            return {}

    def _controller_bytes(self) -> int:
        now = 0 if self._controller is None else self._controller.bytes
        return self._bytes_of_the_dead + now
