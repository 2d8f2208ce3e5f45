"""Servers become slower."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from netkv.errors import FieldError
from netkv.events.action import Action, ChangedRack, Choice, DrawnFault, Target, between
from netkv.events.state import RackState
from netkv.model.nodes import Servers, Storage, check_names
from netkv.options import Spec


class SlowFault(Spec):
    """Servers with `lab.service_rate` that are slower from now on."""

    node: str
    """`servers-0`, `servers-1`, ...: all servers of the process."""
    factor: Annotated[float, Field(ge=1, le=1e6)]
    """Their rate becomes `lab.service_rate / factor`; 1 restores it."""


def _limited(choice: Choice) -> list[str]:
    return choice.of(Servers) if choice.lab.service_rate is not None else []


def _draw(rng: random.Random, node: str, _: Storage | None) -> tuple[Action, Action]:
    slow = SlowFault(node=node, factor=round(between(rng, 2, 20), 1))
    return Slow(slow=slow), Slow(slow=SlowFault(node=node, factor=1))


class Slow(Action):
    """The rate of servers changes."""

    NAME = "slow"
    ORDER = 80
    NODE_AT = ("slow", "node")
    BEGINNING: ClassVar[dict[str, Any]] = {"node": "servers-0", "factor": 4}
    NOUNS: ClassVar[Mapping[type[Spec], str]] = {SlowFault: "a slow server"}
    TARGET = "slow"
    DRAWN = (
        DrawnFault("slow", _limited, _draw, hint="only servers with a 'lab.service_rate' can"),
    )

    slow: SlowFault
    """From now on the servers of a process are slower; only with `lab.service_rate`."""

    @property
    def heals(self) -> bool:
        return self.slow.factor == 1

    @property
    def cures(self) -> Mapping[Target, Action]:
        healed = Slow(slow=SlowFault(node=self.slow.node, factor=1))
        return {} if self.heals else dict.fromkeys(self.parts, healed)

    @property
    def slowdown(self) -> float | None:
        return self.slow.factor

    def describe(self) -> str:
        return f"slow {self.slow.node}: factor {self.slow.factor:g}"

    def check(self, state: RackState, where: str) -> None:
        check_names([self.slow.node], state.servers, where, *self.NODE_AT)
        if state.lab.service_rate is None:
            raise FieldError(
                f"{where} slows '{self.slow.node}' down, but only servers of limited rate can be "
                f"slowed down: set 'lab.service_rate'",
                "slow",
            )

    async def carry_out(self, rack: ChangedRack) -> None:
        await rack.server_process(self.slow.node).slow(self.slow.factor)
