"""What can happen in a scenario, as data: events of the timeline, and faults drawn at random.

Times are seconds from the start of the measured part, probabilities 0 to 1, rates operations per
second. The same events mean the same in every driver; docs/scenarios.md lists them.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from netkv.errors import FieldError
from netkv.lab import shards
from netkv.lab.spec import LabSpec, Shift
from netkv.options import RATE, SECONDS, Spec

Direction = Literal["both", "to", "from"]
Storage = Literal["kept", "lost"]
FaultKind = Literal[
    "stop",
    "kill",
    "loss",
    "duplicate",
    "reorder",
    "delay",
    "cut",
    "partition",
    "slow",
    "controller-restart",
    "client-crash",
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
NAMED_KINDS: tuple[FaultKind, ...] = ("controller-restart", "client-crash")
"""Faults that happen by chance only if they are asked for by name. The one is the simulator's. The
other needs a scheme whose clients keep records, and such a scheme may lose what was acknowledged if
client and switch die one soon after the other."""

COORDINATOR = "coordinator"
"""What events call the coordinator of multigets."""

Probability = Annotated[float, Field(ge=0, le=1)]
Delay = Annotated[float, Field(ge=0, le=10), SECONDS]


class LinkFault(Spec):
    """How a node's link treats frames from now on, in place of what was set before.

    All zero is a link in order.
    """

    node: str
    """`client` or `servers-0`, `servers-1`, ...: the end of the link that is not the switch's."""
    direction: Direction = "both"
    """Seen from the node: frames `to` it, `from` it, or `both`."""
    loss: Probability = 0.0
    """Probability that a frame is lost; 1 cuts the link."""
    duplicate: Probability = 0.0
    """Probability that a frame arrives twice."""
    reorder: Probability = 0.0
    """Share of frames that are held back so that later ones overtake them."""
    delay: Delay = 0.0
    """Time by which every frame is late."""
    jitter: Delay = 0.0
    """Each frame is late by `delay` and a further time, uniform from 0 to this."""
    reorder_span: Annotated[float, Field(gt=0, le=10), SECONDS] = 0.001
    """The longest time that a frame is held back."""

    @property
    def directions(self) -> tuple[Literal["to", "from"], ...]:
        """The directions that it is about."""
        return ("to", "from") if self.direction == "both" else (self.direction,)

    @property
    def impairment(self) -> dict[str, float]:
        """What the engine is told (`SwitchNode.impair`)."""
        names = ("loss", "duplicate", "reorder", "delay", "jitter", "reorder_span")
        return {name: getattr(self, name) for name in names}

    @property
    def heals(self) -> bool:
        """Whether the link is in order from now on."""
        return not any((self.loss, self.duplicate, self.reorder, self.delay, self.jitter))

    def describe(self) -> str:
        """For the list of events: `link to servers-0: loss 0.1, delay 0.002 s`."""
        where = {"both": "of", "to": "to", "from": "from"}[self.direction]
        if self.heals:
            return f"link {where} {self.node}: in order"
        shares = [f"{n} {getattr(self, n):g}" for n in ("loss", "duplicate", "reorder")]
        times = [f"{n} {getattr(self, n):g} s" for n in ("delay", "jitter")]
        told = [text for text in (*shares, *times) if text.split()[1] != "0"]
        return f"link {where} {self.node}: {', '.join(told)}"


class SlowFault(Spec):
    """Servers of limited rate that are slower than that from now on."""

    node: str
    """`servers-0`, `servers-1`, ...: all servers of the process."""
    factor: Annotated[float, Field(ge=1, le=1e6)]
    """They serve `lab.service_rate / factor`; 1 restores them."""


class TimelineEvent(Spec):
    """One thing that happens during the measured part; exactly one action besides `at`."""

    ACTIONS: ClassVar[tuple[str, ...]] = (
        "stop",
        "start",
        "kill",
        "crash",
        "link",
        "partition",
        "heal",
        "slow",
        "rate",
        "outstanding",
        "shift",
    )

    at: Annotated[float, Field(ge=0), SECONDS]
    """When, from the start of the measured part."""
    stop: str | None = None
    """Stop a node as an operator would: `switch`, `client`, `controller`, `servers-0`, ... or, with
    schemes that have one, `coordinator`."""
    start: str | None = None
    """Start a node again that an earlier event stopped or killed."""
    kill: str | None = None
    """Kill a node as a power cut would (SIGKILL)."""
    after_actions: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """With `kill: controller`, in the simulator: it dies once it has sent or saved so many things
    more (frames, table writes, saves), before the next; at the latest when it is started again."""
    crash: Literal["client"] | None = None
    """The client process dies and another one is there at once: requests under way are given up,
    and what it kept because only the switch had it is gone. Only with schemes whose clients keep
    anything. The load and its checks go on, which they do not after `kill: client`."""
    storage: Storage | None = None
    """With `start` of servers: whether they find their records. Left out: kept where the back end
    can keep them."""
    link: LinkFault | None = None
    """From now on the link of a node loses, doubles, reorders or delays frames."""
    partition: Literal["controller"] | None = None
    """Cut the control channel between controller and switch."""
    heal: Literal["controller"] | None = None
    """Restore the control channel."""
    slow: SlowFault | None = None
    """From now on the servers of a process serve at a part of their rate; only with
    `lab.service_rate`."""
    rate: Annotated[float, Field(gt=0), RATE] | None = None
    """From now on an open loop with this rate."""
    outstanding: Annotated[int, Field(ge=1, le=65536)] | None = None
    """From now on a closed loop with this many requests outstanding."""
    shift: Shift | None = None
    """One popularity shift now (its `every` is ignored)."""

    @model_validator(mode="after")
    def _one_action(self) -> TimelineEvent:
        given = [name for name in self.ACTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise FieldError(
                f"an event has exactly one of {', '.join(self.ACTIONS)}; this one has {found}",
                *given[1:2],
            )
        if self.storage is not None and not (self.start or "").startswith("servers-"):
            text = "'storage' belongs to the start of servers ('start: servers-0')"
            raise FieldError(text, "storage")
        if self.after_actions is not None and self.kill != "controller":
            text = "'after_actions' belongs to the death of one ('kill: controller')"
            raise FieldError(text, "after_actions")
        return self

    @property
    def action(self) -> str:
        """Which of the actions it is."""
        return next(name for name in self.ACTIONS if getattr(self, name) is not None)

    @property
    def node(self) -> str | None:
        """The node that is stopped, killed or started; None for all other events."""
        return self.stop or self.start or self.kill

    def describe(self) -> str:
        """What happens, for the list of events."""
        if self.shift is not None:
            return f"shift {self.shift.kind} of {self.shift.keys} keys"
        if self.link is not None:
            return self.link.describe()
        if self.slow is not None:
            return f"slow {self.slow.node}: factor {self.slow.factor:g}"
        value = getattr(self, self.action)
        text = f"{self.action} {value:g}" if isinstance(value, float) else f"{self.action} {value}"
        if self.after_actions is not None:
            return f"{text} after {self.after_actions} more actions"
        return text if self.storage is None else f"{text}, storage {self.storage}"


class RandomFaults(Spec):
    """Faults drawn from the run's seed over the measured part; each heals before its end."""

    every: Annotated[float, Field(gt=0), SECONDS]
    """Mean time from one fault to the next."""
    last: Annotated[float, Field(gt=0), SECONDS]
    """Mean time that a fault lasts."""
    kinds: Annotated[list[FaultKind], Field(min_length=1)] | None = None
    """Which they may be. Left out: all that are possible in every lab of this kind, without
    `controller-restart` and `client-crash`, which happen only if they are named."""
    nodes: list[str] | None = None
    """Which nodes they may hit. Left out: all, but the client's process is not stopped, and servers
    only if their back end keeps the records."""


def node_names(lab: LabSpec, *, coordinator: bool = False) -> tuple[str, ...]:
    """The nodes of a rack, as events and logs name them; not all schemes have a coordinator."""
    middle = (COORDINATOR,) if coordinator else ()
    usual = ("switch", *server_names(lab), *middle, "client", "controller")
    return (*usual, *shards.names(lab))


def server_names(lab: LabSpec) -> tuple[str, ...]:
    """The server processes of a rack."""
    return tuple(f"servers-{i}" for i in range(min(lab.server_processes, lab.servers)))
