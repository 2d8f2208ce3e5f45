"""Drives a control plane on live switches, over P4Runtime and in wall-clock time.

Rules
-----
1. This module passes events to the control plane (netkv/schemes/NAME), in the order in which they
   arrive, and carries out its actions. `connection` has the connections to its switches, `session`
   what happens on one of them.
2. With one switch, events are handled while there is a session with it. The first session begins
   with `Started`, a later one with `SwitchRestarted`. With several, events are handled all the
   time, and the sessions with the switches are independent.
3. A controller that is stopped loses its state, except its saved state. The next one begins like
   the first, with `Started`, and preloads nothing. docs/internals/architecture.md, "When a
   controller dies", explains what happens to the switches.
4. Saves belong to the controller, not to a session. With one switch, the answer to a save that ends
   while there is no session is handled in the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from netkv.control import base
from netkv.errors import NetkvError
from netkv.live.backlog import Events
from netkv.live.cable import SwitchCabling
from netkv.live.channel import ControlChannel
from netkv.live.connection import SwitchConnection
from netkv.live.saving import SaveFile, Saver
from netkv.live.target import Target
from netkv.model.topology import Topology

_READY_POLL = 0.01
_EVENTS_PER_TURN = 256
"""Waiting events that are handled before other tasks run, some milliseconds. Their actions are
carried out together, so there is room for those of all keys in flight."""


class Controller:
    """A control plane and its switches, as tasks of the running event loop."""

    def __init__(
        self,
        control_plane: base.ControlPlane,
        switches: Mapping[str, SwitchCabling],
        target: Target,
        *,
        channel: ControlChannel,
        preload: Sequence[bytes],
        saved: Path,
        on_note: Callable[[str], object],
        on_recovery: Callable[[base.Recovering | base.Recovered], object],
        on_failure: Callable[[str], None],
        on_service: Callable[[str, bool], object] = lambda *_: None,
    ) -> None:
        """`switches`: by the names that the control plane uses, "" in that of one switch. `saved`:
        the save file, with the data of the previous controller.

        `on_note` is called with texts for the list of events, `on_failure` with an error that ends
        the controller, `on_service` when the switch of this name (as a node) goes out of service
        (False) and when it is in service again (True).
        """
        self.control_plane = control_plane
        if target.keys_in_flight and isinstance(control_plane, base.LimitsInFlight):
            control_plane.limit_in_flight(target.keys_in_flight)
        self._several = isinstance(control_plane, base.NetworkControlPlane)
        self._preload = tuple(preload)
        self._save_file = SaveFile(saved)
        self._saver = Saver(self._save_file, self._saved)
        self._answers: list[base.Event] = []
        """`Saved` events that arrived without a session, for the next one."""
        self._on_note = on_note
        self._last_note = ""
        self._on_recovery = on_recovery
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None
        self._dropped: Counter[str] = Counter()
        self._events = Events(self._dropped)
        self._before_timer: int | None = None
        """Number of events to handle before the timer that is due; None if none is."""
        self._handles = asyncio.Event()
        """Set while events are handled."""
        self._started: bytes | None = None
        self.connections = {
            name: SwitchConnection(
                name,
                switch,
                target,
                control_plane,
                channel=channel,
                put=self._events.put,
                begin=self._begin,
                end=self._end,
                note=self._note,
                on_service=on_service,
                dropped=self._dropped,
            )
            for name, switch in switches.items()
        }

    @property
    def handles(self) -> bool:
        """Whether events are handled: with one switch, while there is a session with it."""
        return self._handles.is_set()

    @property
    def cached(self) -> int:
        """Number of cached entries; the last one while nothing is handled."""
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

    def cached_keys(self) -> set[bytes]:
        """The keys that the control plane has cached; none while nothing is handled."""
        if not self._handles.is_set() or not isinstance(self.control_plane, base.Caches):
            return set()
        return set(self.control_plane.cached_keys())

    def clients_present(self) -> list[int]:
        """Registered clients; none while the controller does not run."""
        if not self.running or not isinstance(self.control_plane, base.RegistersClients):
            return []
        return self.control_plane.clients_present()

    def statistics(self) -> dict[str, int]:
        """Counters of the control plane, those of `dropped`, and the number of `sessions`."""
        sessions = sum(each.sessions for each in self.connections.values())
        return {**self.control_plane.statistics(), "sessions": sessions, **self.dropped()}

    def dropped(self) -> dict[str, int]:
        """Counters of dropped messages (`backlog`, and `P4RuntimeClient.dropped`)."""
        return dict(self._dropped)

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Starts the controller; `ready` waits until the switches are set up."""
        self._task = asyncio.create_task(self._run(), name="controller")

    async def ready(self, timeout: float) -> None:  # noqa: ASYNC109
        """Waits until the control plane is ready; raises `NetkvError` after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not self.control_plane.ready():
            assert self._task is not None
            if self._task.done():
                raise NetkvError("The controller ended before the switch was set up.")
            if time.monotonic() > deadline:
                counts = ", ".join(f"{name} {n}" for name, n in self.statistics().items())
                last = f" Its last note: {self._last_note}." if self._last_note else ""
                raise NetkvError(
                    f"The control plane was not ready within {timeout:g} s ({counts}).{last}"
                )
            await asyncio.sleep(_READY_POLL)

    def change(self, switch: str, topology: Topology) -> None:
        """The topology of a switch has changed; `switch`: its name in the control plane."""
        connection = self.connections[switch]
        connection.topology = topology
        if self._several or connection.in_session:
            self._events.put(base.TopologyChanged(topology, switch))

    async def stop(self) -> None:
        """Stops the controller; pending events and actions are dropped."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    # -------------------------------------------------------------------------- tasks

    async def _run(self) -> None:
        tasks: list[asyncio.Task[None]] = []
        try:
            self._started = await asyncio.to_thread(self._save_file.read)
            if self._several:
                self._begin_all()
            tasks += [
                asyncio.create_task(self._saver.run()),
                asyncio.create_task(self._decide()),
                *(asyncio.create_task(each.run()) for each in self.connections.values()),
            ]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except Exception as error:
            self._on_failure(f"The controller failed: {error!r}")
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _decide(self) -> None:
        """Passes events and timers to the control plane; no other code calls `handle`."""
        timed = False
        while True:
            await self._handles.wait()
            event = await self._next_event(timed)
            if not self._handles.is_set():
                continue
            timed = isinstance(event, base.Timer)
            self._handle(event)
            for _ in range(1, _EVENTS_PER_TURN):
                if not self._events or not self._handles.is_set():
                    break
                timed = False
                if self._before_timer:
                    self._before_timer -= 1
                self._handle(self._events.pop())
            # Many events, or a timer that is always due, must not starve the other tasks.
            await asyncio.sleep(0)

    def _handle(self, event: base.Event) -> None:
        for connection in self.connections.values():
            connection.handling(event)
        for action in self.control_plane.handle(time.monotonic_ns(), event):
            if isinstance(action, base.HostAction):
                self._carry_out(action)
            else:
                self.connections[action.switch].add(action)
        for connection in self.connections.values():
            connection.handled()

    async def _next_event(self, timed: bool) -> base.Event:
        """The next event, or a timer if it is due and was not the last event (`timed`).

        Events that wait when a timer becomes due precede it: a reply that has arrived is not late,
        however busy the controller is. So do the events that begin a session.
        """
        deadline = self.control_plane.deadline()
        rest = None if deadline is None else (deadline - time.monotonic_ns()) / 1e9
        if rest is None or rest > 0:
            self._before_timer = None
        elif not timed and not self._events.begins:
            if self._before_timer is None:
                self._before_timer = self._events.waiting
            if self._before_timer == 0:
                self._before_timer = None
                return base.Timer()
            self._before_timer -= 1
        if self._events:
            return await self._events.get()
        if rest is not None and rest <= 0:
            rest = 0.001
        try:
            async with asyncio.timeout(rest):
                return await self._events.get()
        except TimeoutError:
            return base.Timer()

    def _carry_out(self, action: base.HostAction) -> None:
        """Carries out an action without a switch."""
        match action:
            case base.Save():
                self._saver.save(action)
            case base.Recovering() | base.Recovered():
                self._on_recovery(action)
            case base.Note():
                self._note(action.describe())

    # ----------------------------------------------------------------------- sessions

    def _begin_all(self) -> None:
        """With several switches: the control plane starts before the sessions."""
        self._events.put(base.Started(self._started))
        if self._preload:
            self._events.put(base.Preload(self._preload))
        self._handles.set()

    def _begin(self, connection: SwitchConnection, found: bool) -> None:
        """A session has begun; `found`: the switch has kept its state."""
        name, first = connection.name, connection.sessions == 1
        event: base.Event
        if self._several:
            event = base.SwitchFound(name) if found else base.SwitchRestarted(name)
            connection.opens_with(event)
            self._events.put(event)
            return
        event = base.Started(self._started) if first else base.SwitchRestarted()
        connection.opens_with(event)
        events: list[base.Event] = [event]
        if connection.topology is not None:
            events.append(base.TopologyChanged(connection.topology))
        if first and self._preload:
            events.append(base.Preload(self._preload))
        self._events.put_first([*events, *self._answers])
        self._answers = []
        self._handles.set()

    def _end(self) -> None:
        """A session has ended."""
        if not self._several:
            self._handles.clear()
            self._answers += self._events.clear()

    def _saved(self, answer: base.Saved) -> None:
        if self._handles.is_set():
            self._events.put(answer)
        else:
            self._answers.append(answer)

    def _note(self, text: str) -> None:
        self._last_note = text
        self._on_note(text)
