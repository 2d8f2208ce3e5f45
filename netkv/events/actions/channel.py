"""The control channel between controller and switches is cut and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from netkv.errors import FieldError
from netkv.events.action import Action, ChangedRack, DrawnFault, Target
from netkv.events.state import RackState
from netkv.model.nodes import Controller


class Partition(Action):
    """The control channel is cut."""

    NAME = "partition"
    ORDER = 60
    NODE_AT = ("partition",)
    BEGINNING = Controller.NAME
    TARGET = "channel"
    DRAWN = (
        DrawnFault(
            "partition",
            lambda choice: choice.of(Controller),
            lambda *_: (Partition(partition="controller"), Heal(heal="controller")),
        ),
    )

    partition: Literal["controller"]
    """Interrupt the control channel between controller and switch."""

    @property
    def cures(self) -> Mapping[Target, Action]:
        return {part: Heal(heal="controller") for part in self.parts}

    def check(self, state: RackState, where: str) -> None:
        if state.partitioned:
            text = f"{where} cuts the control channel, which is cut by then"
            raise FieldError(text, "partition")
        state.partitioned = True

    def check_now(self, state: RackState) -> None:
        if state.partitioned:
            raise FieldError("the control channel is cut already", "partition")

    async def carry_out(self, rack: ChangedRack) -> None:
        rack.controller.partition()


class Heal(Action):
    """The control channel is restored."""

    NAME = "heal"
    ORDER = 70
    NODE_AT = ("heal",)
    BEGINNING = Controller.NAME
    TARGET = "channel"

    heal: Literal["controller"]
    """Restore the control channel."""

    @property
    def heals(self) -> bool:
        return True

    def check(self, state: RackState, where: str) -> None:
        if not state.partitioned:
            text = f"{where} heals the control channel, which no earlier event has cut"
            raise FieldError(text, "heal")
        state.partitioned = False

    def check_now(self, state: RackState) -> None:
        if not state.partitioned:
            raise FieldError("the control channel is not cut", "heal")

    async def carry_out(self, rack: ChangedRack) -> None:
        rack.controller.heal()
