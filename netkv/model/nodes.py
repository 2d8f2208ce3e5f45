"""The kinds of nodes of a rack, and the operations of each.

    Node             kill, stop, start
      Switch
      Controller     kill_after, partition, heal
      RedisServer
      LinkedNode     impair
        Servers      slow
        Card
          ClientCard
        Coordinator
        Client       command

The link of a `LinkedNode` and a cable between switches are a `Link`, which can be impaired.

A driver has a subclass of each kind. Users, scenarios and stored runs write a node as its name, and
a cable between switches as the names of both with a colon: `spine-0:leaf-1`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from netkv.errors import FieldError, NetkvError, UsageError, suggest
from netkv.model.spreading import spread

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab

Direction = Literal["to", "from"]
"""Direction of frames on a link, seen from the node or the second of two switches."""
Storage = Literal["kept", "lost"]


class NodeError(NetkvError):
    """A node could not start, has ended, or refused a command."""


class Node(ABC):
    """A part of a rack that can be stopped and started again."""

    NAME: ClassVar[str]
    """Name of the node; for kinds with several nodes, the prefix of their names: `servers-`."""
    name: str

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether the node runs."""

    @abstractmethod
    async def kill(self) -> None:
        """Ends the node as a crash would. Raises `NodeError` if it does not run."""

    @abstractmethod
    async def stop(self) -> None:
        """Ends the node as an operator would. Raises `NodeError` if it does not run."""

    @abstractmethod
    async def start(self, storage: Storage | None = None) -> None:
        """Starts the node again, with its old addresses.

        `storage`: whether servers still have their records; None: if their back end can keep them.
        Raises `UsageError` if the node runs, or for a `storage` that it does not support.
        """

    def _check_startable(self, storage: Storage | None) -> None:
        if self.running:
            raise UsageError(f"The node '{self.name}' is running already.")
        if storage is not None and not isinstance(self, Servers):
            raise UsageError(f"The node '{self.name}' has no storage that could be {storage}.")


class Switch(Node):
    """A switch with its P4 program. After a restart it is empty."""

    NAME = "switch"


class Controller(Node):
    """The controllers of all switches. After a restart they have only their saved state."""

    NAME = "controller"

    @abstractmethod
    def kill_after(self, actions: int) -> None:
        """Kills it after this many further actions (frames, table writes, saves), at the latest
        when it is started again. Raises `NetkvError` if that is not supported.
        """

    @abstractmethod
    def partition(self) -> None:
        """Interrupts the control channel to all switches."""

    @abstractmethod
    def heal(self) -> None:
        """Restores the control channel."""


class RedisServer(Node):
    """A redis-server with the records of one storage server."""

    NAME = "redis-"


class Link(ABC):
    """The link between a node and a switch, or between two switches."""

    name: str
    """That of the node, or the names of both switches."""

    @abstractmethod
    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        """Sets the impairment of the link in one direction (`LinkFault.impairment`).

        It replaces the previous one and also holds after restarts of nodes. Raises `NodeError`.
        """


class Cable(Link):
    """A cable between two switches. Directions are seen from the second one."""


class LinkedNode(Node, Link):
    """A node that is attached to a switch by a link."""


class Servers(LinkedNode):
    """A process with storage servers."""

    NAME = "servers-"

    @abstractmethod
    async def slow(self, factor: float) -> None:
        """Makes its servers `factor` times slower than their service rate.

        That also holds after a restart of the node. Raises `NodeError`.
        """


class Card(LinkedNode):
    """A design for FPGAs between a server and the switch. After a restart it is empty."""

    NAME = "card-"


class ClientCard(Card):
    """A design for FPGAs between clients and the switch."""

    NAME = "client-card-"


class Coordinator(LinkedNode):
    """The host that splits a request for several keys into one request for each server."""

    NAME = "coordinator"


class Client(LinkedNode):
    """The load generator."""

    NAME = "client"

    @abstractmethod
    async def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command (`ClientNode.command`); raises `NetkvError`."""


OPTIONAL: tuple[type[Node], ...] = (Coordinator, Card, ClientCard)
"""Kinds of nodes that not all schemes have."""


def kind_of(name: str) -> type[Node]:
    """The kind of the node of this name. A name of no other kind is that of a switch."""
    for kind in (Servers, RedisServer, Card, ClientCard):
        if name.startswith(kind.NAME):
            return kind
    kinds: tuple[type[Node], ...] = (Controller, Coordinator, Client)
    return next((kind for kind in kinds if name == kind.NAME), Switch)


def partitions(lab: GenericLab) -> tuple[tuple[int, ...], ...]:
    """Indices of the servers in each server process, whose servers are at one switch."""
    count = lab.topology.switches_of_servers
    at: dict[int, list[int]] = {}
    for server, switch in enumerate(spread(lab.servers, count)):
        at.setdefault(switch, []).append(server)
    shares = []
    for switch, servers in at.items():
        # The switch's part of the processes, at least one.
        last, first = (lab.server_processes * number // count for number in (switch + 1, switch))
        processes = min(max(last - first, 1), len(servers))
        shares += [tuple(servers[process::processes]) for process in range(processes)]
    return tuple(shares)


def client_shares(lab: GenericLab) -> tuple[tuple[int, ...], ...]:
    """The clients (from 1) behind each card in clients, of a rack that has such cards."""
    from netkv.model.scheme_options import ClientCardOptions

    return ClientCardOptions.of(lab).shares(lab.clients)


def redis_servers(lab: GenericLab) -> range:
    """Indices of the storage servers whose records are in a redis-server of the rack."""
    own = lab.backend == "redis" and not lab.redis.addresses
    return range(lab.servers if own else 0)


def check_names(found: Iterable[str], known: Iterable[str], what: str, *path: str | int) -> None:
    """Raises `FieldError` for the first unknown name; `what`: where it is, for the error text."""
    names = tuple(known)
    for name in found:
        if name not in names:
            near = suggest(name, names, label="Its nodes").rstrip(".")
            raise FieldError(f"there is no node '{name}' in this lab ({what}). {near}", *path)
