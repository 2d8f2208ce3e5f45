"""The lab's controller in the P4Runtime arbitration of its switch.

Rules
-----
1. The client with the highest election id is primary, so another client may take over the switch
   while the lab is up. That is no failure. The controller then writes nothing, and receives nothing
   from the switch, whose tables stay as they are.
2. The controller waits as a backup (without an election id, so it is never primary). When the
   switch has no primary, it claims an id above all used ones, and a session begins. The other
   client may have changed the switch, so the program is loaded again, as after a restart of the
   switch.
3. Each change is reported once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from netkv.p4rt.client import ControllerError, NotPrimaryError
from netkv.p4rt.errors import Code

ONLY_BACKUP = 0
"""Stands for no election id: such a client is never primary."""


class Arbitration:
    """The arbitration state of the controller; it outlives restarts of the switch."""

    def __init__(self, address: str, device_id: int, on_change: Callable[[str], object]) -> None:
        """`address`: of the P4Runtime server; `on_change` is called with a text for users."""
        self._address = address
        self._device_id = device_id
        self._on_change = on_change
        self._state: Literal["connecting", "backup", "primary"] = "connecting"
        self._election_id: int | None = None
        self._other: int | None = None
        """Election id of the other client that is primary, if known."""
        self._yielded = False

    def connecting(self) -> None:
        """There is no connection."""
        self._state, self._election_id, self._other = "connecting", None, None

    def backup(self, error: ControllerError) -> None:
        """The controller is not primary, or not any more."""
        self.connecting()
        if error.code is Code.NOT_FOUND:
            # There is no primary: the controller is about to claim an id.
            return
        self._state = "backup"
        self._other = error.highest if isinstance(error, NotPrimaryError) else None
        if not self._yielded:
            self._yielded = True
            which = "" if self._other is None else f" (election id {self._other})"
            self._on_change(
                f"Another P4Runtime client is primary{which}. The controller yields: it writes "
                f"nothing until that client has left."
            )

    def primary(self, election_id: int) -> None:
        """The controller is primary with this election id."""
        self._state, self._election_id, self._other = "primary", election_id, None
        if self._yielded:
            self._yielded = False
            self._on_change(
                f"The controller is primary again (election id {election_id}) and sets the switch "
                f"up again."
            )

    def to_json(self) -> dict[str, Any]:
        """The state for `netkv status`."""
        return {
            "state": self._state,
            "p4runtime": self._address,
            "device_id": self._device_id,
            "election_id": self._election_id,
            "primary": self._state == "primary",
            "other_election_id": self._other,
        }
