"""The data models of events in a scenario's timeline, and of random faults.

Times are seconds from the start of the measured part, probabilities 0 to 1, rates operations per
second. Events have the same meaning live and in the simulator; docs/use/scenarios.md lists them.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from netkv.errors import FieldError
from netkv.model import nodes
from netkv.model.nodes import Controller, Servers, Storage
from netkv.model.spec import Shift
from netkv.options import RATE, SECONDS, Spec

Direction = Literal["both", "to", "from"]
FaultKind = Literal[
    "stop",
    "kill",
    "loss",
    "duplicate",
    "corrupt",
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
"""Random faults that are drawn only if a scenario names them. `controller-restart` works only in
the simulator. `client-crash` needs a scheme whose clients keep records, and such a scheme may lose
acknowledged writes if client and switch fail within a short time."""

Probability = Annotated[float, Field(ge=0, le=1)]
Delay = Annotated[float, Field(ge=0, le=10), SECONDS]


class LinkFault(Spec):
    """How the link of a node treats frames from now on; it replaces earlier settings.

    If all values are 0, the link works normally.
    """

    node: str
    """The node at the end of the link: `client`, `servers-0`, `servers-1`, ... The cable between
    two switches has the names of both: `spine-0:leaf-1`."""
    direction: Direction = "both"
    """Seen from the node, or the second switch: frames `to` it, `from` it, or `both`."""
    loss: Probability = 0.0
    """Probability that a frame is lost; 1 cuts the link."""
    duplicate: Probability = 0.0
    """Probability that a frame arrives twice."""
    corrupt: Probability = 0.0
    """Probability that a copy of a frame arrives with flipped bits: one burst of 1 to 15 bits,
    anywhere in the frame."""
    reorder: Probability = 0.0
    """Share of frames that are held back so that later ones overtake them."""
    delay: Delay = 0.0
    """Additional delay of every frame."""
    jitter: Delay = 0.0
    """Further delay of each frame, uniform from 0 to this."""
    reorder_span: Annotated[float, Field(gt=0, le=10), SECONDS] = 0.001
    """The longest time for which a frame is held back."""

    @property
    def directions(self) -> tuple[nodes.Direction, ...]:
        """The directions that the fault affects."""
        return ("to", "from") if self.direction == "both" else (self.direction,)

    @property
    def impairment(self) -> dict[str, float]:
        """The settings for the engine (`SwitchNode.impair`)."""
        names = ("loss", "duplicate", "corrupt", "reorder", "delay", "jitter", "reorder_span")
        return {name: getattr(self, name) for name in names}

    @property
    def heals(self) -> bool:
        """Whether the link is in order from now on."""
        shares = (self.loss, self.duplicate, self.corrupt, self.reorder)
        return not any((*shares, self.delay, self.jitter))

    def describe(self) -> str:
        """For the list of events: `link to servers-0: loss 0.1, delay 0.002 s`."""
        where = {"both": "of", "to": "to", "from": "from"}[self.direction]
        if self.heals:
            return f"link {where} {self.node}: in order"
        names = ("loss", "duplicate", "corrupt", "reorder")
        shares = [f"{n} {getattr(self, n):g}" for n in names]
        times = [f"{n} {getattr(self, n):g} s" for n in ("delay", "jitter")]
        given = [text for text in (*shares, *times) if text.split()[1] != "0"]
        return f"link {where} {self.node}: {', '.join(given)}"


class SlowFault(Spec):
    """Servers with `lab.service_rate` that are slower from now on."""

    node: str
    """`servers-0`, `servers-1`, ...: all servers of the process."""
    factor: Annotated[float, Field(ge=1, le=1e6)]
    """Their rate becomes `lab.service_rate / factor`; 1 restores it."""


class TimelineEvent(Spec):
    """An event in the measured part; it has exactly one action besides `at`."""

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
    """With `kill: controller`, in the simulator: kill it after this many further actions (frames,
    table writes, saves), at the latest when it is started again."""
    crash: Literal["client"] | None = None
    """The client process ends and another one starts at once: pending requests are given up, and
    preserved records are lost. Only with schemes whose clients keep records. The load and its
    checks continue; after `kill: client` they do not."""
    storage: Storage | None = None
    """With `start` of servers: whether they still have their records. Left out: kept if the back
    end can keep them."""
    link: LinkFault | None = None
    """From now on the link of a node, or a cable between switches, loses, duplicates, corrupts,
    reorders or delays frames."""
    partition: Literal["controller"] | None = None
    """Interrupt the control channel between controller and switch."""
    heal: Literal["controller"] | None = None
    """Restore the control channel."""
    slow: SlowFault | None = None
    """From now on the servers of a process are slower; only with `lab.service_rate`."""
    rate: Annotated[float, Field(gt=0), RATE] | None = None
    """From now on the load is an open loop with this rate."""
    outstanding: Annotated[int, Field(ge=1, le=65536)] | None = None
    """From now on the load is a closed loop with this many requests outstanding."""
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
        if self.storage is not None and not _is(self.start, Servers):
            text = "'storage' belongs to the start of servers ('start: servers-0')"
            raise FieldError(text, "storage")
        if self.after_actions is not None and not _is(self.kill, Controller):
            text = "'after_actions' belongs to the kill of a controller ('kill: controller')"
            raise FieldError(text, "after_actions")
        return self

    @property
    def action(self) -> str:
        """The name of its action."""
        return next(name for name in self.ACTIONS if getattr(self, name) is not None)

    @property
    def node(self) -> str | None:
        """The node that is stopped, killed or started; None for all other events."""
        return self.stop or self.start or self.kill

    def describe(self) -> str:
        """A description for the list of events."""
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
    """Faults drawn from the run's seed in the measured part; each ends before that does."""

    every: Annotated[float, Field(gt=0), SECONDS]
    """Mean time from one fault to the next."""
    last: Annotated[float, Field(gt=0), SECONDS]
    """Mean duration of a fault."""
    kinds: Annotated[list[FaultKind], Field(min_length=1)] | None = None
    """Kinds of faults. Left out: all that are possible in the lab, without `controller-restart` and
    `client-crash`, which must be named."""
    nodes: list[str] | None = None
    """Nodes of the faults, and cables between switches. Left out: all; but the client's process is
    not stopped, and servers are stopped only if their back end is persistent."""


def _is(name: str | None, kind: type[nodes.Node]) -> bool:
    """Whether `name` is the name of a node of this kind."""
    return name is not None and nodes.kind_of(name) is kind
