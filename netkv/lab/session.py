"""A session of a control plane with a switch: one connection, events in, actions out.

Rules
-----
1. Actions are carried out in order. Consecutive table writes go into one Write request.
2. Queues are limited, and answers have priority over reports of hot records (`backlog`).
3. Unanswered writes and unhandled packets are dropped at the end of a session. Saves and their
   answers belong to the controller (`saves_left`, `answers_left`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from netkv.control import base
from netkv.lab.backlog import Actions, Events
from netkv.lab.channel import ControlChannel
from netkv.p4rt import entities, updates
from netkv.p4rt.client import ControllerError, P4RuntimeClient

_DIGEST_DELAY_NS = 5_000_000
"""For how long the switch may gather digests into a list."""
_DIGEST_LIST = 64
_DIGEST_ACK_NS = 1_000_000_000
"""After this long without acknowledgement the switch may report the same key again."""


class ControlSession:
    """One connection: messages of the switch become events, actions are carried out."""

    def __init__(
        self,
        client: P4RuntimeClient,
        channel: ControlChannel,
        control_plane: base.ControlPlane,
        note_bytes: Callable[[int], None],
        carry_out: Callable[[base.HostAction], None],
        on_handled: Callable[[], None],
        dropped: Counter[str],
    ) -> None:
        """`carry_out` carries out actions without the switch. `on_handled` is called after each
        event that the control plane has handled. `dropped`: counters of drops."""
        self._client = client
        self._channel = channel
        self._names = client.names
        self._control_plane = control_plane
        self._note_bytes = note_bytes
        self._carry_out_on_host = carry_out
        self._on_handled = on_handled
        self._events = Events(dropped)
        self._actions = Actions(dropped)

    async def enable_digests(self) -> None:
        """Enables the digests of the control plane in the switch."""
        wanted = [
            entities.insert(
                self._names.digest(
                    digest,
                    max_timeout_ns=_DIGEST_DELAY_NS,
                    max_list_size=_DIGEST_LIST,
                    ack_timeout_ns=_DIGEST_ACK_NS,
                )
            )
            for digest in self._control_plane.digests
        ]
        if wanted:
            await self._client.write(wanted)

    def put(self, event: base.Event) -> None:
        """Queues an event for the control plane."""
        self._events.put(event)

    def saves_left(self) -> list[base.Save]:
        """Saves that were not carried out before the end of the session."""
        return self._actions.saves()

    def answers_left(self) -> list[base.Saved]:
        """Answers to saves that were not handled before the end of the session."""
        return self._events.answers_to_saves()

    async def run(self, first: Sequence[base.Event]) -> None:
        """Runs until the stream breaks; raises `ControllerError`."""
        tasks = [
            asyncio.create_task(self._decide(first)),
            asyncio.create_task(self._carry_out()),
            asyncio.create_task(self._receive_packets()),
            asyncio.create_task(self._receive_digests()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for error in results if isinstance(error, Exception)]
        # A fault of netkv causes a broken stream, so it is raised in preference to that.
        faults = [error for error in errors if not isinstance(error, ControllerError)]
        if errors:
            raise (faults or errors)[0]
        assert done

    async def _decide(self, first: Sequence[base.Event]) -> None:
        """Passes events and timers to the control plane; no other code calls `handle`."""
        timed = False
        # The first events precede a timer that became due while the switch was down.
        beginning = deque(first)
        while True:
            event = beginning.popleft() if beginning else await self._next_event(timed)
            timed = isinstance(event, base.Timer)
            for action in self._control_plane.handle(time.monotonic_ns(), event):
                if isinstance(action, base.SendFrame) and self._channel.loses():
                    continue
                refused = self._actions.add(self._channel.cuts, action)
                if refused is not None:
                    self.put(refused)
            self._on_handled()
            # Many events, or a timer that is always due, must not starve the other tasks.
            await asyncio.sleep(0)

    async def _next_event(self, timed: bool) -> base.Event:
        """A timer, if it is due and was not the last event (`timed`); else the next event."""
        deadline = self._control_plane.deadline()
        rest = None if deadline is None else (deadline - time.monotonic_ns()) / 1e9
        if rest is not None and rest <= 0:
            if not timed:
                return base.Timer()
            rest = 0.001
        try:
            async with asyncio.timeout(rest):
                return await self._events.get()
        except TimeoutError:
            return base.Timer()

    async def _carry_out(self) -> None:
        while True:
            if not self._actions:
                self._actions.added.clear()
                await self._actions.added.wait()
            if writes := self._actions.pop_writes():
                await self._write(writes)
                continue
            cuts, action = self._actions.pop()
            match action:
                case base.SendFrame(frame, egress_port):
                    # The channel may have been cut while the frame waited behind a write.
                    if self._channel.loses(since=cuts):
                        continue
                    packet = self._names.packet_out(frame, {"egress_port": egress_port, "pad": 0})
                    self._note_bytes(packet.ByteSize())
                    await self._client.packet_out(packet)
                case base.Save() | base.Recovering() | base.Recovered() | base.Note():
                    self._carry_out_on_host(action)

    async def _write(self, writes: Sequence[base.TableWrite]) -> None:
        """Carries out consecutive table writes and answers each."""
        messages = [updates.update(self._names, write) for write in writes]
        await self._channel.connected()
        self._note_bytes(sum(message.ByteSize() for message in messages))
        failed: dict[int, str] = {}
        try:
            await self._client.write(messages)
        except ControllerError as refused:
            if refused.disconnected or refused.not_primary:
                raise
            failed = {index: str(each) for index, each in refused.failed.items()}
            if not failed:
                # The switch has refused the whole Write request.
                failed = dict.fromkeys(range(len(writes)), str(refused))
        await self._channel.connected()
        self._actions.answered(len(writes))
        for index, write in enumerate(writes):
            error = failed.get(index, "")
            written = base.TableWritten(write.write, index not in failed, error)
            self.put(written)

    async def _receive_packets(self) -> None:
        async for packet in self._client.packets():
            if self._channel.loses():
                continue
            self._note_bytes(packet.ByteSize())
            port = self._names.packet_metadata(packet).get("ingress_port", 0)
            self.put(base.PacketIn(port, packet.payload))

    async def _receive_digests(self) -> None:
        async for message in self._client.digests():
            if self._channel.loses():
                continue
            self._note_bytes(message.ByteSize())
            await self._client.acknowledge(message)
            name = self._names.schema.digests.get(message.digest_id).name
            for members in self._names.digest_members(message):
                self.put(base.Digest(name, members))
