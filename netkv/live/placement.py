"""Which machine executes each node of a live rack (`lab.hosts`)."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from netkv.errors import MisfitError, NetkvError, suggest
from netkv.live import cores, target
from netkv.live.addresses import Addresses
from netkv.live.machine import HERE, LOOPBACK, Machine
from netkv.model.hardware import STREAM, GenericLab, Pinned
from netkv.model.nodes import (
    Client,
    Coordinator,
    Node,
    RedisServer,
    Servers,
    Switch,
    kind_of,
    partitions,
    redis_servers,
)

_PINNED: Mapping[type[Node], Pinned] = {
    Switch: "switch",
    Servers: "server",
    Coordinator: "coordinator",
    Client: "client",
    RedisServer: "redis",
}
"""The kinds of nodes that hosts can execute, as `lab.cores` calls their processes."""


class Placement:
    """The machines of a rack's nodes."""

    def __init__(
        self,
        lab: GenericLab,
        nodes: Sequence[str],
        directory: Path,
        lost: Callable[[str, str], object],
        note: Callable[[str, str], object],
    ) -> None:
        """`directory` is that of the rack. `lost` and `note` are called with the name of a host and
        a sentence: when it is lost, and about what was found of it.

        Raises `MisfitError` for hosts that do not fit the rack, and for cores that this machine
        does not have; `NetkvError` if what hosts need is not installed.
        """
        self._hosts: list[Machine] = []
        self._of: dict[str, Machine] = {}
        placed = _placed(lab, nodes)
        away = {_PINNED[kind_of(node)] for node in placed}
        here = {_PINNED.get(kind_of(node)) for node in nodes if node not in placed}
        cores.check({it: own for it, own in lab.cores.items() if it not in away or it in here})
        if not lab.hosts:
            return
        try:
            from netkv.live.ssh_machine import SshMachine
        except ModuleNotFoundError as error:
            raise NetkvError(
                "'lab.hosts' needs asyncssh, which is not installed. Install netkv[cluster]."
            ) from error
        hosts = [SshMachine(host, directory, lost, note) for host in lab.hosts]
        self._hosts = list(hosts)
        self._of = {node: hosts[number] for node, number in placed.items()}

    def of(self, node: str) -> Machine:
        """The machine of a node; this one for programs that use the rack."""
        return self._of.get(node, HERE)

    async def connect(self) -> None:
        """Connects to all hosts; raises `NetkvError` for the first that cannot be used, when all
        attempts have ended: `close` then finds every connection."""
        attempts = (host.connect() for host in self._hosts)
        for failure in await asyncio.gather(*attempts, return_exceptions=True):
            if failure is not None:
                raise failure

    async def addresses(self, count: int, switches: Iterable[str]) -> Addresses:
        """Addresses for `count` ends on each machine, and for the P4Runtime servers of switches."""
        machines = [HERE, *self._hosts]
        free = [iter(await machine.free_ports(count)) for machine in machines]
        found = Addresses(self.of, dict(zip(machines, free, strict=True)), {})
        reached = {}
        for switch in switches:
            if (machine := self.of(switch)) is not HERE:
                port = next(found.free[machine])
                reached[switch] = (await machine.reach(port), f"{LOOPBACK}:{port}")
        return Addresses(self.of, found.free, reached)

    async def close(self) -> None:
        """Ends what runs on hosts, and deletes the rack's files there."""
        await asyncio.gather(*(host.close() for host in self._hosts))


def _placed(lab: GenericLab, nodes: Sequence[str]) -> dict[str, int]:
    """The number of the host of each node that is on one; raises `MisfitError`."""
    placed: dict[str, int] = {}
    for number, host in enumerate(lab.hosts):
        for at, pattern in enumerate(host.nodes):
            found = fnmatch.filter(nodes, pattern)
            where = ("lab", "hosts", number, "nodes", at)
            if not found:
                near = suggest(pattern, list(nodes), label="Its nodes")
                raise MisfitError(f"There is no node '{pattern}' in this lab. {near}", *where)
            for node in found:
                if kind_of(node) not in _PINNED:
                    raise MisfitError(
                        f"The node '{node}' cannot be on the host '{host.name}': switches, "
                        "servers with their Redis, clients and the coordinator can.",
                        *where,
                    )
                if placed.setdefault(node, number) != number:
                    raise MisfitError(
                        f"The node '{node}' is on the host '{lab.hosts[placed[node]].name}' "
                        "already.",
                        *where,
                    )
    _check_neighbours(lab, placed)
    _check_switch(lab, placed)
    return placed


def _check_neighbours(lab: GenericLab, placed: Mapping[str, int]) -> None:
    """Raises `MisfitError` for a redis-server away from the server whose records it has."""
    own = redis_servers(lab)
    for index, share in enumerate(partitions(lab)):
        node = f"{Servers.NAME}{index}"
        for server in share:
            redis = f"{RedisServer.NAME}{server}"
            if server in own and placed.get(redis) != placed.get(node):
                number = placed.get(redis, placed.get(node))
                raise MisfitError(
                    f"The node '{redis}' has the records of '{node}' and has to be on its machine: "
                    f"name both among the nodes of one host.",
                    *("lab", "hosts", number or 0, "nodes"),
                )


def _check_switch(lab: GenericLab, placed: Mapping[str, int]) -> None:
    """Raises `MisfitError` for nodes on hosts that a switch elsewhere does not reach."""
    for node, number in placed.items():
        where = ("lab", "hosts", number, "nodes")
        via = target.interface(lab, node) if kind_of(node) not in (Switch, RedisServer) else None
        if kind_of(node) is Switch and lab.target != "engine":
            raise MisfitError(f"The switch is at '{lab.target}', and not on a host.", *where)
        if via is not None and via.startswith(STREAM):
            raise MisfitError(
                f"The port of '{node}' is reached by '{via}', which this machine does; a node on a "
                "host needs an interface there ('lab.switch.ports', 'via').",
                *where,
            )
