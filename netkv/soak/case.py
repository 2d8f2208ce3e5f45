"""A case: all data of a run, so that a file of it can be replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field, ValidationError

from netkv import kinds
from netkv.errors import UsageError
from netkv.lab.spec import RackSpec
from netkv.options import Spec
from netkv.scenarios.events import TimelineEvent
from netkv.sim.models import Profile


class ConnectionEvent(TimelineEvent):
    """A switch loses its connection to the controller, or has it again. The switch runs on. Only
    the simulator can do that."""

    ACTIONS: ClassVar[tuple[str, ...]] = (*TimelineEvent.ACTIONS, "disconnect", "connect")

    disconnect: str | None = None
    """The connection of this switch is lost. The controller notices that as it would notice that
    the switch has stopped."""
    connect: str | None = None
    """This switch has its connection again."""

    @property
    def node(self) -> str | None:
        """The switch."""
        return self.disconnect or self.connect


Event: TypeAlias = TimelineEvent | ConnectionEvent


class Fault(Spec):
    """A fault from its beginning to its end, in seconds of load."""

    begin: Event
    end: Event | None = None
    """None: the fault has no duration."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Beginning and end."""
        return (self.begin,) if self.end is None else (self.begin, self.end)


class Case(Spec):
    """One run: a rack, its hardware (`profile`), its load and its faults."""

    seed: int
    """The seed from which it was generated. A reduced case keeps the seed of its original."""
    rack: RackSpec
    profile: Profile
    program: Path | None = None
    """P4 source that replaces the scheme's program."""
    mutant: str | None = None
    """A defect of the scheme (`Scheme.mutants`)."""
    idle: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Virtual seconds between the rack's start and that of the load."""
    duration: Annotated[float, Field(gt=0, le=3600)]
    """Virtual seconds of load."""
    faults: tuple[Fault, ...] = ()
    """The faults, in the order of their beginnings."""

    @property
    def schedule(self) -> list[tuple[Event, Fault]]:
        """Beginnings and ends of all faults, in the order of their times."""
        events = [(event, fault) for fault in self.faults for event in fault.events]
        return sorted(events, key=lambda each: each[0].at)

    def with_lab(self, update: Mapping[str, Any]) -> Case:
        """The case with these options of its lab, which must be valid."""
        lab = self.rack.lab.model_copy(update=update)
        return self.model_copy(update={"rack": self.rack.model_copy(update={"lab": lab})})


def load(file: Path) -> Case:
    """Reads a case from a file; raises `UsageError` if it contains none."""
    try:
        return Case.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    except ValidationError as error:
        raise UsageError(
            f"{file} is not a case of 'netkv soak' ({kinds.first(error)}). "
            f"'netkv soak SCHEME' writes one when it finds a violation."
        ) from error


def save(case: Case, file: Path) -> None:
    """Writes a case to a file for `load`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    document = case.model_dump(mode="json", exclude_defaults=True)
    # The whole topology: what is left out of it has the default of the scheme, not of the model.
    lab = document["rack"].setdefault("lab", {})
    lab["topology"] = case.rack.lab.topology.model_dump(mode="json")
    text = json.dumps(document, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
