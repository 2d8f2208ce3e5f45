"""What a scenario says, as data: the model behind the YAML files.

Times are seconds from the start of the measured part, rates operations per second.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from netkv import schemes
from netkv.lab.spec import LabSpec, RackSpec, Shift, Spec, WorkloadSpec
from netkv.scenarios.plot import Baseline, Plot

OnFailure = Literal["fail", "continue"]


class TimelineEvent(Spec):
    """One thing that happens during the measured part; exactly one action besides `at`."""

    ACTIONS: ClassVar[tuple[str, ...]] = ("stop", "start", "kill", "rate", "outstanding", "shift")

    at: Annotated[float, Field(ge=0)]
    stop: str | None = None
    """Stop a node as an operator would: `switch`, `client` or `servers-0`, `servers-1`, ..."""
    start: str | None = None
    """Start a node again that an earlier event stopped or killed."""
    kill: str | None = None
    """Kill a node as a power cut would (SIGKILL)."""
    rate: Annotated[float, Field(gt=0)] | None = None
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
            raise ValueError(
                f"an event has exactly one of {', '.join(self.ACTIONS)}; this one has {found}"
            )
        return self

    @property
    def action(self) -> str:
        """Which of the actions it is."""
        return next(name for name in self.ACTIONS if getattr(self, name) is not None)

    @property
    def node(self) -> str | None:
        """The node that is stopped, killed or started; None for load events."""
        return self.stop or self.start or self.kill

    def describe(self) -> str:
        """What happens, for the list of events."""
        if self.shift is not None:
            return f"shift {self.shift.kind} of {self.shift.keys} keys"
        value = getattr(self, self.action)
        return f"{self.action} {value:g}" if isinstance(value, float) else f"{self.action} {value}"


class Scenario(Spec):
    """A comparison that netkv can run: schemes, rack, load, what happens, what must come out."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str = ""
    description: str = ""
    schemes: Annotated[list[str], Field(min_length=1)]
    lab: LabSpec = LabSpec()
    workload: WorkloadSpec = WorkloadSpec()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    deadline: Annotated[float, Field(gt=0)] = 2.0
    """A request without a reply within this many seconds, retries included, is lost."""
    retry: Annotated[float, Field(gt=0)] = 0.05
    """First retry time-out."""
    duration: Annotated[float, Field(gt=0, le=86_400)] = 10.0
    warmup: Annotated[float, Field(ge=0, le=86_400)] = 3.0
    on_failure: OnFailure = "fail"
    """What an unexpected death of a node means for the run."""
    events: list[TimelineEvent] = Field(default_factory=list)
    sweep: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Path of an option → its values; several paths give every combination."""
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    """Runs per scheme and sweep point; the i-th has seed `seed + i`."""
    expect: list[str] = Field(default_factory=list)
    plots: list[Plot] = Field(default_factory=list)

    @model_validator(mode="after")
    def _known_schemes(self) -> Scenario:
        for name in self.schemes:
            schemes.get(name)
        if len(set(self.schemes)) != len(self.schemes):
            raise ValueError("'schemes' names a scheme twice")
        return self

    @model_validator(mode="after")
    def _possible_timeline(self) -> Scenario:
        nodes = node_names(self.lab)
        down: set[str] = set()
        for event in self.timeline():
            if event.at >= self.duration:
                raise ValueError(
                    f"the event '{event.describe()}' at {event.at:g} s is after the end of the run "
                    f"(duration {self.duration:g} s)"
                )
            if event.node is None:
                continue
            if event.node not in nodes:
                raise ValueError(
                    f"there is no node '{event.node}' in this lab; its nodes: {', '.join(nodes)}"
                )
            if event.action == "start":
                if event.node not in down:
                    raise ValueError(
                        f"the event at {event.at:g} s starts '{event.node}', "
                        f"which no earlier event stopped"
                    )
                down.discard(event.node)
            elif event.node in down:
                raise ValueError(
                    f"the event at {event.at:g} s is about '{event.node}', which is down by then"
                )
            else:
                down.add(event.node)
        if "client" in down:
            raise ValueError("the client is down at the end, so nothing could be verified")
        return self

    def timeline(self) -> list[TimelineEvent]:
        """The events in the order of their times."""
        return sorted(self.events, key=lambda event: event.at)

    def rack(self, scheme: str, seed: int) -> RackSpec:
        """What the lab has to bring up for one run."""
        return RackSpec(
            scheme=scheme,
            lab=self.lab,
            workload=self.workload,
            seed=seed,
            deadline=self.deadline,
            retry=self.retry,
        )


def node_names(lab: LabSpec) -> tuple[str, ...]:
    """The nodes of a rack, as events and logs name them."""
    count = min(lab.server_processes, lab.servers)
    return ("switch", *(f"servers-{i}" for i in range(count)), "client")


NOUNS: dict[type[Spec], str] = {
    Scenario: "a scenario",
    LabSpec: "a lab",
    WorkloadSpec: "a workload",
    TimelineEvent: "an event",
    Plot: "a plot",
    Baseline: "a baseline",
    Shift: "a popularity shift",
}
"""What errors call an instance of a model."""
