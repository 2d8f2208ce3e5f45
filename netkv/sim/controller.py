"""Drives the control plane of one switch in virtual time.

Rules
-----
1. The control plane (netkv/schemes/NAME) is the same class as live. This module passes events to it
   and carries out its actions, through the modelled control channel.
2. A session begins with an empty switch and ends when switch or controller stops. Answers of an
   earlier session are ignored. Messages that a controller sent before it stopped still reach the
   switch, unless the next controller loads the program first.
3. A table write takes effect when it reaches the switch: in the first pipeline at once, in the
   others one after the other. Then its answer returns through the channel.
4. Saves go to a disk that outlives controllers (`disk`). If a save is answered while the switch is
   down, the answer is handled in the next session, as live.
5. A changed topology is handled at once while the switch is up, else after its restart.
6. A controller may stop between any two actions: `may_act` is called before each frame, table write
   and save.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from netkv.control import base
from netkv.sim.disk import Disk
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables

if TYPE_CHECKING:
    from netkv import _engine
    from netkv.control.topology import Topology


class SwitchControl:
    """The controller of one switch."""

    def __init__(
        self,
        simulation: _engine.Simulation,
        switch: int,
        tables: Tables,
        disk: Disk,
        make: Callable[[], base.ControlPlane],
        on_report: Callable[[base.Note | base.Recovering | base.Recovered], object],
        on_write: Callable[[base.TableWrite, str], object],
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        """`make` creates the control plane with the present topology of the switch, again after the
        controller has stopped. `on_write` is called with each table write that all pipelines have,
        or that was refused, and the reason. `may_act` returns whether the controller may carry out
        its next action; it returns False after it has called `controller_stopped`."""
        self._simulation = simulation
        self._switch = switch
        self._tables = tables
        self._disk = disk
        self._saved: list[base.Saved] = []
        """Answers of the disk that arrived while the switch was down."""
        self._make = make
        self._on_report = on_report
        self._on_write = on_write
        self._may_act = may_act
        self._writes: dict[int, base.TableWrite] = {}
        """Table writes that not all pipelines have yet, by token."""
        self._answers: dict[int, base.TableWritten] = {}
        """Answers on their way to the controller, by token."""
        self._token = 0
        self._alive = True
        self._died = False
        """Whether its control plane belongs to a controller that has stopped."""
        self._due: int | None = None
        self._topology: Topology | None = None
        """The last changed topology, if any; the control plane was made with the one before."""
        self.control_plane = make()
        self.bytes = 0
        """Bytes of P4Runtime messages between controller and switch so far, both directions."""

    @property
    def deadline(self) -> int | None:
        """When to call `timer`, if no event happens before."""
        dues = [due for due in (self._due, self._disk.deadline) if due is not None]
        return min(dues, default=None)

    @property
    def ready(self) -> bool:
        """Whether the switch is set up."""
        return self._alive and self.control_plane.ready()

    @property
    def alive(self) -> bool:
        """Whether controller and switch run."""
        return self._alive

    def cached_keys(self) -> list[bytes]:
        """The keys that the control plane has cached; none while it or the switch is down."""
        if not self._alive or not isinstance(self.control_plane, base.Caches):
            return []
        return list(self.control_plane.cached_keys())

    def start(self, preload: Sequence[bytes]) -> None:
        """Begin the first session; `preload`: keys to cache."""
        self._handle(base.Started(self._disk.saved))
        if preload:
            self._handle(base.Preload(tuple(preload)))

    def switch_stopped(self) -> None:
        """The switch is down: it neither sends nor receives messages."""
        self._writes.clear()
        self._end()

    def switch_started(self) -> None:
        """The switch is up again, with empty tables."""
        if self._died:
            # The new controller has no state of this switch.
            self.replace()
            return
        self._alive = True
        self._handle(base.SwitchRestarted())
        if self._topology is not None:
            self._handle(base.TopologyChanged(self._topology))
        answers, self._saved = self._saved, []
        for answer in answers:
            self._handle(answer)

    def change(self, topology: Topology) -> None:
        """The topology of the switch has changed."""
        self._topology = topology
        self._handle(base.TopologyChanged(topology))

    def controller_stopped(self) -> None:
        """The controller stops and loses its state, except what it has saved."""
        self._died = True
        self._simulation.connect(self._switch, False)
        self._disk.controller_stopped(self._simulation.now())
        self._saved.clear()
        self._end()

    def replace(self) -> None:
        """A new controller takes over; the program has been loaded again."""
        self.control_plane = self._make()
        self._topology = None
        self._writes.clear()
        self._answers.clear()
        self._alive = True
        self._died = False
        self._simulation.connect(self._switch, True)
        self._handle(base.Started(self._disk.saved))

    def timer(self, now: int) -> None:
        """Passes on a deadline or the end of a save, if it is due."""
        for answer in self._disk.advance(now):
            if self._alive:
                self._handle(answer)
            else:
                self._saved.append(answer)
        if self._due is not None and self._due <= now:
            self._handle(base.Timer())

    def packet_in(self, frame: bytes) -> None:
        """A frame of the switch, which begins with the packet-in header."""
        self.bytes += self._tables.frame_message_bytes(frame)
        port = int.from_bytes(frame[:PACKET_HEADER_BYTES], "big") >> 7
        self._handle(base.PacketIn(port, frame[PACKET_HEADER_BYTES:]))

    def digest(self, message: _engine.DigestMessage) -> None:
        """A digest of the switch."""
        self.bytes += self._tables.digest_message_bytes(message)
        self._handle(self._tables.digest(message))

    def write_arrived(self, token: int, pipeline: int) -> None:
        """A table write has reached a pipeline of the switch; pipelines get it in order."""
        write = self._writes.get(token)
        if write is None:
            return  # it is of an earlier session, or an earlier pipeline has refused it
        error = self._tables.carry_out(write, pipeline)
        if not error and pipeline + 1 < self._tables.pipelines:
            return
        del self._writes[token]
        self._on_write(write, error)
        self._answers[token] = base.TableWritten(write.write, not error, error)
        self._simulation.answer(self._switch, token)

    def answered(self, token: int) -> None:
        """The answer to a table write has arrived."""
        answer = self._answers.pop(token, None)
        if answer is not None:
            self._handle(answer)

    def _end(self) -> None:
        self._alive = False
        self._due = None
        self._answers.clear()

    def _handle(self, event: base.Event) -> None:
        refused = self._carry_out(event)
        while refused:
            refused += self._carry_out(refused.popleft())

    def _carry_out(self, event: base.Event) -> deque[base.Event]:
        """Handles an event and carries out the actions; returns answers to writes not sent."""
        refused: deque[base.Event] = deque()
        if not self._alive:
            return refused
        now = self._simulation.now()
        for action in self.control_plane.handle(now, event):
            if isinstance(action, base.Note | base.Recovering | base.Recovered):
                self._on_report(action)
                continue
            if not self._may_act():
                return refused
            match action:
                case base.SendFrame(frame, egress_port):
                    header = (egress_port << 7).to_bytes(PACKET_HEADER_BYTES, "big")
                    self.bytes += self._tables.frame_message_bytes(frame)
                    self._simulation.packet_out(self._switch, header + frame)
                case base.Save():
                    self._disk.save(now, action)
                case _:
                    self._token += 1
                    if self._simulation.write(self._switch, self._token):
                        self._writes[self._token] = action
                        self.bytes += self._tables.write_message_bytes(action)
                    else:
                        refused.append(base.TableWritten(action.write, False, base.TOO_MANY_WRITES))
        self._due = self.control_plane.deadline()
        return refused
