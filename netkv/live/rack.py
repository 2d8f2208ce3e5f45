"""A live rack: its switches and servers, one load generator, and the control plane.

Rules
-----
1. Addresses are chosen once; a node that is started again gets the addresses it had.
2. A node that ends unexpectedly has failed: the rack emits an event at once, and keeps the first
   one in `failed`. The rack itself continues; its owner decides whether the run does.
3. `stop` and every failed `start` leave no process behind.
4. Faults of links, servers and the control channel last until they are healed, also across
   restarts of nodes.
5. Redis servers of the rack are nodes like the others: they start before the servers that use them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from netkv import schemes
from netkv.live import cabling, cards, external_clients, target
from netkv.live.cabling import Cabling
from netkv.live.card import LiveCard
from netkv.live.controller_node import LiveController
from netkv.live.external_clients import ExternalClient
from netkv.live.placement import Placement
from netkv.live.poll import Answer
from netkv.live.process import COMMAND_TIMEOUT, BusyPortError, NodeProcess
from netkv.live.rack_nodes import (
    LiveCable,
    LiveClient,
    LiveCoordinator,
    LiveLink,
    LiveLinkedNode,
    LiveNode,
    LiveRedisServer,
    LiveServers,
    LiveSwitch,
    RackOfNodes,
)
from netkv.live.shards import Shards
from netkv.live.stale_clients import StaleClientReaper
from netkv.live.veth import VethFabric
from netkv.model import layout, nodes
from netkv.model.network import Tier
from netkv.model.nodes import Client, Coordinator, NodeError, partitions, redis_servers
from netkv.model.report import COMPILER, RackEvent, RackSample
from netkv.schemes import checks
from netkv.schemes.programs import Programs
from netkv.schemes.spec import RackSpec

_ADDRESS_TRIES = 5
"""Attempts to choose addresses, for when another process takes one."""
PRELOAD_TIMEOUT = 60.0


class LiveRack(RackOfNodes):
    """A rack of processes. Call all methods from one event loop."""

    client: LiveClient
    controller: LiveController
    servers: tuple[LiveServers, ...]
    coordinator: LiveCoordinator | None
    cards: tuple[LiveCard, ...]
    links: tuple[LiveLink, ...]

    def __init__(
        self,
        spec: RackSpec,
        directory: Path,
        *,
        on_event: Callable[[RackEvent], None] = lambda _: None,
        on_processes: Callable[[dict[str, NodeProcess]], None] = lambda _: None,
    ) -> None:
        """`directory` takes logs and data. `on_processes` is called with the newest process of
        each node when one was started or has ended.

        Raises `UsageError` for a scheme that does not exist or cannot run in this lab, and for a
        node without a port of a switch that runs elsewhere.
        """
        super().__init__(spec, schemes.of(spec), on_event)
        checks.check_live(self.scheme, spec.lab, spec.workload)
        self.directory = directory
        self.target = target.of(spec.lab, self._bundle)
        # Checked before anything is compiled.
        external = self.scheme.external_clients(spec.lab)
        network = cabling.plan(spec, external, self.scheme.node_kinds)
        self._prepared = False
        self._filling = False
        self.shards = Shards(spec.lab, self.data)
        self.controller = LiveController(self)
        self.switch_nodes = tuple(
            LiveSwitch(name, number, self) for number, name in enumerate(layout.names(network))
        )
        self.servers = tuple(
            LiveServers(index, servers, self) for index, servers in enumerate(partitions(spec.lab))
        )
        self.coordinator = (
            LiveCoordinator(LiveCoordinator.NAME, self) if self.scheme.has(Coordinator) else None
        )
        self.cards = cards.of_rack(self)
        self.client = LiveClient(LiveClient.NAME, self)
        self._redis = tuple(LiveRedisServer(server, self) for server in redis_servers(spec.lab))
        self.nodes = (*self.switch_nodes, *self.linked_nodes, self.controller, *self._redis)
        self.placement = Placement(
            spec.lab,
            [node.name for node in self.nodes],
            directory,
            lost=self.fail,
            note=lambda host, text: self.emit("note", host, text),
        )
        self.links = (*self.linked_nodes, *(LiveCable(link, self) for link in network.links))
        self.programs: dict[str, ExternalClient] = {}
        """The programs that use the rack, at the last sample, by the names of their nodes."""
        self.counters: dict[str, dict[str, Any]] = {}
        """The counters of switches, servers, and of the sockets of coordinator and client at the
        last sample; empty for a node that did not run, missing for one that did not answer."""
        self._on_processes = on_processes
        self._cabling: Cabling | None = None
        self._fabric: VethFabric | None = None
        self._reaper: StaleClientReaper | None = None
        self.sampler.begin(time.monotonic())

    @property
    def linked_nodes(self) -> tuple[LiveLinkedNode, ...]:
        """The nodes at the ends of links."""
        coordinator = () if self.coordinator is None else (self.coordinator,)
        return (*self.servers, *self.cards, *coordinator, self.client)

    @property
    def processes(self) -> tuple[LiveNode, ...]:
        """The nodes that are processes, in the order in which they start."""
        return (*self.switch_nodes, *self._redis, *self.linked_nodes)

    @property
    def running(self) -> dict[str, bool]:
        """Which processes run, by name of the node."""
        return {node.name: node.running for node in self.nodes if isinstance(node, LiveNode)}

    @property
    def filled(self) -> float | None:
        return self.controller.filled if self._filling else None

    @property
    def controlled(self) -> bool:
        return self.controller.present or self.controller.set_up

    @property
    def cabled(self) -> bool:
        """Whether the addresses are chosen."""
        return self._cabling is not None

    @property
    def cabling(self) -> Cabling:
        """The addresses; `start` chooses them."""
        assert self._cabling is not None, "the rack was started"
        return self._cabling

    def data(self, name: str) -> Path:
        """Where a node may keep files."""
        return self.directory / "data" / name

    def take_programs(self, programs: Programs) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        for tier in ("servers", *programs.others):
            self._bundle(tier).write_bytes(programs.at(tier))
        super().take_programs(programs)

    def _bundle(self, tier: Tier) -> Path:
        """The file with the program of the switches of a tier."""
        own = tier in self.scheme.programs.others
        return self.directory / (f"program-{tier}.bundle" if own else "program.bundle")

    async def compile(self) -> None:
        await super().compile()
        await self._prepare_target()

    async def _prepare_target(self) -> None:
        """Compiles the program for the target and builds cards, unless that was done."""
        if not self._prepared:
            self._prepared = True

            def note(text: str) -> None:
                self.emit("note", COMPILER, text)

            await self._build_cards()
            await self.target.prepare(self.scheme, self.spec.lab, self.program_hash, note)

    async def _build_cards(self) -> None:
        """Builds the design of the cards, if it was not built."""
        if (found := cards.to_build(self.scheme, self.spec.lab)) is not None:
            from netkv.fpga import build

            design, text = found
            self.emit("note", "rack", text)
            await asyncio.to_thread(build.build, design)

    async def start(self) -> None:
        self.emit("starting", "rack", f"Bringing up {self.scheme.about.title}.")
        try:
            if not self.program_hash:
                await self.compile()
            await self._prepare_target()
            # A new rack starts without saved state, also if another one ran in this directory.
            self.controller.forget()
            if self.shards.external:
                await self.wipe_shards(range(self.spec.lab.servers))
            if self.spec.lab.fabric == "veth":
                await asyncio.to_thread(self._open_fabric)
            await self._start_processes()
            await self._start_controller()
            self._reaper = StaleClientReaper(
                self.external_clients(), self.controller.registered_clients
            )
            self._reaper.start()
        except BaseException:
            await self.stop()
            raise
        self.emit("ready", "rack", f"{self.scheme.about.title} is up.")

    async def stop(self) -> None:
        if self._reaper is not None:
            await self._reaper.stop()
        await self.controller.quit()
        running = [each.process for each in self.processes if each.process and each.running]
        for process in running:
            process.expected_to_exit = True
        if running:
            self.emit("stopping", "rack", "Stopping all nodes.")
            await asyncio.gather(*(process.stop() for process in running))
        if self._fabric is not None:
            await asyncio.to_thread(self._fabric.close)
        await self.placement.close()
        self.processes_changed()

    async def sample(self) -> RackSample:
        samples = await self.samples(COMMAND_TIMEOUT)
        if not samples:
            raise NodeError(
                f"The node '{self.client.name}' has not answered for {COMMAND_TIMEOUT:g} s."
            )
        return samples[-1]

    async def samples(self, within: float) -> list[RackSample]:
        load, coordinator, switches, servers, cards = await asyncio.gather(
            self.client.samples(within),
            _polled([] if self.coordinator is None else [self.coordinator], within),
            _polled(self.switch_nodes, within),
            _polled(self.servers, within),
            asyncio.gather(*(each.counters(within) for each in self.cards)),
        )
        places = len(self.cabling.external_clients)
        self.programs = external_clients.of_lab(self.directory, places)
        if not load:
            return []
        *late, newest = load
        client = newest.counts
        coordinated = coordinator.get(nodes.Coordinator.NAME)
        counts = {name: answer.counts for name, answer in {**switches, **servers}.items()}
        if coordinated is not None:
            counts[nodes.Coordinator.NAME] = coordinated.counts.get("socket", {})
        self.counters = {**counts, self.client.name: client.get("socket", {})}
        now, cached = time.monotonic(), self.controller.cached_count
        epoch = time.time() - now
        return [
            *(self.sampler.late(epoch + each.at, each.counts, cached) for each in late),
            self.sampler.take(
                now=now,
                time=epoch + newest.at,
                client=client,
                switch=_sum(answer.counts for answer in switches.values()),
                servers=[{"at": answer.at, **answer.counts} for answer in servers.values()],
                silent=[
                    server
                    for node in self.servers
                    if node.name not in servers
                    for server in node.indices
                ],
                coordinator=None if coordinated is None else coordinated.counts,
                cards=cards,
                control_bytes=self.controller.bytes,
                record_bytes=self.controller.record_bytes,
                counts={
                    **{name: answer.counts for name, answer in switches.items()},
                    "controller": self.controller.dropped(),
                    self.client.name: {
                        "send_drops": client.get("socket", {}).get("send_drops", 0),
                        "receive_drops": client.get("socket", {}).get("dropped", 0),
                    },
                },
                cached=cached,
            ),
        ]

    def cached_keys(self) -> set[bytes]:
        return self.controller.cached_keys()

    def external_clients(self) -> list[dict[str, Any]]:
        """Configurations of external clients (`netkv.client`), one for each slot."""
        return cabling.external_client_configs(
            self.spec, self.cabling, self.scheme.role(Client, self.spec.lab)
        )

    async def wipe_shards(self, servers: Iterable[int]) -> None:
        """Deletes the records of these servers in Redis; raises `NetkvError`."""
        for server in servers:
            node = None if self.shards.external else self._redis[server]
            if node is not None and not node.running:
                directory = self.shards.directory(server)
                await self.placement.of(node.name).delete(directory)
            else:
                await asyncio.to_thread(self.shards.wipe, server)

    def processes_changed(self) -> None:
        """Reports that a process was started or has ended."""
        self._on_processes({each.name: each.process for each in self.processes if each.process})

    def process_ended(self, process: NodeProcess) -> None:
        """Handles the end of a process, which is a failure if it is unexpected."""
        if not process.expected_to_exit:
            self.fail(process.name, f"The node '{process.name}' {process.exit_message()}")
            self.processes_changed()

    def fail(self, node: str, text: str) -> None:
        """Handles the failure of a node."""
        event = self.emit("failed", node, text)
        if self.failed is None:
            self.failed = event

    def _now(self) -> float:
        return time.time()

    def _open_fabric(self) -> None:
        hosts = cabling.hosts(self.spec, self.scheme.node_kinds)
        self._fabric = VethFabric(self.directory.name, hosts, sinks=cabling.SINKS)
        self._fabric.open()
        # Programs of schemes forward IPv4, but no ARP.
        self._fabric.neighbours()

    async def _start_processes(self) -> None:
        await self.placement.connect()
        rack = self.spec, self.scheme.external_clients(self.spec.lab), self.scheme.node_kinds
        switches = [each.name for each in self.switch_nodes]
        for attempt in range(1, _ADDRESS_TRIES + 1):
            free = await self.placement.addresses(cabling.needed(*rack), switches)
            self._cabling = cabling.plug(*rack, self._fabric, free)
            try:
                # Switches first: servers and clients may send as soon as they run.
                await asyncio.gather(*(node.launch() for node in self.switch_nodes))
                await asyncio.gather(*(node.launch() for node in self._redis))
                await asyncio.gather(*(node.launch() for node in self.linked_nodes))
                return
            except BusyPortError as error:
                if attempt == _ADDRESS_TRIES:
                    raise
                self.emit("note", "rack", f"Choosing other addresses: {error}")
                launched = [each.process for each in self.processes if each.process]
                await asyncio.gather(*(process.kill() for process in launched))

    async def _start_controller(self) -> None:
        count = self.scheme.preloaded(self.spec.lab)
        hottest = await self.hottest(count) if count else []
        self._filling = True
        try:
            await self.controller.launch(hottest)
            await self.controller.ready(PRELOAD_TIMEOUT)
        finally:
            self._filling = False


async def _polled(asked: Sequence[LiveNode], within: float) -> dict[str, Answer]:
    """The counters of nodes, by name; those of nodes that have not answered are missing."""
    answers = await asyncio.gather(*(node.poll(within) for node in asked))
    return {
        node.name: answer for node, answer in zip(asked, answers, strict=True) if answer is not None
    }


def _sum(switches: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The counters of all switches together."""
    total: Counter[str] = Counter()
    for counts in switches:
        total.update({name: n for name, n in counts.items() if isinstance(n, int)})
    return dict(total)
