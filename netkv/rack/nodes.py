"""The kinds of nodes of a rack, and what may be done to each.

    Node             kill, stop, start
      Switch
      Controller     kill_after, partition, heal
      RedisServer
      LinkedNode     impair
        Servers      slow
        Coordinator
        Client       command

A driver has a subclass of each kind. Users, scenarios and stored runs write a node as its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from netkv.errors import NetkvError, UsageError

if TYPE_CHECKING:
    from netkv.lab.hardware import GenericLab

Direction = Literal["to", "from"]
"""Of frames on a link, seen from the node at its end."""
Storage = Literal["kept", "lost"]


class NodeError(NetkvError):
    """A node could not start, has ended, or refused a command."""


class Node(ABC):
    """A part of a rack that can be stopped and started again."""

    NAME: ClassVar[str]
    """Name of the node; of kinds with several nodes, its beginning: `servers-`."""
    name: str

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether it is there."""

    @abstractmethod
    async def kill(self) -> None:
        """Ends it as a crash would. Raises `NodeError` if it does not run."""

    @abstractmethod
    async def stop(self) -> None:
        """Ends it as an operator would. Raises `NodeError` if it does not run."""

    @abstractmethod
    async def start(self, storage: Storage | None = None) -> None:
        """Starts it again, with its old addresses.

        `storage`: whether servers find their records; None: if their back end keeps them. Raises
        `UsageError` if the node runs, or for a `storage` that it cannot have.
        """

    def _check_startable(self, storage: Storage | None) -> None:
        if self.running:
            raise UsageError(f"The node '{self.name}' is running already.")
        if storage is not None and not isinstance(self, Servers):
            raise UsageError(f"The node '{self.name}' has no storage that could be {storage}.")


class Switch(Node):
    """A switch with its P4 program. It comes back empty."""

    NAME = "switch"


class Controller(Node):
    """The controllers of all switches. They come back with what they have saved only."""

    NAME = "controller"

    @abstractmethod
    def kill_after(self, actions: int) -> None:
        """Kills it once it has carried out so many actions more (frames, table writes, saves),
        before the next; at the latest when it is started again. Raises `NetkvError` if it cannot.
        """

    @abstractmethod
    def partition(self) -> None:
        """Cuts the control channel to all switches."""

    @abstractmethod
    def heal(self) -> None:
        """Restores the control channel."""


class RedisServer(Node):
    """A redis-server with the records of one storage server."""

    NAME = "redis-"


class LinkedNode(Node):
    """A node at the end of a link that has a switch at its other end."""

    @abstractmethod
    async def impair(self, direction: Direction, impairment: Mapping[str, float]) -> None:
        """Sets how the link treats frames in one direction (`LinkFault.impairment`).

        In place of what was set before; it lasts while nodes come and go. Raises `NodeError`.
        """


class Servers(LinkedNode):
    """A process with storage servers."""

    NAME = "servers-"

    @abstractmethod
    async def slow(self, factor: float) -> None:
        """Makes its servers `factor` times slower than their service rate.

        It lasts while the node comes and goes. Raises `NodeError`.
        """


class Coordinator(LinkedNode):
    """The host that turns a request for several keys into one for each server."""

    NAME = "coordinator"


class Client(LinkedNode):
    """The load generator."""

    NAME = "client"

    @abstractmethod
    async def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command (`ClientNode.command`); raises `NetkvError`."""


def kind_of(name: str) -> type[Node]:
    """The kind that a name stands for. Switches of several racks have names of their own."""
    for kind in (Servers, RedisServer):
        if name.startswith(kind.NAME):
            return kind
    kinds: tuple[type[Node], ...] = (Controller, Coordinator, Client)
    return next((kind for kind in kinds if name == kind.NAME), Switch)


def of_lab(lab: GenericLab, *, coordinator: bool = False) -> dict[str, type[Node]]:
    """The nodes of a rack of one switch, by name; `coordinator`: whether the scheme has one."""
    middle: dict[str, type[Node]] = {Coordinator.NAME: Coordinator} if coordinator else {}
    return {
        Switch.NAME: Switch,
        **{f"{Servers.NAME}{process}": Servers for process in range(len(partitions(lab)))},
        **middle,
        Client.NAME: Client,
        Controller.NAME: Controller,
        **{f"{RedisServer.NAME}{server}": RedisServer for server in redis_servers(lab)},
    }


def partitions(lab: GenericLab) -> tuple[tuple[int, ...], ...]:
    """The servers (indices) in each server process."""
    processes = min(lab.server_processes, lab.servers)
    return tuple(tuple(range(process, lab.servers, processes)) for process in range(processes))


def redis_servers(lab: GenericLab) -> range:
    """The storage servers (indices) whose records are in a redis-server of the rack."""
    own = lab.backend == "redis" and not lab.redis.addresses
    return range(lab.servers if own else 0)
