"""The client process crashes."""

from __future__ import annotations

from typing import Literal

from netkv.errors import FieldError
from netkv.events.action import Action, ChangedRack, DrawnFault, Need, Target
from netkv.events.state import RackState
from netkv.model.nodes import Client


class Crash(Action):
    """The client process crashes, and is there again at once."""

    NAME = "crash"
    ORDER = 40
    NODE_AT = ("crash",)
    BEGINNING = Client.NAME
    TARGET = "node"
    NEED = Need(
        "client_keeps",
        "a crash of the client loses the records that it keeps, but clients of '{scheme}' "
        "keep no records (schemes whose clients do: {able}); 'kill: client' stops the whole load "
        "generator",
    )
    DRAWN = (
        DrawnFault(
            "client-crash",
            lambda choice: choice.of(Client),
            lambda *_: (Crash(crash="client"), None),
        ),
    )

    crash: Literal["client"]
    """The client process ends and another one starts at once: pending requests are given up, and
    preserved records are lost. Only with schemes whose clients keep records. The load and its
    checks continue; after `kill: client` they do not."""

    @property
    def parts(self) -> list[Target]:
        return []  # the new process is there at once

    def check(self, state: RackState, where: str) -> None:
        if self.crash in state.down:
            raise FieldError(f"{where} is about '{self.crash}', which is down by then", "crash")

    def check_now(self, state: RackState) -> None:
        if self.crash in state.down:
            raise FieldError(f"the node '{self.crash}' is not running", "crash")

    async def carry_out(self, rack: ChangedRack) -> None:
        await rack.client.command({"do": "crash"})
