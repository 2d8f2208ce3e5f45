"""Drives the control plane of one switch in virtual time.

Rules
-----
1. The control plane (netkv/control) decides, the same object as live; this module carries events in
   and actions out, each through the modelled control channel.
2. A life begins with an empty switch and ends when switch or controller dies. Answers that belong
   to a former life mean nothing.
3. A table write happens when it reaches the switch: in the first pipeline at once, in the others
   one after the other, and then its answer comes back through the channel. What a pipeline has
   the others get, too, though the controller die meanwhile; a switch that dies forgets all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from netkv.control import base
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables

if TYPE_CHECKING:
    from netkv import _engine


class SimController:
    """The controller of one switch."""

    def __init__(
        self,
        simulation: _engine.Simulation,
        switch: int,
        tables: Tables,
        make: Callable[[], base.ControlPlane],
        tell: Callable[[str], object],
        on_write: Callable[[base.TableWrite, str], object],
    ) -> None:
        """`make` makes the control plane, anew after the controller has died. `on_write` hears of
        each table write that is in all pipelines of the switch, or why it was refused."""
        self._simulation = simulation
        self._switch = switch
        self._tables = tables
        self._make = make
        self._tell = tell
        self._on_write = on_write
        self._writes: dict[int, base.TableWrite] = {}
        """On their way to the switch, by token."""
        self._begun: dict[int, tuple[base.TableWrite, int]] = {}
        """In some pipelines of the switch and on their way to the others, with the life (of
        controller or switch) that asked for them."""
        self._life = 0
        self._answers: dict[int, base.TableWritten] = {}
        """On their way back."""
        self._token = 0
        self._alive = True
        self._died = False
        """Its control plane is one of a controller that is no more."""
        self._due: int | None = None
        self.control_plane = make()
        self.bytes = 0
        """Between controller and switch so far, both directions: P4Runtime messages."""

    @property
    def deadline(self) -> int | None:
        """When `timer` is to be called, if nothing happens before."""
        return self._due

    @property
    def ready(self) -> bool:
        """Whether the switch is set up."""
        return self._alive and self.control_plane.ready()

    @property
    def alive(self) -> bool:
        """Whether controller and switch are there."""
        return self._alive

    def cached_keys(self) -> list[bytes]:
        """The keys that the control plane has cached; none while it or the switch is away."""
        if not self._alive or not isinstance(self.control_plane, base.Caches):
            return []
        return list(self.control_plane.cached_keys())

    def start(self, preload: Sequence[bytes]) -> None:
        """The first life, with these keys to be cached."""
        self._hear(base.Started())
        if preload:
            self._hear(base.Preload(tuple(preload)))

    def switch_stopped(self) -> None:
        """The switch is away; nothing is heard of it and nothing reaches it."""
        self._end()
        self._begun.clear()

    def switch_started(self) -> None:
        """The switch is back with empty tables."""
        if self._died:
            # Whoever controls it now has never seen it.
            self.replace()
            return
        self._alive = True
        self._hear(base.SwitchRestarted())

    def die(self) -> None:
        """The controller is gone, with all that it knew."""
        self._died = True
        self._end()

    def replace(self) -> None:
        """Another controller takes over a switch whose program was loaded anew."""
        self._begun.clear()
        self.control_plane = self._make()
        self._alive = True
        self._died = False
        self._hear(base.Started())

    def timer(self, now: int) -> None:
        """Tells the control plane that its deadline has come, if it has."""
        if self._alive and self._due is not None and self._due <= now:
            self._hear(base.Timer())

    def packet_in(self, frame: bytes) -> None:
        """A frame of the switch, packet-in header in front."""
        self.bytes += self._tables.frame_message_bytes(frame)
        if self._alive:
            port = int.from_bytes(frame[:PACKET_HEADER_BYTES], "big") >> 7
            self._hear(base.PacketIn(port, frame[PACKET_HEADER_BYTES:]))

    def digest(self, message: _engine.DigestMessage) -> None:
        """A digest of the switch."""
        self.bytes += self._tables.digest_message_bytes(message)
        if self._alive:
            key, count, epoch = message[1]
            self._hear(
                base.HotKey(
                    key.rjust(16, b"\0"), int.from_bytes(count, "big"), int.from_bytes(epoch, "big")
                )
            )

    def write_arrived(self, token: int, pipeline: int) -> None:
        """A table write has reached a pipeline of the switch; it comes to them in order."""
        if token in self._writes:
            self._begun[token] = self._writes.pop(token), self._life
        if token not in self._begun:
            return  # of a former life of the switch, or refused by an earlier pipeline
        write, life = self._begun[token]
        error = self._tables.carry_out(write, pipeline)
        if not error and pipeline + 1 < self._tables.pipelines:
            return
        del self._begun[token]
        self._on_write(write, error)
        if life == self._life:
            self._answers[token] = base.TableWritten(write.write, not error, error)
            self._simulation.answer(self._switch, token)

    def answered(self, token: int) -> None:
        """The answer to a table write has come."""
        answer = self._answers.pop(token, None)
        if answer is not None and self._alive:
            self._hear(answer)

    def _end(self) -> None:
        self._alive = False
        self._life += 1
        self._due = None
        self._writes.clear()
        self._answers.clear()

    def _hear(self, event: base.Event) -> None:
        for action in self.control_plane.handle(self._simulation.now(), event):
            match action:
                case base.SendFrame(frame, egress_port):
                    header = (egress_port << 7).to_bytes(PACKET_HEADER_BYTES, "big")
                    self.bytes += self._tables.frame_message_bytes(frame)
                    self._simulation.packet_out(self._switch, header + frame)
                case base.Note():
                    self._tell(action.describe())
                case _:
                    self._token += 1
                    self._writes[self._token] = action
                    self.bytes += self._tables.write_message_bytes(action)
                    self._simulation.write(self._switch, self._token)
        self._due = self.control_plane.deadline()
