"""The connection of a controller to one of its switches: one session after the other.

Rules
-----
1. A session begins with a connection and a newly loaded program, which empties the switch, and ends
   when the stream breaks. After its end the next one begins as soon as the switch answers again.
2. If the control plane keeps the state of running switches (`keeps_switches`), the program is not
   loaded into a switch that runs it: its cookie shows that a controller of this lab has loaded it.
3. Another P4Runtime client may become primary (`arbitration`). That ends the session, too; it may
   have changed anything, so the program is loaded again.
4. The switch goes out of service when a session ends because the connection is lost, when no
   connection is made within `UNREACHABLE_AFTER`, and before a later session begins. It is in
   service again when its control plane is ready (`netkv.rack.rerouting`). While another client is
   primary it stays in service: its tables are unchanged as far as the controller knows.
5. `channel` describes the effects of a cut of the control channel.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable

from netkv.control import base
from netkv.live.arbitration import ONLY_BACKUP, Arbitration
from netkv.live.cable import SwitchCabling
from netkv.live.channel import ControlChannel
from netkv.live.session import SwitchSession
from netkv.live.target import Target
from netkv.model.topology import Topology
from netkv.p4rt.client import ControllerError, NotPrimaryError, P4RuntimeClient
from netkv.p4rt.errors import Code

CONNECT_TIMEOUT = 10.0
UNREACHABLE_AFTER = 1.0
"""Seconds without a connection after which the switch counts as out of service. The end of a switch
process breaks an existing connection at once, so this limit is for new controllers. A running
switch of a live lab answers within some 10 ms, and on a busy machine well within this time."""
_RECONNECT_PAUSE = 0.05


class SwitchConnection:
    """The connection to one switch."""

    def __init__(
        self,
        name: str,
        switch: SwitchCabling,
        target: Target,
        control_plane: base.ControlPlane,
        *,
        channel: ControlChannel,
        put: Callable[[base.Event], None],
        begin: Callable[[SwitchConnection, bool], None],
        end: Callable[[], None],
        note: Callable[[str], None],
        on_service: Callable[[str, bool], object],
        dropped: Counter[str],
    ) -> None:
        """`name`: of the switch in the control plane. `put` queues an event. `begin` is called when
        a session begins, with whether the switch has kept its state, and must call `opens_with`;
        `end` is called when it has ended."""
        self.name = name
        self.bytes = 0
        """Bytes of P4Runtime messages between controller and switch so far, both directions."""
        self.sessions = 0
        """Number of sessions so far."""
        self.arbitration = Arbitration(switch.p4runtime, target.device_id, note)
        self.topology: Topology | None = None
        """The last changed topology, if any; the control plane was made with the one before."""
        self.node = switch.name
        """Its name as a node."""
        self._address = switch.p4runtime
        self._tier = switch.tier
        self._target = target
        self._control_plane = control_plane
        self._channel = channel
        self._put = put
        self._begin = begin
        self._end = end
        self._note = note
        self._on_service = on_service
        self._dropped = dropped
        self._in_service = True
        self._is_lost = False
        """Whether the control plane knows that the switch does not run."""
        self._yielded = False
        """Whether another client was primary since the last session."""
        self._session: SwitchSession | None = None

    @property
    def in_session(self) -> bool:
        """Whether there is a session."""
        return self._session is not None

    def opens_with(self, event: base.Event) -> None:
        """This event, which is queued for the control plane, opens the session."""
        assert self._session is not None
        self._session.opens_with(event)

    def handling(self, event: base.Event) -> None:
        """The control plane is about to handle an event."""
        if self._session is not None:
            self._session.handling(event)

    def handled(self) -> None:
        """The control plane has handled an event."""
        if (
            not self._in_service
            and self._session is not None
            and self._control_plane.switch_ready(self.name)
        ):
            self._in_service = True
            self._on_service(self.node, True)

    def add(self, action: base.SwitchAction) -> None:
        """Queues an action; without a session it has no effect."""
        if self._session is not None:
            self._session.add(action)

    async def run(self) -> None:
        """Runs one session after the other."""
        while True:
            await self._run_session()

    async def _run_session(self) -> None:
        """Runs one session, from the connection to the end of the stream."""
        await self._channel.connected()
        device_id = self._target.device_id
        client = P4RuntimeClient(
            self._address,
            device_id=device_id,
            election_id=ONLY_BACKUP,
            offers_batches=self._target.offered_batches,
        )
        loop = asyncio.get_running_loop()
        unreachable = loop.call_later(UNREACHABLE_AFTER, self._out_of_service)

        def on_backup(error: NotPrimaryError) -> None:
            unreachable.cancel()
            self._backup(error)

        try:
            await client.connect(CONNECT_TIMEOUT, on_backup)
            self.arbitration.primary(client.election_id)
            if self.sessions:
                self._out_of_service()
            found = await self._set_up(client)
            session = SwitchSession(
                self.name,
                client,
                self._channel,
                put=self._put,
                reset=lambda: self._load(client),
                note_bytes=self._note_bytes,
                dropped=self._dropped,
            )
            if not found:
                await session.enable_digests(self._digests(session))
            await self._channel.connected()
        except ControllerError as error:
            await client.close()
            self._ended(error)
            await asyncio.sleep(_RECONNECT_PAUSE)
            return
        finally:
            unreachable.cancel()
        self.sessions += 1
        self._session = session
        self._is_lost = False
        self._begin(self, found)
        try:
            await session.run()
        except ControllerError as error:
            self._session = None
            self._ended(error)
            if error.disconnected:
                self._note(f"The connection to the switch was lost: {error}")
        finally:
            self._session = None
            self._end()
            self._dropped["events_dropped"] += client.dropped
            await client.close()

    def _digests(self, session: SwitchSession) -> list[str]:
        """The digests to enable. Of several switches, not every program need have all of them."""
        plane = self._control_plane
        of_several = isinstance(plane, base.NetworkControlPlane)
        return [name for name in plane.digests if not of_several or session.has_digest(name)]

    async def _set_up(self, client: P4RuntimeClient) -> bool:
        """Loads the program, unless the switch may keep its state (rule 2); returns whether it has
        kept it."""
        yielded, self._yielded = self._yielded, False
        if self._control_plane.keeps_switches and not yielded and await self._runs_it(client):
            return True
        await self._load(client)
        return False

    async def _runs_it(self, client: P4RuntimeClient) -> bool:
        try:
            config = await client.get_pipeline()
        except ControllerError as error:
            if error.code is Code.FAILED_PRECONDITION:
                return False
            raise
        program = await asyncio.to_thread(self._target.program(self._tier).read)
        return config.cookie.cookie == _cookie(program[0])

    async def _load(self, client: P4RuntimeClient) -> None:
        if self._target.keeps_replication:
            await client.clear_replication()
        program = await asyncio.to_thread(self._target.program(self._tier).read)
        await client.set_pipeline(*program, cookie=_cookie(program[0]))

    def _ended(self, error: ControllerError) -> None:
        """Handles the end of a session, or of an attempt to begin one; re-raises an error that ends
        the controller."""
        if error.not_primary:
            self._backup(error)
        elif error.disconnected:
            self.arbitration.connecting()
            self._out_of_service()
        else:
            raise error

    def _backup(self, error: ControllerError) -> None:
        self.arbitration.backup(error)
        self._yielded = self._yielded or self.arbitration.to_json()["state"] == "backup"

    def _out_of_service(self) -> None:
        if isinstance(self._control_plane, base.NetworkControlPlane) and not self._is_lost:
            self._is_lost = True
            self._put(base.SwitchLost(self.name))
        if self._in_service:
            self._in_service = False
            self._on_service(self.node, False)

    def _note_bytes(self, count: int) -> None:
        self.bytes += count


def _cookie(config: bytes) -> int:
    """Identifies a program; never 0, which a switch has that was started with a program."""
    return int.from_bytes(hashlib.sha256(config).digest()[:8]) | 1
