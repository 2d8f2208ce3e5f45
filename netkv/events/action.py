"""What every action of an event has: the base class of those in `netkv.events.actions`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
)

from pydantic import ConfigDict, Field

from netkv.errors import FieldError
from netkv.events.state import RackState
from netkv.model import layout
from netkv.model.hardware import GenericLab
from netkv.model.nodes import Client, Controller, Link, Node, Servers, Storage, kind_of
from netkv.options import Spec

if TYPE_CHECKING:
    from netkv.model.report import EventKind

_T = TypeVar("_T")

NodeName = Annotated[str, Field(max_length=200)]
"""The name of a node or cable."""
Target: TypeAlias = tuple[str, ...]
"""What an action hits: `("node", "switch")`, `("link", "client")`, `("slow", "servers-0")`,
`("channel", "controller")`; a part of it may have further elements, as `("link", "client", "to")`.
"""


class ChangedRack(Protocol):
    """A rack, as far as actions change it (`netkv.rack.base.Rack`)."""

    @property
    def client(self) -> Client: ...

    @property
    def controller(self) -> Controller: ...

    def node(self, name: str) -> Node: ...

    def link(self, name: str) -> Link: ...

    def server_process(self, name: str) -> Servers: ...

    def set_connected(self, switch: str, connected: bool) -> None: ...


@dataclass(frozen=True)
class Further:
    """An option of an action besides the one with its name."""

    of: type[Node]
    """The kind of the nodes that it is for."""
    belongs: str
    """What it belongs to, for the error text: `the start of servers ('start: servers-0')`."""
    live: bool = True
    """Whether live racks support it."""

    def is_of(self, action: Action, kind: type[Action]) -> bool:
        """Whether an action may have it; `kind`: the one with the option."""
        return type(action) is kind and kind_of(str(action.node)) is self.of


@dataclass(frozen=True)
class Need:
    """A trait that a scheme must have."""

    trait: str
    """A field of `netkv.schemes.scheme.Traits`."""
    text: str
    """The error about a scheme without it; `{scheme}` is its name, `{able}` those that have it."""


@dataclass(frozen=True)
class Choice:
    """What random faults may hit."""

    lab: GenericLab
    nodes: Mapping[str, type[Node]]
    """All nodes of the rack."""
    named: bool
    """Whether the user has named nodes; only these are hit."""
    storage: Storage | None
    """Whether servers have their records after a restart; None: if their back end keeps them."""

    def of(self, *kinds: type[Node]) -> list[str]:
        """The nodes of these kinds."""
        return [name for wanted in kinds for name, it in self.nodes.items() if it is wanted]

    @property
    def cables(self) -> list[str]:
        """The cables between switches."""
        return layout.cables(self.lab)

    @property
    def kept(self) -> bool:
        """Whether servers have their records after a restart."""
        return self.storage == "kept" or (self.storage is None and self.lab.backend != "memory")


@dataclass(frozen=True)
class DrawnFault:
    """A kind of random faults; a class of actions has those that begin with it."""

    kind: str
    """As users write it."""
    nodes: Callable[[Choice], list[str]]
    """The nodes or cables that it may hit."""
    draw: Callable[[random.Random, str, Storage | None], tuple[Action, Action | None]]
    """Draws beginning and end of a fault of a node; the end is None if the fault does not last."""
    simulated: bool = False
    """Whether only the simulator can do it."""
    hint: str = ""
    """What can have it, for the error if nothing can."""


class Action(Spec):
    """Something that is done to a rack.

    A class has a field with the name of the action, and fields for its further options. All of them
    are options of an event in a scenario, and their docstrings the descriptions.
    """

    # Most commands never make one: validators are built when the first is made.
    model_config = ConfigDict(defer_build=True)

    NAME: ClassVar[str]
    ORDER: ClassVar[int] = 1000
    """Where it stands among the actions in documents, lists and errors."""
    BEGINNING: ClassVar[Any]
    """The value of a new event in the form of a scenario."""
    FURTHER: ClassVar[Mapping[str, Further]] = {}
    """Its further options."""
    NOUNS: ClassVar[Mapping[type[Spec], str]] = {}
    """The models of its options, as error messages name them."""
    NEED: ClassVar[Need | None] = None
    IN_SCENARIOS: ClassVar[bool] = True
    """Whether users can write it; the others are only in cases of `netkv soak`."""
    TARGET: ClassVar[str] = ""
    """The first element of its target; empty if it changes only the load."""
    NODE_AT: ClassVar[tuple[str, ...]] = ()
    """The path of the option with the name of its node or cable; empty if it has none."""
    OUTAGE: ClassVar[Literal["begins", "ends"] | None] = None
    """Whether its node goes down or comes up."""
    DRAWN: ClassVar[tuple[DrawnFault, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        own = cls.model_fields.keys() - {vars(cls).get("NAME")}
        assert own == cls.FURTHER.keys(), f"{cls.__name__}: FURTHER has all further options"

    @property
    def node(self) -> str | None:
        """The node or cable that it is about."""
        found: Any = self
        for name in self.NODE_AT:
            found = getattr(found, name)
        return found if self.NODE_AT else None

    @property
    def goes_down(self) -> str | None:
        """The node that goes down with it."""
        return self.node if self.OUTAGE == "begins" else None

    @property
    def comes_up(self) -> str | None:
        """The node that comes up with it."""
        return self.node if self.OUTAGE == "ends" else None

    @property
    def target(self) -> Target | None:
        """What it hits. Random faults hit a target only once at a time."""
        return (self.TARGET, self.node) if self.TARGET and self.node is not None else None

    @property
    def parts(self) -> list[Target]:
        """The parts of its target that are out of order from now on, or in order."""
        return [] if self.target is None else [self.target]

    @property
    def heals(self) -> bool:
        """Whether its parts are in order from now on."""
        return False

    @property
    def cures(self) -> Mapping[Target, Action]:
        """What puts each part in order again; empty if it begins nothing that lasts."""
        return {}

    @property
    def kind(self) -> EventKind:
        """The kind of events about it in results."""
        return "healed" if self.heals else "fault"

    @property
    def arrivals(self) -> dict[str, Any] | None:
        """The command that sets the arrivals of the load generator, if the action does. One that is
        started again gets it, too."""
        return None

    @property
    def offered(self) -> float | None:
        """Operations per second of an open loop, if it begins one."""
        return None

    @property
    def slowdown(self) -> float | None:
        """The factor by which servers are slower, if it is about that."""
        return None

    def describe(self) -> str:
        """A description for the list of events."""
        value = getattr(self, self.NAME)
        return f"{self.NAME} {value:g}" if isinstance(value, float) else f"{self.NAME} {value}"

    def check(self, state: RackState, where: str) -> None:
        """Applies it to the state of a rack.

        `where`: the event, for the error text. Raises `FieldError` if the rack does not support it
        in this state; the path begins at the event.
        """

    def check_now(self, state: RackState) -> None:
        """A check before `check`, for an action that is carried out now."""

    def not_live(self, at: float, lab: GenericLab) -> FieldError | None:  # noqa: ARG002 (all can)
        """Why only the simulator can do it; None if live racks can. `at`: seconds."""
        return None

    async def carry_out(self, rack: ChangedRack) -> None:
        """Does it; raises `NetkvError`."""
        raise NotImplementedError

    def moved(self, move: Callable[[str], str]) -> Self:
        """The same for the node to which `move` leads."""
        if self.node is None:
            return self
        first, *below = self.NODE_AT
        value: Any = move(self.node)
        if below:
            value = getattr(self, first).model_copy(update={below[0]: value})
        return self.model_copy(update={first: value})

    def simpler(self, end: Action | None) -> Iterable[tuple[Action, Action | None]]:  # noqa: ARG002
        """Simpler faults than the one that begins with it: their beginnings and ends."""
        return ()


def less(value: int, least: int) -> Iterator[int]:
    """Smaller values, at least `least`: `least` itself, half of the value, one less."""
    for other in dict.fromkeys((least, value // 2, value - 1)):
        if least <= other < value:
            yield other


def one(rng: random.Random, options: Sequence[_T]) -> _T:
    """One of the options, the same with every version of Python."""
    return options[int(rng.random() * len(options))]


def between(rng: random.Random, low: float, high: float) -> float:
    """Uniform from `low` to `high`, with four digits."""
    return round(low + (high - low) * rng.random(), 4)
