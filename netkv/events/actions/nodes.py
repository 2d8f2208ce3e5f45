"""Nodes are stopped, killed and started."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netkv.errors import FieldError
from netkv.events.action import (
    Action,
    ChangedRack,
    Choice,
    DrawnFault,
    Further,
    NodeName,
    Target,
    less,
)
from netkv.events.state import RackState
from netkv.model.hardware import GenericLab
from netkv.model.nodes import (
    Card,
    Client,
    Controller,
    Coordinator,
    Servers,
    Storage,
    Switch,
    check_names,
    kind_of,
)

_MAX_ACTIONS = 300
"""Limit of a controller's actions before it is killed: enough to fill the cache of a soak."""
_CLIENT = ("client",)


class _Failure(Action):
    """A node goes down."""

    TARGET = "node"
    OUTAGE: ClassVar[Literal["begins", "ends"] | None] = "begins"

    @property
    def cures(self) -> Mapping[Target, Action]:
        return {part: Start(start=part[1]) for part in self.parts}

    def check(self, state: RackState, where: str) -> None:
        node = str(self.node)
        check_names([node], state.nodes, where, self.NAME)
        if node in state.down:
            raise FieldError(f"{where} is about '{node}', which is down by then", self.NAME)
        state.down.add(node)
        if node == Client.NAME:
            text = "the client is down at the end, so nothing could be verified"
            state.must_end(_CLIENT, FieldError(text))

    def check_now(self, state: RackState) -> None:
        if self.node in state.down:
            raise FieldError(f"the node '{self.node}' is not running", self.NAME)


def _restarted(choice: Choice) -> list[str]:
    """Without named nodes, the client's process stays up, and servers that would lose records."""
    servers = (Servers,) if choice.kept else ()
    unnamed = choice.of(Switch, *servers, Controller, Coordinator, Card)
    return list(choice.nodes) if choice.named else unnamed


def _restart(failure: Callable[[str], Action]) -> Callable[..., tuple[Action, Action]]:
    """A node goes down, and is started."""

    def draw(_: random.Random, node: str, storage: Storage | None) -> tuple[Action, Action]:
        found = storage if kind_of(node) is Servers else None
        return failure(node), Start(start=node, storage=found)

    return draw


class Stop(_Failure):
    """A node is stopped."""

    NAME = "stop"
    ORDER = 10
    NODE_AT = ("stop",)
    BEGINNING = Switch.NAME
    DRAWN = (DrawnFault("stop", _restarted, _restart(lambda node: Stop(stop=node))),)

    stop: NodeName
    """Stop a node as an operator would: `switch`, `client`, `controller`, `servers-0`, ... or, with
    schemes that have one, `coordinator`."""

    async def carry_out(self, rack: ChangedRack) -> None:
        await rack.node(self.stop).stop()


class Start(Action):
    """A node is started."""

    NAME = "start"
    ORDER = 20
    NODE_AT = ("start",)
    BEGINNING = Switch.NAME
    TARGET = "node"
    OUTAGE: ClassVar[Literal["begins", "ends"] | None] = "ends"
    FURTHER: ClassVar[Mapping[str, Further]] = {
        "storage": Further(Servers, "the start of servers ('start: servers-0')")
    }

    start: NodeName
    """Start a node again that an earlier event stopped or killed."""
    storage: Storage | None = None
    """With `start` of servers: whether they still have their records. Left out: kept if the back
    end can keep them."""

    @property
    def heals(self) -> bool:
        return True

    def describe(self) -> str:
        text = super().describe()
        return text if self.storage is None else f"{text}, storage {self.storage}"

    def check(self, state: RackState, where: str) -> None:
        check_names([self.start], state.nodes, where, "start")
        if self.start not in state.down:
            raise FieldError(
                f"{where} starts '{self.start}', which no earlier event stopped", "start"
            )
        state.down.remove(self.start)
        if self.start == Client.NAME:
            state.ended(_CLIENT)

    def check_now(self, state: RackState) -> None:
        if self.start not in state.down:
            check_names([self.start], state.nodes, "the event", "start")
            raise FieldError(f"the node '{self.start}' is running already", "start")

    def not_live(self, at: float, lab: GenericLab) -> FieldError | None:
        if self.storage != "kept" or lab.backend != "memory":
            return None
        return FieldError(
            f"The event at {at:g} s starts '{self.start}' with 'storage: kept', but a "
            f"store in memory ends with its process. Use 'lab.backend: rocksdb' "
            f"or 'redis', or 'storage: lost', or the simulator.",
            "storage",
        )

    async def carry_out(self, rack: ChangedRack) -> None:
        await rack.node(self.start).start(self.storage)


def _controller(choice: Choice) -> list[str]:
    return choice.of(Controller)


def _between_actions(rng: random.Random, node: str, _: Storage | None) -> tuple[Action, Action]:
    # Log-uniform: small numbers interrupt a step that has just begun, large ones a long step.
    actions = int((_MAX_ACTIONS + 1) ** rng.random()) - 1
    return Kill(kill=node, after_actions=actions), Start(start=node)


class Kill(_Failure):
    """A node is killed."""

    NAME = "kill"
    ORDER = 30
    NODE_AT = ("kill",)
    BEGINNING = Switch.NAME
    FURTHER: ClassVar[Mapping[str, Further]] = {
        "after_actions": Further(
            Controller, "the kill of a controller ('kill: controller')", live=False
        )
    }
    DRAWN = (
        DrawnFault("kill", _restarted, _restart(lambda node: Kill(kill=node))),
        DrawnFault("controller-restart", _controller, _between_actions, simulated=True),
    )

    kill: NodeName
    """Kill a node as a power cut would (SIGKILL)."""
    after_actions: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """With `kill: controller`, in the simulator: kill it after this many further actions (frames,
    table writes, saves), at the latest when it is started again."""

    def describe(self) -> str:
        text = super().describe()
        if self.after_actions is None:
            return text
        return f"{text} after {self.after_actions} more actions"

    def not_live(self, at: float, lab: GenericLab) -> FieldError | None:  # noqa: ARG002
        if self.after_actions is None:
            return None
        return FieldError(
            f"The event at {at:g} s kills the controller between two of its actions "
            f"('after_actions'). Only the simulator can do that ('--mode sim').",
            "after_actions",
        )

    async def carry_out(self, rack: ChangedRack) -> None:
        if self.after_actions is None:
            await rack.node(self.kill).kill()
        else:
            rack.controller.kill_after(self.after_actions)

    def simpler(self, end: Action | None) -> Iterator[tuple[Action, Action | None]]:
        """After fewer actions."""
        if self.after_actions is not None:
            for fewer in (None, *less(self.after_actions, 0)):
                yield self.model_copy(update={"after_actions": fewer}), end
