"""The stream channel: arbitration, packet-in and packet-out, digests, idle timeouts (section 16).

A `Session` is one open stream. `Streams` has all of them, delivers packets and digests to the
primaries, and handles the messages of controllers. It sends only through a session's outbox, which
the RPC handler empties.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from finsy.proto import p4r

from netkv.model.messages import is_report
from netkv.p4rt import batches, packets, read
from netkv.p4rt.arbitration import Arbitration, Controller, Notice, Role
from netkv.p4rt.digests import DigestBatcher
from netkv.p4rt.errors import Code, RpcError, code_number, invalid, unimplemented
from netkv.p4rt.mailbox import Mailbox
from netkv.p4rt.pipeline import Pipelines
from netkv.p4rt.target import PacketPort

if TYPE_CHECKING:
    from netkv._engine import DigestMessage

OUTBOX_LIMIT = 8192
"""Pending messages at which further packet-ins for a slow controller are dropped."""

REPORTS_LIMIT = 1024
"""Pending messages at which further reports of hot records (digest lists and packet-ins) and idle
notifications are dropped, so that a slow controller has room for other messages."""

_LIMITS = {
    "outbox_drops": OUTBOX_LIMIT,
    "outbox_report_drops": REPORTS_LIMIT,
    "outbox_idle_drops": REPORTS_LIMIT,
}
"""Counter of the drops of a kind of message → its limit."""


class Session:
    """One open stream: its controller in arbitration and the pending messages for it."""

    def __init__(self) -> None:
        self.controller = Controller()
        self.outbox: Mailbox[p4r.StreamMessageResponse | bytes] = Mailbox(OUTBOX_LIMIT)
        """Messages, and frames of the CPU port for batches."""
        self.takes_batches = False

    async def next_message(self) -> p4r.StreamMessageResponse | None:
        """The next message to send, which may be a batch; None at the end."""
        first = await self.outbox.get()
        if not isinstance(first, bytes):
            return first
        frames = [first]
        while len(frames) < batches.MAX_PACKETS and isinstance(frame := self.outbox.first, bytes):
            frames.append(frame)
            self.outbox.drop_first()
        return p4r.StreamMessageResponse(other=batches.pack(frames))


class Streams:
    """All streams of one device."""

    def __init__(
        self,
        arbitration: Arbitration,
        pipelines: Pipelines,
        port: PacketPort | None,
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives nanoseconds; without a `port` there are no packets."""
        self._arbitration = arbitration
        self._pipelines = pipelines
        self._port = port
        self._clock = clock
        self._sessions: dict[Controller, Session] = {}
        self._batchers: dict[int, DigestBatcher] = {}
        self.counts: Counter[str] = Counter()
        """"packet_ins", "packet_outs", "digest_lists" delivered; "packet_ins_dropped" and
        "digests_dropped": there is no receiver, or it is too slow. "outbox_drops",
        "outbox_report_drops" and "outbox_idle_drops": packet-ins, reports of hot records, and idle
        notifications, for which a receiver was too slow."""

    def open(self) -> Session:
        """Makes the session of a new stream."""
        session = Session()
        self._sessions[session.controller] = session
        return session

    def close(self, session: Session) -> None:
        """Removes the session of a stream that has ended."""
        if self._sessions.pop(session.controller, None) is not None:
            self._send_notices(self._arbitration.leave(session.controller))

    def close_all(self) -> None:
        """Ends all streams, because the server stops."""
        for session in self._sessions.values():
            session.outbox.close(RpcError(Code.UNAVAILABLE, "the switch is shutting down"))

    def on_request(self, session: Session, request: p4r.StreamMessageRequest) -> None:
        """Handles a message of a controller. Raises `RpcError` if the stream must end."""
        match request.WhichOneof("update"):
            case "arbitration":
                self._send_notices(
                    self._arbitration.update(session.controller, request.arbitration)
                )
            case "packet":
                try:
                    self._packet_out(session.controller, request.packet)
                except RpcError as error:
                    reply = _stream_error(error)
                    reply.error.packet_out.packet_out.CopyFrom(request.packet)
                    session.outbox.put(reply)
            case "digest_ack":
                try:
                    self._acknowledge(session.controller, request.digest_ack)
                except RpcError as error:
                    reply = _stream_error(error)
                    reply.error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
                    session.outbox.put(reply)
            case _:
                try:
                    self._other(session, request)
                except RpcError as error:
                    reply = _stream_error(error)
                    reply.error.other.other.CopyFrom(request.other)
                    session.outbox.put(reply)

    def on_packets(self, frames: Iterable[bytes]) -> None:
        """Delivers frames from the CPU port, which begin with the packet_in header."""
        pipeline = self._pipelines.committed
        receivers = list(self._arbitration.packet_receivers())
        as_frames = (
            pipeline is not None
            and not pipeline.form.differs
            and all(self._takes_frames(role, controller) for role, controller in receivers)
        )
        for frame in frames:
            delivered = False
            if pipeline is not None and as_frames:
                size = packets.header_bytes(pipeline.schema.packet_in)
                if len(frame) >= size:
                    drops = _drops(frame[size:])
                    for _, controller in receivers:
                        delivered |= self._offer(controller, frame, drops)
            elif pipeline is not None:
                message = packets.packet_in(pipeline.schema, frame)
                if message is not None:
                    message = pipeline.form.packet_in(message)
                    response = p4r.StreamMessageResponse(packet=message)
                    for role, controller in receivers:
                        if _accepts(role, message):
                            drops = _drops(message.payload)
                            delivered |= self._offer(controller, response, drops)
            self.counts["packet_ins" if delivered else "packet_ins_dropped"] += 1

    def _takes_frames(self, role: Role, controller: Controller) -> bool:
        """Whether a receiver takes batches, and all packets."""
        filtered = role.config is not None and role.config.HasField("packet_in_filter")
        return self._sessions[controller].takes_batches and not filtered

    def on_digests(self, digests: Iterable[DigestMessage]) -> None:
        """Handles digests of the data plane; those without a configuration are dropped."""
        now = self._clock()
        for digest_id, members in digests:
            batcher = self._batcher(digest_id)
            if batcher is None:
                self.counts["digests_dropped"] += 1
                continue
            self._deliver(batcher.add(now, members))
        self.poll()

    def poll_idle_entries(self) -> None:
        """Notify the controllers of the entries that have timed out, a message for each table."""
        pipeline = self._pipelines.committed
        if pipeline is None or not any(table.idle_timeout for table in pipeline.schema.tables):
            return
        idle: defaultdict[int, list[p4r.TableEntry]] = defaultdict(list)
        for entry in pipeline.switch.take_idle_entries():
            idle[entry["table_id"]].append(read.idle_message(pipeline, entry))
        for table, entries in idle.items():
            message = p4r.IdleTimeoutNotification(table_entry=entries, timestamp=time.time_ns())
            response = p4r.StreamMessageResponse(idle_timeout_notification=message)
            for controller in self._arbitration.owners(table):
                self._offer(controller, response, "outbox_idle_drops")

    def poll(self) -> None:
        """Send the digest lists whose timeout has passed."""
        now = self._clock()
        for digest_id in list(self._batchers):
            batcher = self._batcher(digest_id)
            if batcher is not None:
                self._deliver(batcher.poll(now))

    @property
    def deadline(self) -> int | None:
        """When to call `poll`; None if no digest is pending."""
        waiting = [each.deadline for each in self._batchers.values() if each.deadline is not None]
        return min(waiting, default=None)

    def reset_digests(self) -> None:
        """Drops pending digests of the old program after another one was loaded."""
        self._batchers.clear()

    def _batcher(self, digest_id: int) -> DigestBatcher | None:
        """The batcher of a digest, with its current configuration."""
        pipeline = self._pipelines.committed
        config = pipeline.digest_configs.get(digest_id) if pipeline else None
        if pipeline is None or config is None:
            self._batchers.pop(digest_id, None)
            return None
        batcher = self._batchers.get(digest_id)
        if batcher is None:
            batcher = DigestBatcher(pipeline.schema.digests.get(digest_id), config)
            self._batchers[digest_id] = batcher
        batcher.config = config
        return batcher

    def _deliver(self, lists: Iterable[p4r.DigestList]) -> None:
        for each in lists:
            each.timestamp = time.time_ns()
            response = p4r.StreamMessageResponse(digest=each)
            delivered = False
            for controller in self._arbitration.owners(each.digest_id):
                delivered |= self._offer(controller, response, "outbox_report_drops")
            if delivered:
                self.counts["digest_lists"] += 1
            else:
                self.counts["digests_dropped"] += len(each.data)

    def _offer(
        self, controller: Controller, response: p4r.StreamMessageResponse | bytes, drops: str
    ) -> bool:
        """Sends a message, or drops it and counts that in `drops`; returns whether it is sent."""
        taken = self._sessions[controller].outbox.offer(response, _LIMITS[drops])
        if not taken:
            self.counts[drops] += 1
        return taken

    def _packet_out(self, controller: Controller, message: p4r.PacketOut) -> None:
        _check_primary(controller, "send packets")
        pipeline = self._pipelines.require_committed()
        frame = packets.packet_out(pipeline.schema, pipeline.form.packet_out(message))
        if self._port is None:
            raise RpcError(Code.UNAVAILABLE, "this switch has no CPU port")
        self._port.packet_out(frame)
        self.counts["packet_outs"] += 1

    def _other(self, session: Session, request: p4r.StreamMessageRequest) -> None:
        """A batch of packet-outs, or the offer of batches."""
        text = "a stream message must be an arbitration, a packet or a digest_ack"
        if not request.HasField("other"):
            raise invalid(text)
        frames = batches.unpack(request.other)
        if frames is None:
            raise unimplemented(text)
        if not frames:
            session.takes_batches = True
            session.outbox.put(p4r.StreamMessageResponse(other=batches.pack(())))
            return
        _check_primary(session.controller, "send packets")
        pipeline = self._pipelines.require_committed()
        if pipeline.form.differs:
            raise unimplemented("the program and its P4Info differ in headers; send single packets")
        if self._port is None:
            raise RpcError(Code.UNAVAILABLE, "this switch has no CPU port")
        size = packets.header_bytes(pipeline.schema.packet_out)
        if min(map(len, frames)) < size:
            raise invalid(f"a frame of the batch is shorter than its header of {size} bytes")
        for frame in frames:
            self._port.packet_out(frame)
        self.counts["packet_outs"] += len(frames)

    def _acknowledge(self, controller: Controller, ack: p4r.DigestListAck) -> None:
        _check_primary(controller, "acknowledge digests")
        try:
            self._pipelines.require_committed().schema.digests.get(ack.digest_id)
        except RpcError as error:
            raise invalid(str(error)) from None
        batcher = self._batchers.get(ack.digest_id)
        if batcher is not None:
            batcher.acknowledge(ack.list_id)

    def _send_notices(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            session = self._sessions.get(notice.to)
            if session is not None:
                session.outbox.put(p4r.StreamMessageResponse(arbitration=notice.update))


def _drops(payload: bytes) -> str:
    """The counter of a packet that is dropped."""
    return "outbox_report_drops" if is_report(payload) else "outbox_drops"


def _check_primary(controller: Controller, what: str) -> None:
    if not controller.is_primary:
        raise RpcError(Code.PERMISSION_DENIED, f"only the primary controller may {what}")


def _accepts(role: Role, message: p4r.PacketIn) -> bool:
    """Whether the role's filter (a metadata field with a required value) accepts the packet."""
    if role.config is None or not role.config.HasField("packet_in_filter"):
        return True
    wanted = role.config.packet_in_filter
    return any(
        each.metadata_id == wanted.metadata_id
        and int.from_bytes(each.value, "big") == int.from_bytes(wanted.value, "big")
        for each in message.metadata
    )


def _stream_error(error: RpcError) -> p4r.StreamMessageResponse:
    return p4r.StreamMessageResponse(
        error=p4r.StreamError(
            canonical_code=code_number(error.code), message=error.message, space="netkv"
        )
    )
