"""Drives a control plane in virtual time.

Rules
-----
1. The control plane (netkv/schemes/NAME) is the same class as live. This module passes events to it
   and carries out its actions, through the modelled control channels. A `Controller` has one
   control plane, and a `SwitchControl` for each of its switches.
2. With one switch, a session begins with an empty switch and ends when switch or controller stops:
   between sessions nothing is handled. With several, the control plane runs as long as the
   controller does, and the sessions of its switches are independent.
3. Answers of an earlier session are ignored. Messages that a controller sent before it stopped
   still reach the switch, unless the next controller loads the program first.
4. A table write takes effect when it reaches the switch: in the first pipeline at once, in the
   others one after the other. Then its answer returns through the channel. A table is read when the
   request reaches the switch. The engine carries out plain writes by itself, unless somebody
   observes them (`on_write`).
5. Saves go to a disk that outlives controllers (`disk`). With one switch, the answer to a save that
   arrives while the switch is down is handled in the next session, as live.
6. A changed topology is handled at once; with one switch that is down, after its restart.
7. A controller may stop between any two actions: `may_act` is called before each frame, table
   write, read, reset and save.
8. The engine passes frames and answers to plain writes to the control plane by itself, and carries
   out the frames and plain writes that follow, unless `SimRack.advance` must look at each event. It
   leaves the first other action, and all after it, to this module (`carry_out`). `handled` is
   called before anything depends on `deadline`.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from netkv.control import base
from netkv.sim.disk import Disk
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables

if TYPE_CHECKING:
    from netkv import _engine
    from netkv.model.topology import Topology


class SwitchControl:
    """The control channel to one switch, and its sessions."""

    def __init__(
        self,
        number: int,
        name: str,
        tables: Tables,
        controller: Controller,
        on_write: Callable[[base.TableWrite, str], object] | None,
        load: Callable[[], object],
    ) -> None:
        """`name`: as the control plane knows it, empty in that of one switch. `on_write` is called
        with each table write that all pipelines have, or that was refused, and the reason. `load`
        loads the program, which empties the switch."""
        self._simulation = controller.simulation
        self.number = number
        self.name = name
        self.tables = tables
        # Without a cycle, the engine's memory is freed at once.
        self._controller = weakref.ref(controller)
        self._bytes = 0
        """Bytes of messages that the engine does not count."""
        self.runs = True
        """Whether the switch runs; False also if it is thought to have stopped."""
        self.connected = True
        """Whether the switch can reach the controller, if it runs."""
        self.blank = True
        """Whether no controller has handled the present start of the switch; also after it has lost
        its state."""
        self.topology: Topology | None = None
        """The last changed topology, if any; the control plane was made with the one before."""
        self._on_write = on_write
        self.load = load
        self._requests: dict[int, base.TableWrite | base.ReadTable] = {}
        """Table writes that not all pipelines have yet, and reads, by token; no plain writes."""
        self._answers: dict[int, base.TableWritten | base.TableRead] = {}
        """Answers on their way to the controller, by token."""
        self._simulation.open_channel(
            number,
            name,
            tables.packet_bytes,
            None if on_write is not None else tables.plain,
            tables.write_message_bytes,
        )
        controller.switches[name] = self

    @property
    def controller(self) -> Controller:
        """Its controller."""
        controller = self._controller()
        assert controller is not None, "the rack has it"
        return controller

    @property
    def bytes(self) -> int:
        """Bytes of P4Runtime messages between controller and switch so far, both directions."""
        return self._bytes + self._simulation.channel_bytes(self.number)

    @property
    def control_plane(self) -> base.ControlPlane:
        """That of its controller."""
        return self.controller.control_plane

    @property
    def ready(self) -> bool:
        """Whether the switch is set up."""
        return self.in_session and self.control_plane.switch_ready(self.name)

    @property
    def in_session(self) -> bool:
        """Whether controller and switch run."""
        return self.runs and self.controller.runs

    def request(self, token: int, action: base.TableWrite | base.ReadTable) -> bool:
        """Send a write or read to the switch; False if too many are under way."""
        sent = self._simulation.write_plain(self.number, action)
        if sent is not None:
            return sent
        if not self._simulation.write(self.number, token):
            return False
        self._requests[token] = action
        if not isinstance(action, base.ReadTable):
            self._bytes += self.tables.write_message_bytes(action)
        return True

    def count_packet(self, size: int) -> None:
        """Counts a frame from the switch of so many bytes, with its packet-in header."""
        self._bytes += self.tables.packet_bytes + size

    def count_digest(self, message: _engine.DigestMessage) -> None:
        """Counts a digest from the switch."""
        self._bytes += self.tables.digest_message_bytes(message)

    def arrived(self, token: int, pipeline: int) -> bool:
        """A write or read has reached a pipeline of the switch; pipelines get it in order. Returns
        whether the answer is on its way now."""
        request = self._requests.get(token)
        if request is None:
            return False  # it is of an earlier session, or an earlier pipeline has answered it
        if isinstance(request, base.ReadTable):
            del self._requests[token]
            self._answers[token] = answer = self.tables.read(request, self.name)
            self._bytes += self.tables.read_message_bytes(request, answer)
            return True
        error = self.tables.carry_out(request, pipeline)
        if not error and pipeline + 1 < self.tables.pipelines:
            return False
        del self._requests[token]
        if self._on_write is not None:
            self._on_write(request, error)
        self._answers[token] = base.TableWritten(request.write, not error, error, self.name)
        return True

    def answer(self, token: int) -> base.TableWritten | base.TableRead | None:
        """The answer that has reached the controller; None if it is of an earlier session."""
        return self._answers.pop(token, None)

    def plain_answer(self, write: base.TableWrite, error: str) -> base.TableWritten:
        """The answer to a plain write; `error`: why the switch has refused it."""
        return base.TableWritten(write.write, not error, error, self.name)

    def started_alone(self) -> None:
        """The switch is up again, with empty tables, while there is no controller."""
        self.runs = self.blank = True

    def end_session(self, *, requests: bool) -> None:
        """Answers are lost, and also `requests`, unless they still reach the switch."""
        # The engine drops answers to plain writes by itself when a switch or controller stops.
        self._answers.clear()
        if requests:
            self._requests.clear()
            self._simulation.discard_updates(self.number)


class Controller:
    """A control plane and its switches."""

    def __init__(
        self,
        simulation: _engine.Simulation,
        disk: Disk,
        make: Callable[[], base.ControlPlane],
        on_report: Callable[[base.Note | base.Recovering | base.Recovered], object],
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        """`make` creates the control plane with the present topology, again after the controller
        has stopped. `may_act` returns whether the controller may carry out its next action; it
        returns False after it has called `stopped`."""
        self.simulation = simulation
        self.disk = disk
        self._make = make
        self._on_report = on_report
        self._may_act = may_act
        self._token = 0
        self._due: int | None = None
        """The deadline of the control plane."""
        self.deadline: int | None = None
        """When to call `timer`, if no event happens before."""
        self._saved: list[base.Saved] = []
        """Answers of the disk that arrived while the only switch was down."""
        self._refused: deque[base.Event] = deque()
        """Answers to actions that were not sent."""
        self.runs = True
        """Whether the controller runs. With one switch, it starts with the switch at the latest."""
        self.control_plane = make()
        self._several = isinstance(self.control_plane, base.NetworkControlPlane)
        self.switches: dict[str, SwitchControl] = {}
        """By the names that the control plane uses."""

    @property
    def ready(self) -> bool:
        """Whether every switch is up, and the control plane is ready."""
        return all(it.in_session for it in self.switches.values()) and self.control_plane.ready()

    @property
    def cached_count(self) -> int:
        """Number of cached entries. While nothing is handled, it is the last one, unless all
        switches have lost their state since."""
        if not self._handles and all(it.blank for it in self.switches.values()):
            return 0
        if isinstance(self.control_plane, base.CountsCached):
            return self.control_plane.cached_count()
        if isinstance(self.control_plane, base.Caches):
            return len(self.control_plane.cached_keys())
        return 0

    @property
    def record_bytes(self) -> int:
        """Bytes of records that have passed through the control plane."""
        if isinstance(self.control_plane, base.CountsRecords):
            return self.control_plane.record_bytes()
        return 0

    def cached_keys(self) -> list[bytes]:
        """The keys that the control plane has cached; none while nothing is handled."""
        if not self._handles or not isinstance(self.control_plane, base.Caches):
            return []
        return list(self.control_plane.cached_keys())

    def start(self, preload: Sequence[bytes]) -> None:
        """Begin; `preload`: keys to cache."""
        self._begin()
        if preload:
            self.handle(base.Preload(tuple(preload)))

    # ------------------------------------------------------------- changes of switches

    def switch_stopped(self, switch: SwitchControl) -> None:
        """A switch is down: it neither sends nor receives messages."""
        switch.runs = False
        self._set_receiver(switch)
        switch.end_session(requests=True)
        if not self._several:
            self._due = None
            self.deadline = self.disk.deadline

    def switch_lost(self, switch: SwitchControl) -> None:
        """The controller notices that a switch is down, or out of its reach."""
        if not switch.connected and switch.runs:
            self.switch_stopped(switch)
        if self._several and not switch.runs:
            self.handle(base.SwitchLost(switch.name))

    def switch_connected(self, switch: SwitchControl) -> None:
        """A switch that ran on without a connection has one again, after that was noticed. If the
        control plane does not keep switches, the program is loaded again, as into any switch."""
        switch.runs = True
        if not self.runs:
            return
        if self.control_plane.keeps_switches:
            self._set_receiver(switch)
            self.simulation.connect(switch.number, True)
            self.handle(base.SwitchFound(switch.name))
        else:
            switch.load()
            self._restarted(switch)

    def switch_started(self, switch: SwitchControl) -> None:
        """A switch is up again, with empty tables; a controller is present."""
        switch.started_alone()
        if not self.runs:
            # The new controller has no state of this switch, which is its only one.
            self.replace()
            return
        self._restarted(switch)
        if not self._several:
            if switch.topology is not None:
                self.handle(base.TopologyChanged(switch.topology))
            answers, self._saved = self._saved, []
            for answer in answers:
                self.handle(answer)

    def change(self, switch: SwitchControl, topology: Topology) -> None:
        """The topology of a switch has changed."""
        switch.topology = topology
        self.handle(base.TopologyChanged(topology, switch.name))

    # ---------------------------------------------------------- changes of controllers

    def stopped(self) -> None:
        """The controller stops and loses its state, except what it has saved."""
        self.runs = False
        self._due = None
        self.disk.controller_stopped(self.simulation.now())
        self.deadline = self.disk.deadline
        self._saved.clear()
        for switch in self.switches.values():
            self._set_receiver(switch)
            self.simulation.connect(switch.number, False)
            switch.end_session(requests=False)

    def replace(self) -> None:
        """A new controller takes over; with one switch that is down, when the switch is up."""
        if not (self._several or all(it.runs for it in self.switches.values())):
            return
        self.control_plane = self._make()
        self.runs = True
        for switch in self.switches.values():
            switch.topology = None
            switch.runs = switch.runs and switch.connected  # the new controller cannot reach it
            if not (switch.runs and self.control_plane.keeps_switches and not switch.blank):
                switch.end_session(requests=True)
                if switch.runs:
                    switch.load()
            if switch.runs:
                self.simulation.connect(switch.number, True)
        self._begin()

    def _begin(self) -> None:
        for switch in self.switches.values():
            self._set_receiver(switch)
        self.handle(base.Started(self.disk.saved))
        for switch in self.switches.values():
            if not self._several:
                switch.blank = False
            elif switch.runs and (switch.blank or not self.control_plane.keeps_switches):
                self._restarted(switch)
            elif switch.runs:
                self.handle(base.SwitchFound(switch.name))

    def _restarted(self, switch: SwitchControl) -> None:
        switch.blank = False
        self._set_receiver(switch)
        self.simulation.connect(switch.number, True)
        self.handle(base.SwitchRestarted(switch.name))

    def _set_receiver(self, switch: SwitchControl) -> None:
        """Sets whether messages of a switch are for this controller (rule 8)."""
        # Without a cycle, as above.
        reference = weakref.ref(self) if self.runs and switch.runs else None
        self.simulation.deliver_to(switch.number, reference)

    # ------------------------------------------------------------ messages and timers

    def timer(self, now: int) -> None:
        """Passes on a deadline or the end of a save, if it is due."""
        for answer in self.disk.advance(now):
            if self._handles:
                self.handle(answer)
            else:
                self._saved.append(answer)
        if self._due is not None and self._due <= now:
            self.handle(base.Timer())
        self.deadline = base.earlier(self._due, self.disk.deadline)

    def packet_in(self, switch: SwitchControl, frame: bytes) -> None:
        """A frame of a switch, which begins with the packet-in header."""
        switch.count_packet(len(frame))
        port = int.from_bytes(frame[:PACKET_HEADER_BYTES], "big") >> 7
        self.handle(base.PacketIn(port, frame[PACKET_HEADER_BYTES:], switch.name))

    def digest(self, switch: SwitchControl, message: _engine.DigestMessage) -> None:
        """A digest of a switch."""
        switch.count_digest(message)
        self.handle(switch.tables.digest(message, switch.name))

    def arrived(self, switch: SwitchControl, token: int, pipeline: int) -> None:
        """A table write or read has reached a pipeline of a switch."""
        if switch.arrived(token, pipeline):
            self.simulation.answer(switch.number, token)

    def answered(self, switch: SwitchControl, token: int) -> None:
        """The answer to a table write or read that this module carries out has arrived."""
        answer = switch.answer(token)
        if answer is not None:
            self.handle(answer)

    def written(self, switch: SwitchControl, write: base.TableWrite, error: str) -> None:
        """A plain write is answered; `error`: why the switch has refused it."""
        self.handle(switch.plain_answer(write, error))

    def handle(self, event: base.Event) -> None:
        """Passes an event to the control plane and carries out its actions."""
        self._handle(event)
        self.handled()

    def carry_out(self, actions: Iterable[base.Action]) -> None:
        """Carries out actions of the control plane, in order."""
        for action in actions:
            if isinstance(action, base.SendFrame):  # most of them
                if not self._may_act():
                    break  # the controller has stopped
                self._at_switch(action)
            elif isinstance(action, (base.Note, base.Recovering, base.Recovered)):
                self._on_report(action)
            elif not self._may_act():
                break
            elif isinstance(action, base.Save):
                self.disk.save(self.simulation.now(), action)
            else:
                self._at_switch(action)

    def handled(self) -> int | None:
        """The actions of an event are carried out: handles the answers to those that were not
        sent. Returns `deadline`."""
        while self._refused:
            self._handle(self._refused.popleft())
        if self._handles:
            self._due = self.control_plane.deadline()
        self.deadline = base.earlier(self._due, self.disk.deadline)
        return self.deadline

    @property
    def _handles(self) -> bool:
        """Whether events are handled now."""
        return self.runs and (self._several or self.switches[""].runs)

    def _handle(self, event: base.Event) -> None:
        if self._handles:
            self.carry_out(self.control_plane.handle(self.simulation.now(), event))

    def _at_switch(self, action: base.SwitchAction) -> None:
        switch = self.switches[action.switch]
        if not switch.runs:
            return
        # `isinstance` is faster than `match`, and this runs for each message.
        if isinstance(action, base.SendFrame):
            self.simulation.send_frame(switch.number, action)
        elif isinstance(action, base.ResetSwitch):
            switch.end_session(requests=True)
            switch.load()
            self._refused.append(base.SwitchRestarted(switch.name))
        else:
            self._token += 1
            if switch.request(self._token, action):
                return
            if isinstance(action, base.ReadTable):
                error, name = base.TOO_MANY_WRITES, switch.name
                self._refused.append(base.TableRead(action.read, error=error, switch=name))
            else:
                error, name = base.TOO_MANY_WRITES, switch.name
                self._refused.append(base.TableWritten(action.write, False, error, name))
