"""What a scenario says, as data: the model behind the YAML files.

Times are seconds from the start of the measured part, rates operations per second.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from netkv import schemes
from netkv.lab.spec import (
    HeavyTail,
    LabSpec,
    MultigetSize,
    RackSpec,
    Shift,
    Spec,
    WorkloadSpec,
)
from netkv.scenarios import faults, possible
from netkv.scenarios.events import COORDINATOR, LinkFault, RandomFaults, SlowFault, TimelineEvent
from netkv.scenarios.plot import Baseline, Plot

OnFailure = Literal["fail", "continue"]
Mode = Literal["live", "sim"]


class Scenario(Spec):
    """A comparison that netkv can run: schemes, rack, load, what happens, what must come out."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str = ""
    description: str = ""
    schemes: Annotated[list[str], Field(min_length=1)]
    mode: Mode = "live"
    """How time passes: on the wall's clock, or in the simulator."""
    lab: LabSpec = LabSpec()
    workload: WorkloadSpec = WorkloadSpec()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    deadline: Annotated[float, Field(gt=0, le=300)] = 2.0
    """A request without a reply within this many seconds, retries included, is lost."""
    retry: Annotated[float, Field(gt=0)] = 0.05
    """First retry time-out, in seconds; it grows to about twice the time that answers take."""
    duration: Annotated[float, Field(gt=0, le=86_400)] = 10.0
    warmup: Annotated[float, Field(ge=0, le=86_400)] = 3.0
    on_failure: OnFailure = "fail"
    """What an unexpected death of a node means for the run."""
    events: list[TimelineEvent] = Field(default_factory=list)
    random_faults: RandomFaults | None = None
    """Faults beside `events`; each run draws them from its seed and stores them as its events."""
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
        coordinator = any(schemes.get(name).coordinated for name in self.schemes)
        possible.check(self.timeline(), self.lab, self.duration, coordinator=coordinator)
        if (drawn := self.random_faults) is not None:
            faults.check(self.lab, drawn.kinds, drawn.nodes, coordinator=coordinator)
        possible.check_schemes(self.schemes, self.crashes)
        possible.check_coordinator(self.schemes, self.needs_coordinator)
        return self

    def timeline(self) -> list[TimelineEvent]:
        """The events in the order of their times."""
        return sorted(self.events, key=lambda event: event.at)

    @property
    def crashes(self) -> bool:
        """Whether the client is to crash."""
        drawn = self.random_faults.kinds if self.random_faults is not None else None
        return any(event.crash for event in self.events) or "client-crash" in (drawn or ())

    @property
    def needs_coordinator(self) -> bool:
        """Whether something is to happen to the coordinator."""
        drawn = (self.random_faults.nodes or ()) if self.random_faults is not None else ()
        links = {event.link.node for event in self.events if event.link is not None}
        return COORDINATOR in {*(event.node for event in self.events), *links, *drawn}

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


NOUNS: dict[type[Spec], str] = {
    Scenario: "a scenario",
    LabSpec: "a lab",
    WorkloadSpec: "a workload",
    TimelineEvent: "an event",
    LinkFault: "a link",
    SlowFault: "a slow server",
    RandomFaults: "random faults",
    Plot: "a plot",
    Baseline: "a baseline",
    Shift: "a popularity shift",
    HeavyTail: "a multiget size",
    MultigetSize: "a multiget size",
}
"""What errors call an instance of a model."""
