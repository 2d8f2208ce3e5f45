"""Real servers and clients (`engine/roles`) at the driver of the protocol tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from netkv._engine import ClientRole, ServerRole
from netkv.control.base import SECOND, Nanoseconds
from netkv.model.messages import Message, decode
from tests.schemes.scripted_rack import ScriptedRack

R = TypeVar("R", ClientRole, ServerRole)


class RoleHost(Generic[R]):
    """A server or client of a rack: its frames, and its timer."""

    def __init__(self, rack: ScriptedRack[Any], name: str, role: R) -> None:
        self._rack = rack
        self._name = name
        self.role: R = role
        self.received: list[Message] = []
        """The messages that have arrived."""
        self._due: Nanoseconds | None = None
        rack.hosts[name] = self.receive
        self.send(())

    def restart(self) -> None:
        """The process of a server starts anew over its store."""
        assert isinstance(self.role, ServerRole)
        # Above all numbers that it has used.
        self.role.restart(self._rack.now, (self._rack.now << 20) // SECOND + 1)
        self.received.clear()
        self._due = None
        self.send(())

    def receive(self, frame: bytes) -> None:
        """A frame arrives."""
        self.received.append(decode(frame).message)
        self.send(self.role.receive(self._rack.now, frame))

    def send(self, frames: Iterable[bytes]) -> None:
        """Send the frames of the role, and wait for its next timer."""
        for frame in frames:
            self._rack.send(self._name, frame)
        due = self.role.deadline()
        if due is not None and (self._due is None or due < self._due):
            self._due = due
            self._rack.after(max(due - self._rack.now, 0), partial(self._on_due, due))

    def _on_due(self, due: Nanoseconds) -> None:
        if due == self._due:  # else an earlier timer has taken its place
            self._due = None
            self.send(self.role.timer(self._rack.now))
