"""A case of `netkv soak`: all data of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field

from netkv.events.event import CaseEvent, TimelineEvent
from netkv.model.profile import Profile
from netkv.model.spec import GenericRack
from netkv.options import Spec

AnyEvent: TypeAlias = TimelineEvent | CaseEvent


class Fault(Spec):
    """A fault from its beginning to its end, in seconds of load."""

    begin: AnyEvent
    end: AnyEvent | None = None
    """None: the fault has no duration."""

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """Beginning and end."""
        return (self.begin,) if self.end is None else (self.begin, self.end)


class GenericCase(Spec):
    """One run: a rack, its hardware (`profile`), its load and its faults; `netkv.soak.case.Case`
    has the options of all schemes."""

    seed: int
    """The seed from which it was generated. A reduced case keeps the seed of its original."""
    rack: GenericRack
    profile: Profile
    program: Path | None = None
    """P4 source that replaces the scheme's program."""
    mutant: str | None = None
    """A defect of the scheme (`netkv.schemes.parts.mutants`)."""
    idle: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Virtual seconds between the rack's start and that of the load."""
    duration: Annotated[float, Field(gt=0, le=3600)]
    """Virtual seconds of load."""
    faults: tuple[Fault, ...] = ()
    """The faults, in the order of their beginnings."""

    @property
    def schedule(self) -> list[tuple[AnyEvent, Fault]]:
        """Beginnings and ends of all faults, in the order of their times."""
        events = [(event, fault) for fault in self.faults for event in fault.events]
        return sorted(events, key=lambda each: each[0].at)

    def with_lab(self, update: Mapping[str, Any]) -> Self:
        """The case with these options of its lab, which must be valid."""
        lab = self.rack.lab.model_copy(update=update)
        return self.model_copy(update={"rack": self.rack.model_copy(update={"lab": lab})})
