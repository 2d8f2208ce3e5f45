"""The P4Runtime client of netkv's own control plane: one switch, one stream.

It connects to the engine's server or to any other target. Every failure raises `ControllerError`;
after one with `disconnected` or `not_primary`, make a new client and connect again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

import grpc
from finsy.proto import U128, p4i, p4r, p4r_grpc
from google.protobuf import any_pb2
from grpc import aio

from netkv.p4rt import batches, p4info, packets
from netkv.p4rt.entities import Names
from netkv.p4rt.errors import DETAILS_KEY, Code, RpcError, code_of, read_status
from netkv.p4rt.mailbox import Mailbox
from netkv.p4rt.updates import Encoder

if TYPE_CHECKING:
    from finsy.proto.p4.v1.p4runtime_pb2_grpc import P4RuntimeAsyncStub

BATCH = 200
"""Updates per Write: an error of 250 bytes for each of them fits into the metadata of a reply."""

QUEUE_LIMIT = 65_536
"""Maximum of pending packet-ins, and of digest lists; further ones are dropped and counted."""

MAX_HEADERS = 1024
"""Headers of packet-ins whose metadata is kept."""

MAX_ELECTION_ID = 2**128 - 1
MESSAGE_LIMIT = 256 << 20
METADATA_LIMIT = 1 << 20

_LOG = logging.getLogger(__name__)

Message = TypeVar("Message")
Response = TypeVar("Response")


class ControllerError(RpcError):
    """A call to the switch failed."""

    def __init__(
        self, code: grpc.StatusCode, message: str, failed: dict[int, RpcError] | None = None
    ) -> None:
        super().__init__(code, message)
        self.failed = failed or {}
        """The failed updates of a Write, or requests of a Read, by index."""

    @property
    def disconnected(self) -> bool:
        """Whether the connection is lost, so that only a new one can help."""
        return self.code in (Code.UNAVAILABLE, Code.CANCELLED, Code.ABORTED)

    @property
    def not_primary(self) -> bool:
        """Whether the switch refused the request because this controller is not primary."""
        return self.code is Code.PERMISSION_DENIED and not self.failed


class NotPrimaryError(ControllerError):
    """Another controller is primary (ALREADY_EXISTS), or none is (NOT_FOUND)."""

    def __init__(self, code: grpc.StatusCode, message: str, highest: int) -> None:
        super().__init__(code, message)
        self.highest = highest
        """The highest election id that the switch has seen."""

    @property
    def not_primary(self) -> bool:
        return True


_BROKEN_WRITE = "Internal error from Core"
"""Text of gRPC for a stream that broke during a write, before the cause is known."""
_ID_IN_USE = "Election id already exists"
"""Text of bmv2's server for the election id of another stream, which may be just ending."""


class P4RuntimeClient:
    """A controller that is primary for one role of one switch."""

    def __init__(
        self,
        address: str,
        *,
        device_id: int = 1,
        election_id: int = 1,
        role: str = "",
        offers_batches: bool = False,
    ) -> None:
        """`address` is host:port. A client with election id 0 sends none: it is a backup only.
        `offers_batches`: whether to ask the switch for batches of packets (`batches`)."""
        self.address = address
        self.device_id = device_id
        self.election_id = election_id
        self.role = role
        self.dropped = 0
        """Packet-ins and digest lists dropped because they were not taken in time."""
        self._names: Names | None = None
        self._encoder: Encoder | None = None
        self.refused = 0
        """Packet-outs and acknowledgements that the switch refused (each is logged)."""
        self._packets: Mailbox[p4r.PacketIn | bytes] = Mailbox(QUEUE_LIMIT)
        """Messages, and frames of the CPU port from batches."""
        self._digests: Mailbox[p4r.DigestList] = Mailbox(QUEUE_LIMIT)
        self._channel: aio.Channel | None = None
        self._stream: (
            aio.StreamStreamCall[p4r.StreamMessageRequest, p4r.StreamMessageResponse] | None
        ) = None
        self._sending = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._offers_batches = offers_batches
        self._headers: dict[bytes, list[p4r.PacketMetadata]] = {}
        """Metadata of the headers of packet-ins: most of them have one of a few ingress ports."""
        self.takes_batches = False
        """Whether the switch takes batches."""
        self._primary = False
        self._verdicts: Mailbox[NotPrimaryError | None] = Mailbox(QUEUE_LIMIT)
        """The switch's answers to claims: a refusal, or None if this client is primary."""
        self._failure: ControllerError | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def names(self) -> Names:
        """Builds entities by the names of the switch's program.

        Known after `set_pipeline` or `get_pipeline`.
        """
        if self._names is None:
            raise ControllerError(
                Code.FAILED_PRECONDITION,
                "the program of the switch is not known yet; call set_pipeline or get_pipeline",
            )
        return self._names

    @property
    def encoder(self) -> Encoder:
        """Serializes table writes by the names of the switch's program; known when `names` are."""
        if self._encoder is None:
            self._encoder = Encoder(self.names)
        return self._encoder

    async def connect(
        self, timeout_s: float = 10.0, on_backup: Callable[[NotPrimaryError], None] | None = None
    ) -> None:
        """Open the stream and become primary.

        Raises `ControllerError`: UNAVAILABLE if no server listens within `timeout_s`,
        ALREADY_EXISTS if a controller with a higher election id is primary. With `on_backup`,
        `connect` calls it with this error instead, waits without limit until there is no primary,
        and claims an election id above all that were used (`election_id`).
        """
        self._channel = self._new_channel()
        try:
            async with asyncio.timeout(timeout_s):
                await self._channel.channel_ready()
                self._stream = self._stub.StreamChannel()
                self._reader = asyncio.create_task(self._read_stream(self._stream))
                await self._claim()
                refusal = await self._verdicts.get()
            while refusal is not None:
                if on_backup is None:
                    raise refusal
                on_backup(refusal)
                if refusal.code is Code.NOT_FOUND:
                    self.election_id = min(refusal.highest + 1, MAX_ELECTION_ID)
                    await self._claim()
                refusal = await self._verdicts.get()
            if self._offers_batches:
                await self._send(p4r.StreamMessageRequest(other=batches.pack(())))
        except TimeoutError:
            await self.close()
            raise ControllerError(
                Code.UNAVAILABLE,
                f"no P4Runtime server answers at {self.address} within {timeout_s:g} s",
            ) from None
        except BaseException:
            await self.close()
            raise

    async def connect_to_read(self, timeout_s: float = 10.0) -> None:
        """Connect without a stream: only `get_pipeline` and `read` are possible, and other clients
        do not notice. Raises `ControllerError`: UNAVAILABLE if no server listens within
        `timeout_s`."""
        self._channel = self._new_channel()
        try:
            async with asyncio.timeout(timeout_s):
                await self._channel.channel_ready()
        except TimeoutError:
            await self.close()
            raise ControllerError(
                Code.UNAVAILABLE,
                f"no P4Runtime server answers at {self.address} within {timeout_s:g} s",
            ) from None

    def _new_channel(self) -> aio.Channel:
        return aio.insecure_channel(
            self.address,
            options=[
                ("grpc.max_receive_message_length", MESSAGE_LIMIT),
                ("grpc.max_send_message_length", MESSAGE_LIMIT),
                ("grpc.max_metadata_size", METADATA_LIMIT),
                ("grpc.max_reconnect_backoff_ms", 1000),
                ("grpc.enable_http_proxy", 0),
            ],
        )

    async def close(self) -> None:
        """End the stream; packet and digest iterators end."""
        reader, self._reader = self._reader, None
        if self._stream is not None:
            self._stream.cancel()
        if reader is not None:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
        self._end(None)

    async def set_pipeline(
        self, device_config: bytes, info: p4i.P4Info | None = None, *, cookie: int = 0
    ) -> None:
        """Load a program: a bundle or P4 source for the engine, or the format of another target.

        `info` is needed for targets that cannot derive it; for a bundle it is made here.
        """
        if info is None and p4info.is_bundle(device_config):
            info = p4info.interface(device_config)
        config = p4r.ForwardingPipelineConfig(
            p4_device_config=device_config,
            p4info=info,
            cookie=p4r.ForwardingPipelineConfig.Cookie(cookie=cookie),
        )
        await self._call(
            self._stub.SetForwardingPipelineConfig(
                p4r.SetForwardingPipelineConfigRequest(
                    device_id=self.device_id,
                    role=self.role,
                    election_id=U128.encode(self.election_id),
                    action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
                    config=config,
                )
            )
        )
        if info is None:
            await self.get_pipeline()
        else:
            self._learn(info)

    async def get_pipeline(self) -> p4r.ForwardingPipelineConfig:
        """P4Info and cookie of the loaded program; FAILED_PRECONDITION if there is none yet."""
        response = await self._call(
            self._stub.GetForwardingPipelineConfig(
                p4r.GetForwardingPipelineConfigRequest(
                    device_id=self.device_id,
                    response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
                )
            )
        )
        if not response.HasField("config"):
            raise ControllerError(
                Code.FAILED_PRECONDITION,
                f"{self.address} has no forwarding pipeline config yet; call set_pipeline",
            )
        self._learn(response.config.p4info)
        return response.config

    def _learn(self, info: p4i.P4Info) -> None:
        self._names, self._encoder = Names(info), None
        self._headers.clear()

    async def clear_replication(self) -> None:
        """Delete the multicast groups and clone sessions of the loaded program, if there is one.

        bmv2 keeps them when a program is loaded, but its server no longer lists them: new groups
        would contain the old replicas as well.
        """
        engine = p4r.PacketReplicationEngineEntry
        groups = engine(multicast_group_entry=p4r.MulticastGroupEntry())
        sessions = engine(clone_session_entry=p4r.CloneSessionEntry())
        found: list[p4r.Entity] = []
        try:
            for entry in (groups, sessions):
                wanted = p4r.Entity(packet_replication_engine_entry=entry)
                found += [each async for each in self.read(wanted)]
        except ControllerError as error:
            if error.code is Code.FAILED_PRECONDITION:
                return
            raise
        if found:
            await self.write([p4r.Update(type=p4r.Update.DELETE, entity=each) for each in found])

    async def write(self, updates: Sequence[p4r.Update | bytes]) -> None:
        """Apply updates in order, in batches; a failed update does not stop the others. An update
        may be a serialized WriteRequest that has only this update (`encoder`).

        Raises `ControllerError` after the last batch, with every failed update in `failed`.
        """
        header = p4r.WriteRequest(
            device_id=self.device_id,
            role=self.role,
            election_id=U128.encode(self.election_id),
        ).SerializeToString()
        parts = [
            each
            if isinstance(each, bytes)
            else p4r.WriteRequest(updates=[each]).SerializeToString()
            for each in updates
        ]
        failed: dict[int, RpcError] = {}
        first: ControllerError | None = None
        for start in range(0, len(updates), BATCH):
            request = header + b"".join(parts[start : start + BATCH])
            try:
                await self._call(self._write(request))
            except ControllerError as error:
                if not error.failed:
                    raise
                first = first or error
                failed.update((start + at, each) for at, each in error.failed.items())
        if first is not None:
            index, cause = next(iter(failed.items()))
            raise ControllerError(
                cause.code,
                f"{len(failed)} of {len(updates)} updates failed; update {index}: {cause}",
                failed,
            )

    async def read(self, *entities: p4r.Entity) -> AsyncGenerator[p4r.Entity]:
        """All entities that match the requested ones.

        Raises `ControllerError` after the entities of the other requests if one fails, with the
        code of the first that failed.
        """
        request = p4r.ReadRequest(device_id=self.device_id, role=self.role, entities=entities)
        try:
            async for response in self._stub.Read(request):
                for entity in response.entities:
                    yield entity
        except aio.AioRpcError as error:
            failure = _controller_error(error)
            for cause in failure.failed.values():
                failure.code = cause.code
                break
            raise failure from None

    async def packet_out(self, packet: p4r.PacketOut) -> None:
        """Send a packet (see `Names.packet_out`)."""
        await self._send(p4r.StreamMessageRequest(packet=packet))

    async def send_batch(self, frames: Sequence[bytes]) -> None:
        """Send frames of the CPU port, which begin with the packet_out header, in one message.

        Only if the switch takes batches.
        """
        await self._send(p4r.StreamMessageRequest(other=batches.pack(frames)))

    async def acknowledge(self, digests: p4r.DigestList) -> None:
        """Acknowledge a list, so that the switch may send its digests again."""
        ack = p4r.DigestListAck(digest_id=digests.digest_id, list_id=digests.list_id)
        await self._send(p4r.StreamMessageRequest(digest_ack=ack))

    async def packets(self) -> AsyncIterator[p4r.PacketIn]:
        """Packet-ins as they arrive; ends with `close`, raises if the stream breaks."""
        while (packet := await self._packets.get()) is not None:
            yield self._packet_in(packet) if isinstance(packet, bytes) else packet

    async def packet_lists(self) -> AsyncIterator[Sequence[p4r.PacketIn | bytes]]:
        """As `packets`, but all that wait together, and those of batches as frames of the CPU port,
        which begin with the packet_in header."""
        while packets := await self._packets.get_all():
            yield packets

    async def digests(self) -> AsyncIterator[p4r.DigestList]:
        """Digest lists as they arrive; ends with `close`, raises if the stream breaks."""
        while (digests := await self._digests.get()) is not None:
            yield digests

    @property
    def _stub(self) -> P4RuntimeAsyncStub:
        if self._channel is None:
            raise ControllerError(Code.UNAVAILABLE, f"not connected to {self.address}")
        return p4r_grpc.P4RuntimeStub(self._channel)

    @property
    def _write(self) -> aio.UnaryUnaryMultiCallable[bytes, p4r.WriteResponse]:
        """As `_stub.Write`, for a serialized request."""
        if self._channel is None:
            raise ControllerError(Code.UNAVAILABLE, f"not connected to {self.address}")
        return self._channel.unary_unary(
            "/p4.v1.P4Runtime/Write", response_deserializer=p4r.WriteResponse.FromString
        )

    async def _claim(self) -> None:
        update = p4r.MasterArbitrationUpdate(device_id=self.device_id)
        if self.election_id:
            update.election_id.CopyFrom(U128.encode(self.election_id))
        if self.role:
            update.role.name = self.role
        await self._send(p4r.StreamMessageRequest(arbitration=update))

    async def _send(self, request: p4r.StreamMessageRequest) -> None:
        if self._failure is not None:
            raise self._failure
        if self._stream is None:
            raise ControllerError(Code.UNAVAILABLE, f"not connected to {self.address}")
        try:
            # gRPC refuses a write while another one on the stream is in progress.
            async with self._sending:
                await self._stream.write(request)
        except aio.AioRpcError as error:
            raise self._stream_error(error) from None
        except asyncio.InvalidStateError:
            raise self._failure or ControllerError(
                Code.UNAVAILABLE, f"the stream to {self.address} has ended"
            ) from None

    @staticmethod
    async def _call(call: Awaitable[Response]) -> Response:
        try:
            return await call
        except aio.AioRpcError as error:
            raise _controller_error(error) from None

    async def _read_stream(
        self, stream: aio.StreamStreamCall[p4r.StreamMessageRequest, p4r.StreamMessageResponse]
    ) -> None:
        try:
            async for message in stream:
                self._on_message(message)
            failure = ControllerError(Code.UNAVAILABLE, f"{self.address} has ended the stream")
        except aio.AioRpcError as error:
            failure = self._stream_error(error)
        self._end(failure)

    def _stream_error(self, error: aio.AioRpcError) -> ControllerError:
        """The error that ended the stream.

        gRPC reports INTERNAL for a write to a connection that is just breaking. That is a lost
        connection, not an answer of the switch.
        """
        if error.code() is Code.INTERNAL and error.details() == _BROKEN_WRITE:
            return ControllerError(Code.UNAVAILABLE, f"the stream to {self.address} broke")
        if error.code() is Code.INVALID_ARGUMENT and error.details() == _ID_IN_USE:
            return ControllerError(
                Code.UNAVAILABLE,
                f"{self.address} has another client with the election id {self.election_id}",
            )
        return _controller_error(error)

    def _on_message(self, message: p4r.StreamMessageResponse) -> None:
        match message.WhichOneof("update"):
            case "arbitration":
                self._on_arbitration(message.arbitration)
            case "packet":
                self._queue(self._packets, message.packet)
            case "digest":
                self._queue(self._digests, message.digest)
            case "other":
                self._on_batch(message.other)
            case "error" if batches.unpack(message.error.other.other) == []:
                _LOG.info("%s does not take batches of packets", self.address)
            case "error":
                self.refused += 1
                _LOG.warning("%s refused a message: %s", self.address, message.error.message)

    def _on_batch(self, batch: any_pb2.Any) -> None:
        frames = batches.unpack(batch)
        self.takes_batches |= frames == []
        size = None if self._names is None else packets.header_bytes(self._names.schema.packet_in)
        for frame in frames or ():
            # Before the program is known, nobody waits for its packets.
            if size is None or len(frame) < size or not self._packets.offer(frame):
                self.dropped += 1

    def _packet_in(self, frame: bytes) -> p4r.PacketIn:
        """The packet-in of a frame of the CPU port."""
        header = self.names.schema.packet_in
        size = packets.header_bytes(header)
        if header is None:
            return p4r.PacketIn(payload=frame)
        metadata = self._headers.get(frame[:size])
        if metadata is None:
            metadata = packets.metadata_of(header, frame[:size])
            if len(self._headers) < MAX_HEADERS:
                self._headers[frame[:size]] = metadata
        return p4r.PacketIn(payload=frame[size:], metadata=metadata)

    def _queue(self, mailbox: Mailbox[Message], message: Message) -> None:
        if not mailbox.offer(message):
            self.dropped += 1

    def _on_arbitration(self, update: p4r.MasterArbitrationUpdate) -> None:
        if update.status.code == 0:
            self._primary = True
            self._verdicts.put(None)
            return
        highest = U128.decode(update.election_id)
        error = NotPrimaryError(
            code_of(update.status.code),
            f"this controller (election id {self.election_id}) is not primary at {self.address}: "
            f"the highest election id there is {highest}",
            highest,
        )
        if self._primary:
            self._end(error)
        else:
            self._verdicts.put(error)

    def _end(self, failure: ControllerError | None) -> None:
        """Closes the queues; waiting tasks get the error."""
        self._failure = self._failure or failure
        self._verdicts.close(
            failure or ControllerError(Code.CANCELLED, f"the client of {self.address} was closed")
        )
        self._packets.close(failure)
        self._digests.close(failure)


def _controller_error(error: aio.AioRpcError) -> ControllerError:
    failed: dict[int, RpcError] = {}
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            failed = read_status(value)
    return ControllerError(error.code(), error.details() or error.code().name, failed)
