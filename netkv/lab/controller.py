"""Drives a control plane on a live switch, over P4Runtime and in wall-clock time.

Rules
-----
1. This module and `session` pass events to the control plane (netkv/schemes/NAME) and carry out its
   actions, in order.
2. A session begins with a connection and a newly loaded program, and ends when the stream breaks.
3. After the end of a session, the next one begins as soon as the switch answers again, with
   `SwitchRestarted`: loading the program empties the switch, whether it had restarted or not.
4. A controller that is stopped loses its state, except its saved state. The next one begins like
   the first, with `Started`: it loads the program, which empties the switch, and preloads nothing.
   docs/architecture.md, "When a controller dies", explains why.
5. `channel` describes the effects of a cut of the control channel.
6. Another P4Runtime client may become primary (`candidate`). That ends the session, too.
7. The switch goes out of service when a session ends because the connection is lost, when no
   connection is made within `UNREACHABLE_AFTER`, and before the program is loaded again. It is in
   service again when its control plane is ready (`netkv.rack.rerouting`). While another client is
   primary it stays in service: its tables are unchanged as far as the controller knows.
8. Saves belong to the controller, not to a session: a save that is under way when the switch stops
   is carried out, and answered in the next session.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from netkv.control import base
from netkv.control.topology import Topology
from netkv.errors import NetkvError
from netkv.lab.cabling import SwitchCabling
from netkv.lab.candidate import ONLY_BACKUP, Candidate
from netkv.lab.channel import ControlChannel
from netkv.lab.saving import SaveFile, Saver
from netkv.lab.session import ControlSession
from netkv.lab.spec import RackSpec
from netkv.lab.target import Target
from netkv.p4rt.client import ControllerError, NotPrimaryError, P4RuntimeClient
from netkv.schemes import Scheme

CONNECT_TIMEOUT = 10.0
UNREACHABLE_AFTER = 1.0
"""Seconds without a connection after which the switch counts as out of service. The end of a switch
process breaks an existing connection at once, so this limit is for new controllers. A running
switch of a live lab answers within some 10 ms, and on a busy machine well within this time."""
_RECONNECT_PAUSE = 0.05
_READY_POLL = 0.01


class Controller:
    """The controller of one switch, as tasks of the running event loop."""

    def __init__(
        self,
        scheme: Scheme,
        spec: RackSpec,
        switch: SwitchCabling,
        target: Target,
        *,
        channel: ControlChannel,
        preload: Sequence[bytes],
        saved: Path,
        on_note: Callable[[str], object],
        on_recovery: Callable[[base.Recovering | base.Recovered], object],
        on_failure: Callable[[str], None],
        on_service: Callable[[bool], object] = lambda _: None,
    ) -> None:
        """`saved`: the save file, with the data of the previous controller.

        `on_note` is called with texts for the list of events, `on_failure` with an error that ends
        the controller, `on_service` when the switch goes out of service (False) and when it is in
        service again (True).
        """
        self.control_plane = scheme.control_plane(spec, switch.topology)
        self.bytes = 0
        """Bytes of P4Runtime messages between controller and switch so far, both directions."""
        self.candidate = Candidate(switch.p4runtime, target.device_id, self._note)
        self._address = switch.p4runtime
        self._target = target
        self._place = switch.place
        self._channel = channel
        self._preload = tuple(preload)
        self._save_file = SaveFile(saved)
        self._saver = Saver(self._save_file, self._saved)
        self._answers: list[base.Event] = []
        """`Saved` events that arrived without a session, for the next one."""
        self._on_note = on_note
        self._last_note = ""
        self._on_recovery = on_recovery
        self._on_failure = on_failure
        self._on_service = on_service
        self._in_service = True
        self._topology: Topology | None = None
        """The last changed topology, if any; the control plane was made with the one before."""
        self._session: ControlSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._session_count = 0
        self._dropped: Counter[str] = Counter()

    @property
    def cached(self) -> int:
        """Number of cached keys."""
        return len(self.cached_keys())

    def cached_keys(self) -> set[bytes]:
        """The keys that the control plane has cached; none without a session."""
        if self._session is None or not isinstance(self.control_plane, base.Caches):
            return set()
        return set(self.control_plane.cached_keys())

    def clients_present(self) -> list[int]:
        """Registered clients; none while the controller does not run."""
        if not self.running or not isinstance(self.control_plane, base.RegistersClients):
            return []
        return self.control_plane.clients_present()

    def statistics(self) -> dict[str, int]:
        """Counters of the control plane, those of `dropped`, and the number of `sessions`."""
        counts = {**self.control_plane.statistics(), "sessions": self._session_count}
        return {**counts, **self.dropped()}

    def dropped(self) -> dict[str, int]:
        """Counters of dropped messages (`backlog`, and `P4RuntimeClient.dropped`)."""
        return dict(self._dropped)

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Starts the controller; `ready` waits until the switch is set up."""
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

    def change(self, topology: Topology) -> None:
        """The topology of the switch has changed."""
        self._topology = topology
        if self._session is not None:
            self._session.put(base.TopologyChanged(topology))

    async def stop(self) -> None:
        """Stops the controller; pending events and actions are dropped."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        tasks = [asyncio.create_task(self._saver.run()), asyncio.create_task(self._sessions())]
        try:
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

    async def _sessions(self) -> None:
        """Runs one session after the other."""
        saved = await asyncio.to_thread(self._save_file.read)
        while True:
            await self._run_session(saved)

    async def _run_session(self, saved: bytes | None) -> None:
        """Runs one session, from the connection to the end of the stream."""
        await self._channel.connected()
        device_id = self._target.device_id
        client = P4RuntimeClient(self._address, device_id=device_id, election_id=ONLY_BACKUP)
        loop = asyncio.get_running_loop()
        unreachable = loop.call_later(UNREACHABLE_AFTER, self._out_of_service)

        def on_backup(error: NotPrimaryError) -> None:
            unreachable.cancel()
            self.candidate.backup(error)

        try:
            await client.connect(CONNECT_TIMEOUT, on_backup)
            self.candidate.primary(client.election_id)
            if self._session_count:
                self._out_of_service()
            if self._target.keeps_replication:
                await client.clear_replication()
            program = self._target.program(self._place)
            await client.set_pipeline(*await asyncio.to_thread(program.read))
            session = ControlSession(
                client,
                self._channel,
                self.control_plane,
                self._note_bytes,
                self._carry_out,
                self._handled,
                self._dropped,
            )
            await session.enable_digests()
            await self._channel.connected()
        except ControllerError as error:
            await client.close()
            self._ended(error)
            await asyncio.sleep(_RECONNECT_PAUSE)
            return
        finally:
            unreachable.cancel()
        self._session_count += 1
        first = self._session_count == 1
        events: list[base.Event] = [base.Started(saved) if first else base.SwitchRestarted()]
        if self._topology is not None:
            events.append(base.TopologyChanged(self._topology))
        if first and self._preload:
            events.append(base.Preload(self._preload))
        events += self._answers
        self._answers = []
        self._session = session
        try:
            await session.run(events)
        except ControllerError as error:
            self._ended(error)
            if error.disconnected:
                self._note(f"The connection to the switch was lost: {error}")
        finally:
            self._session = None
            for save in session.saves_left():
                self._saver.save(save)
            self._answers += session.answers_left()
            self._dropped["events_dropped"] += client.dropped
            await client.close()

    def _ended(self, error: ControllerError) -> None:
        """Handles the end of a session, or of an attempt to begin one; re-raises an error that ends
        the controller."""
        if error.not_primary:
            self.candidate.backup(error)
        elif error.disconnected:
            self.candidate.connecting()
            self._out_of_service()
        else:
            raise error

    def _out_of_service(self) -> None:
        if self._in_service:
            self._in_service = False
            self._on_service(False)

    def _handled(self) -> None:
        """The control plane has handled an event of the session."""
        if not self._in_service and self.control_plane.ready():
            self._in_service = True
            self._on_service(True)

    def _saved(self, answer: base.Saved) -> None:
        if self._session is None:
            self._answers.append(answer)
        else:
            self._session.put(answer)

    def _carry_out(self, action: base.HostAction) -> None:
        """Carries out an action without the switch."""
        match action:
            case base.Save():
                self._saver.save(action)
            case base.Recovering() | base.Recovered():
                self._on_recovery(action)
            case base.Note():
                self._note(action.describe())

    def _note(self, text: str) -> None:
        self._last_note = text
        self._on_note(text)

    def _note_bytes(self, count: int) -> None:
        self.bytes += count
