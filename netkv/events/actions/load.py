"""The load changes: its rate, its outstanding requests, the popularity of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from netkv.errors import FieldError
from netkv.events.action import Action, ChangedRack
from netkv.events.state import RackState
from netkv.model.spec import Shift as Popularity
from netkv.model.spec import check_shift
from netkv.options import RATE

if TYPE_CHECKING:
    from netkv.model.report import EventKind


class _OfLoad(Action):
    @property
    def kind(self) -> EventKind:
        return "load"


class _Arrivals(_OfLoad):
    @property
    def arrivals(self) -> dict[str, Any]:
        return {"do": self.NAME, "value": getattr(self, self.NAME)}

    async def carry_out(self, rack: ChangedRack) -> None:
        await rack.client.command(self.arrivals)


class Rate(_Arrivals):
    """Requests are sent at a rate."""

    NAME = "rate"
    ORDER = 90
    BEGINNING = 1000

    rate: Annotated[float, Field(gt=0, le=1e9), RATE]
    """From now on the load is an open loop with this rate."""

    @property
    def offered(self) -> float | None:
        return self.rate


class Outstanding(_Arrivals):
    """Requests are sent as replies arrive."""

    NAME = "outstanding"
    ORDER = 100
    BEGINNING = 64

    outstanding: Annotated[int, Field(ge=1, le=65536)]
    """From now on the load is a closed loop with this many requests outstanding."""


class Shift(_OfLoad):
    """Keys change their popularity."""

    NAME = "shift"
    ORDER = 110
    BEGINNING: ClassVar[dict[str, str]] = {"kind": "hot-in"}

    shift: Popularity
    """One popularity shift now (its `every` is ignored, and it has no `admit`)."""

    def describe(self) -> str:
        return f"shift {self.shift.kind} of {self.shift.keys} keys"

    def check(self, state: RackState, where: str) -> None:  # noqa: ARG002 (the shift says where)
        if self.shift.admit is not None:
            text = "only the repeated shift of a workload ('workload.shift') has 'admit'"
            raise FieldError(text, "shift", "admit")
        try:
            check_shift(self.shift, state.workload)
        except FieldError as error:
            raise error.below("shift") from None

    async def carry_out(self, rack: ChangedRack) -> None:
        shift = self.shift.model_dump(mode="json", exclude={"every", "admit"})
        await rack.client.command({"do": "shift", **shift})
