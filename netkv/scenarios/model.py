"""The data model of a scenario, that is, of the YAML files.

Times are seconds from the start of the measured part, rates operations per second.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from netkv import schemes
from netkv.errors import FieldError, UsageError
from netkv.events import random_faults as faults
from netkv.events.action import Need
from netkv.events.catalogue import FAULTS, IN_SCENARIOS
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import RandomFaults
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import OPTIONAL, Node, kind_of
from netkv.model.spec import (
    HeavyTail,
    MultigetSize,
    Shift,
    WorkloadSpec,
    check_load,
    check_rotation,
)
from netkv.options import SECONDS, Spec
from netkv.scenarios import event_validation
from netkv.scenarios.event_validation import FieldPath
from netkv.scenarios.plot import Baseline, Plot
from netkv.schemes.spec import LabSpec, RackSpec

OnFailure = Literal["fail", "continue"]
Mode = Literal["live", "sim"]


class Scenario(Spec):
    """A comparison that netkv can run: schemes, rack, load, events, and expected results."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    """Name under which runs are stored: lower-case letters, digits and dashes."""
    title: str = ""
    """One line for lists and reports."""
    description: str = ""
    """Description of the scenario, in sentences."""
    schemes: Annotated[list[str], Field(min_length=1)]
    """Schemes to compare, each named once; the first is the baseline."""
    mode: Mode = "live"
    """Run live, on the wall clock, or in the simulator."""
    lab: LabSpec = LabSpec()
    """The rack: servers, clients, the switch and its cache."""
    workload: WorkloadSpec = WorkloadSpec()
    """The requests of the clients."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of all random draws."""
    deadline: Annotated[float, Field(gt=0, le=300), SECONDS] = 2.0
    """A request without a reply within this time, retries included, is lost."""
    retry: Annotated[float, Field(gt=0), SECONDS] = 0.05
    """First retry time-out of a request; doubles up to eight times this. It grows to about twice
    the time that answers take."""
    duration: Annotated[float, Field(gt=0, le=86_400), SECONDS] = 10.0
    """Length of the measured part."""
    warmup: Annotated[float, Field(ge=0, le=86_400), SECONDS] = 3.0
    """Time of load before the measured part; it counts in no figure."""
    on_failure: OnFailure = "fail"
    """Whether a run fails or continues when a node ends unexpectedly."""
    events: list[TimelineEvent] = Field(default_factory=list)
    """Events in the measured part."""
    random_faults: RandomFaults | None = None
    """Faults in addition to `events`; each run draws them from its seed and stores them as events.
    """
    sweep: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Path of an option → its values; several paths give every combination. `name`, `schemes`,
    `seed`, `repeat`, `sweep`, `expect` and `plots` cannot be swept."""
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    """Runs per scheme and sweep point; the i-th, from 0, has seed `seed + i`."""
    expect: list[str] = Field(default_factory=list)
    """Comparisons of figures that must hold; if one does not, the exit status is 1."""
    plots: list[Plot] = Field(default_factory=list)
    """Figures of the report."""

    @model_validator(mode="after")
    def _known_schemes(self) -> Scenario:
        for index, name in enumerate(self.schemes):
            try:
                schemes.get(name)
            except UsageError as error:
                raise FieldError(str(error), "schemes", index) from None
            if name in self.schemes[:index]:
                raise FieldError(f"'{name}' is listed twice", "schemes", index)
        return self

    @model_validator(mode="after")
    def _possible_load(self) -> Scenario:
        check_load(self.lab, self.workload, self.deadline)
        check_rotation(self.workload, self.lab.servers, self.duration)
        shift = self.workload.shift
        if shift is not None and shift.admit is not None:
            self._check_admission()
        return self

    def _check_admission(self) -> None:
        """Raises `FieldError` if no controller can admit the keys that an oracle reports."""
        if any(schemes.get(name).admits_hot_keys for name in self.schemes):
            return
        able = ", ".join(each.name for each in schemes.all_schemes() if each.admits_hot_keys)
        raise FieldError(
            f"no scheme of the scenario has a controller that admits hot keys to a cache; schemes "
            f"that have one: {able}",
            *("workload", "shift", "admit"),
        )

    @model_validator(mode="after")
    def _possible_target(self) -> Scenario:
        if self.mode == "sim" and self.lab.target != "engine":
            raise FieldError(
                f"the simulator runs programs on netkv's own engine; the target "
                f"'{self.lab.target}' needs 'mode: live'",
                *("lab", "target"),
            )
        return self

    @model_validator(mode="after")
    def _possible_timeline(self) -> Scenario:
        self.check_timeline(self.schemes)
        return self

    def check_timeline(self, names: Sequence[str]) -> None:
        """Raises `FieldError` if the racks of these schemes do not support the events."""
        kinds = {kind for name in {*self.schemes, *names} for kind in schemes.get(name).node_kinds}
        labs: dict[TopologySpec, tuple[str, LabSpec]] = {}
        for name in names:
            lab = self.of_scheme(name).lab
            labs.setdefault(lab.topology, (name, lab))
        for name, lab in labs.values():
            try:
                self._check_nodes(lab, kinds)
            except FieldError as error:
                if len(labs) == 1:
                    raise
                # An event can be possible with the switches of one scheme, but not of another.
                where = f"That is the lab of '{name}'; other schemes have other switches"
                text = f"{error}. {where}, unless 'lab.topology.kind' is set"
                raise FieldError(text, *error.path) from None
        event_validation.check_schemes(names, self.needs)
        event_validation.check_nodes(names, self.optional_nodes)

    def _check_nodes(self, lab: LabSpec, kinds: Collection[type[Node]]) -> None:
        """Raises `FieldError` if a rack with this lab does not support the events."""
        try:
            event_validation.check(self.events, lab, self.workload, self.duration, optional=kinds)
        except FieldError as error:
            raise error.below("events") from None
        if (drawn := self.random_faults) is not None:
            try:
                faults.check(lab, drawn.kinds, drawn.nodes, optional=kinds)
            except FieldError as error:
                raise error.below("random_faults") from None

    def of_scheme(self, name: str) -> Scenario:
        """The scenario as it runs for one of its schemes, which may have switches of its own."""
        return self.model_copy(update={"lab": schemes.get(name).with_topology(self.lab)})

    def timeline(self) -> list[TimelineEvent]:
        """The events in the order of their times."""
        return sorted(self.events, key=lambda event: event.at)

    @property
    def needs(self) -> list[tuple[Need, FieldPath]]:
        """What events and random faults need of schemes, with their paths."""
        drawn = self.random_faults.kinds if self.random_faults is not None else None
        events = [it.action for it in self.events]
        faults = [FAULTS[kind][0] for kind in drawn or ()]
        found: list[tuple[Need | None, FieldPath]] = [
            *((it.NEED, ("events", index, it.NAME)) for index, it in enumerate(events)),
            *((it.NEED, ("random_faults", "kinds", index)) for index, it in enumerate(faults)),
        ]
        return [(need, path) for need, path in found if need is not None]

    @property
    def optional_nodes(self) -> list[tuple[str, FieldPath]]:
        """Nodes of kinds that not all schemes have, and the options that name them."""
        named: list[tuple[str, FieldPath]] = []
        for index, event in enumerate(self.events):
            if (node := event.action.node) is not None:
                named.append((node, ("events", index, *event.action.NODE_AT)))
        if self.random_faults is not None:
            for index, node in enumerate(self.random_faults.nodes or ()):
                named.append((node, ("random_faults", "nodes", index)))
        return [each for each in named if kind_of(each[0]) in OPTIONAL]

    def rack(self, scheme: str, seed: int) -> RackSpec:
        """The rack of one run."""
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
    **{model: noun for action in IN_SCENARIOS for model, noun in action.NOUNS.items()},
    RandomFaults: "random faults",
    Plot: "a plot",
    Baseline: "a baseline",
    Shift: "a popularity shift",
    HeavyTail: "a multiget size",
    MultigetSize: "a multiget size",
}
"""The name of each model in error messages."""
