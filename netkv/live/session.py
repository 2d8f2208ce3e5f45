"""A session with a switch: one connection, its messages as events, actions carried out.

Rules
-----
1. Frames are sent in order, and table writes are carried out in order. A write begins after the
   frames before it. A frame does not wait for the answer to writes before it: only the answer shows
   that the switch has them. Reads and resets wait for all writes before them.
2. One Write request is under way. Writes that come meanwhile go into the next one together, also if
   there are frames between them.
3. The queue of actions is limited (`backlog`).
4. A session accepts actions from the moment at which the control plane handles the event that
   opens it, until its end or a reset of the switch. Actions before that are about the state that
   the switch has lost.
5. Actions that are not carried out are dropped at the end of a session.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from finsy.proto import p4r

from netkv.control import base
from netkv.live.backlog import Actions
from netkv.live.channel import ControlChannel
from netkv.p4rt import entities, updates
from netkv.p4rt.batches import LENGTH_BYTES, MAX_PACKETS
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.packets import header_bytes, packet_in, packet_out

_DIGEST_DELAY_NS = 5_000_000
"""For how long the switch may gather digests into a list."""
_DIGEST_LIST = 64
_DIGEST_ACK_NS = 1_000_000_000
"""After this long without acknowledgement the switch may report the same key again."""


class SwitchSession:
    """One connection."""

    def __init__(
        self,
        switch: str,
        client: P4RuntimeClient,
        channel: ControlChannel,
        *,
        put: Callable[[base.Event], None],
        reset: Callable[[], Awaitable[None]],
        note_bytes: Callable[[int], None],
        dropped: Counter[str],
    ) -> None:
        """`switch`: its name in events. `put` queues an event for the control plane; `reset` loads
        the program again. `dropped`: counters of drops."""
        self._switch = switch
        self._client = client
        self._channel = channel
        self._names = client.names
        self._encoder = client.encoder
        self._put = put
        self._reset = reset
        self._note_bytes = note_bytes
        self._dropped = dropped
        self._actions = Actions(dropped)
        self._headers: dict[int, bytes] = {}
        """By egress port."""
        self._ingress_ports: dict[bytes, int] = {}
        """By packet_in header, of which there are not more than ports."""
        self._held: list[base.TableWrite] = []
        """Writes for the next Write request."""
        self._write_waits = asyncio.Event()
        """Set while there are some."""
        self._writes_done = asyncio.Event()
        """Set while no write is held or under way."""
        self._writes_done.set()
        self._opened_by: base.Event | None = None
        self._open = False

    def opens_with(self, event: base.Event) -> None:
        """This event, which is queued for the control plane, opens the session."""
        self._open = False
        self._opened_by = event

    def handling(self, event: base.Event) -> None:
        """The control plane is about to handle an event."""
        if event is self._opened_by:
            self._open = True

    def add(self, action: base.SwitchAction) -> None:
        """Queues an action of the control plane, or drops it."""
        if not self._open:
            return
        if isinstance(action, base.SendFrame):
            if self._channel.loses():
                return
        elif isinstance(action, base.ResetSwitch):
            self._open = False
            self._actions.clear()
            self._actions.answered(len(self._held))
            self._held.clear()
        refused = self._actions.add(self._channel.cuts, action)
        if refused is not None:
            self._put(refused)

    def has_digest(self, name: str) -> bool:
        """Whether the program of the switch has a digest of this name."""
        return any(digest.name == name for digest in self._names.schema.digests)

    async def enable_digests(self, names: Sequence[str]) -> None:
        """Enables digests in the switch."""
        wanted = [
            entities.insert(
                self._names.digest(
                    digest,
                    max_timeout_ns=_DIGEST_DELAY_NS,
                    max_list_size=_DIGEST_LIST,
                    ack_timeout_ns=_DIGEST_ACK_NS,
                )
            )
            for digest in names
        ]
        if wanted:
            await self._client.write(wanted)

    async def run(self) -> None:
        """Runs until the stream breaks; raises `ControllerError`."""
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._carry_out()),
            asyncio.create_task(self._carry_out_writes()),
            asyncio.create_task(self._receive_packets()),
            asyncio.create_task(self._receive_digests()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open = False
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for error in results if isinstance(error, Exception)]
        # A fault of netkv causes a broken stream, so it is raised in preference to that.
        faults = [error for error in errors if not isinstance(error, ControllerError)]
        if errors:
            raise (faults or errors)[0]
        assert done

    async def _carry_out(self) -> None:
        while True:
            if not self._actions:
                self._actions.added.clear()
                await self._actions.added.wait()
            if writes := self._actions.pop_writes():
                self._held += writes
                self._writes_done.clear()
                self._write_waits.set()
                # The request begins before the frames behind it are sent, if none is under way.
                await asyncio.sleep(0)
                continue
            if frames := self._actions.pop_frames(MAX_PACKETS):
                # The channel may have been cut while a frame waited.
                await self._send([it for cuts, it in frames if not self._channel.loses(cuts)])
                continue
            _, action = self._actions.pop()
            match action:
                case base.ReadTable():
                    await self._writes_done.wait()
                    await self._read(action)
                case base.ResetSwitch():
                    await self._writes_done.wait()
                    await self._channel.connected()
                    await self._reset()
                    restarted = base.SwitchRestarted(self._switch)
                    self.opens_with(restarted)
                    self._put(restarted)

    async def _send(self, frames: Sequence[base.SendFrame]) -> None:
        """Sends frames as packet-outs, in one message if the switch takes batches."""
        if self._client.takes_batches and len(frames) > 1:
            batch = [self._header(it.egress_port) + it.frame for it in frames]
            self._note_bytes(sum(len(frame) + LENGTH_BYTES for frame in batch))
            await self._client.send_batch(batch)
            return
        for it in frames:
            packet = self._packet_out(it.egress_port, it.frame)
            self._note_bytes(packet.ByteSize())
            await self._client.packet_out(packet)

    def _packet_out(self, egress_port: int, frame: bytes) -> p4r.PacketOut:
        return self._names.packet_out(frame, {"egress_port": egress_port, "pad": 0})

    def _header(self, egress_port: int) -> bytes:
        """The packet_out header of an egress port on the CPU port."""
        header = self._headers.get(egress_port)
        if header is None:
            empty = self._packet_out(egress_port, b"")
            header = self._headers[egress_port] = packet_out(self._names.schema, empty)
        return header

    async def _carry_out_writes(self) -> None:
        while True:
            await self._write_waits.wait()
            while self._held:
                writes, self._held = self._held, []
                await self._write(writes)
            self._write_waits.clear()
            self._writes_done.set()

    async def _write(self, writes: Sequence[base.TableWrite]) -> None:
        """Carries out table writes and answers each."""
        messages = [self._encoder.encode(write) for write in writes]
        await self._channel.connected()
        self._note_bytes(sum(map(len, messages)))
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
            self._put(base.TableWritten(write.write, index not in failed, error, self._switch))

    async def _read(self, request: base.ReadTable) -> None:
        """Reads a table and answers."""
        await self._channel.connected()
        try:
            wanted = updates.reads(self._names, request.table)
            found = [entity async for entity in self._client.read(*wanted)]
            answer = updates.table_read(self._names, request, found)
        except ControllerError as refused:
            if refused.disconnected or refused.not_primary:
                raise
            error = base.TableRead(request.read, error=str(refused), switch=self._switch)
            found, answer = [], error
        await self._channel.connected()
        self._note_bytes(sum(entity.ByteSize() for entity in found))
        self._put(answer)

    async def _receive_packets(self) -> None:
        async for packets in self._client.packet_lists():
            for packet in packets:
                if not self._channel.loses():
                    self._put(self._packet_in(packet))

    def _packet_in(self, packet: p4r.PacketIn | bytes) -> base.PacketIn:
        """The event of a packet-in, or of a frame of the CPU port."""
        if isinstance(packet, p4r.PacketIn):
            self._note_bytes(packet.ByteSize())
            return base.PacketIn(self._ingress_port(packet), packet.payload, self._switch)
        self._note_bytes(len(packet) + LENGTH_BYTES)
        schema = self._names.schema
        size = header_bytes(schema.packet_in)
        port = self._ingress_ports.get(packet[:size])
        if port is None:
            message = packet_in(schema, packet)
            assert message is not None, "the client drops frames without a whole header"
            port = self._ingress_ports[packet[:size]] = self._ingress_port(message)
        return base.PacketIn(port, packet[size:], self._switch)

    def _ingress_port(self, packet: p4r.PacketIn) -> int:
        return self._names.packet_metadata(packet).get("ingress_port", 0)

    async def _receive_digests(self) -> None:
        async for message in self._client.digests():
            if self._channel.loses():
                continue
            self._note_bytes(message.ByteSize())
            await self._client.acknowledge(message)
            name = self._names.schema.digests.get(message.digest_id).name
            for members in self._names.digest_members(message):
                self._put(base.Digest(name, members, self._switch))
