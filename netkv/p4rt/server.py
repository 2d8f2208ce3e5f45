"""The P4Runtime server in front of one switch: the gRPC service, its start and stop.

It runs in the asyncio loop of the switch process. Calls into the engine are short and made
directly; a thread waits for frames and digests.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Never

import grpc
from finsy.proto import p4r, p4r_grpc
from grpc import aio

from netkv import _engine
from netkv.p4rt import API_VERSION, read, reconcile, write
from netkv.p4rt.arbitration import Arbitration, Role
from netkv.p4rt.errors import DETAILS_KEY, Code, RpcError, batch_status, invalid
from netkv.p4rt.pipeline import Pipeline, Pipelines
from netkv.p4rt.stream import Session, Streams
from netkv.p4rt.target import PacketPort

_LOG = logging.getLogger(__name__)

MESSAGE_LIMIT = 256 << 20
"""Bytes of one request: a bundle of a large program, or a batch of 100,000 updates."""

MAX_RPCS = 256
"""Concurrent calls, streams included; a further one gets RESOURCE_EXHAUSTED."""

UPDATES_PER_TURN = 500
"""Updates of a batch that are applied before other tasks run (some milliseconds)."""

WAIT_S = 0.1
"""Maximum wait of the thread for packets; bounds the delay of `stop` and digest timers."""

IDLE_SCAN_S = 0.02
"""Time between two searches for entries that have timed out."""

# The context of a handler; grpc.aio does not know the types of request and response here.
Context = aio.ServicerContext[object, object]


class P4RuntimeServer:
    """Serves one switch on a TCP port of this machine."""

    def __init__(
        self,
        switch: _engine.Switch,
        port: PacketPort | None = None,
        *,
        device_id: int = 1,
        bundle: bytes | None = None,
        include_dirs: Sequence[str] = (),
    ) -> None:
        """`port` is the running `SwitchNode`, for packets and digests.

        `bundle`: the program that `switch` runs already; without it the server starts with no
        forwarding pipeline config, as P4Runtime specifies. `include_dirs` are searched when a
        controller sends P4 source.
        """
        self.arbitration = Arbitration(device_id)

        self.pipelines = Pipelines(switch, reconcile.preserve, include_dirs)
        self.streams = Streams(self.arbitration, self.pipelines, port, time.monotonic_ns)
        if bundle is not None:
            self.pipelines.adopt(bundle)
        self._port = port
        self._server: aio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._thread: ThreadPoolExecutor | None = None
        self.address = ""
        """host:port once started."""

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Listen on an address; port 0 takes a free one. Returns the address as host:port.

        Raises OSError if the port is in use.
        """
        server = aio.server(
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", MESSAGE_LIMIT),
                ("grpc.max_send_message_length", MESSAGE_LIMIT),
            ],
            maximum_concurrent_rpcs=MAX_RPCS,
        )
        _register(_Service(self), server)
        wanted = f"{host}:{port}"
        try:
            bound = server.add_insecure_port(wanted)
        except RuntimeError:
            bound = 0
        if not bound:
            raise OSError(
                f"P4Runtime cannot listen on {wanted}: the port is in use, or it is no "
                "address of this machine; stop its owner or choose another port"
            )
        await server.start()
        self._server = server
        self.address = f"{host}:{bound}"
        if self._port is not None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="p4rt-packets")
            self._tasks.append(asyncio.create_task(self._pump_packets(self._port, self._thread)))
        self._tasks.append(asyncio.create_task(self._watch_idle_entries()))
        return self.address

    async def stop(self, grace_s: float = 0.2) -> None:
        """End all streams and stop listening."""
        self.streams.close_all()
        if self._server is not None:
            await self._server.stop(grace_s)
            self._server = None
        while self._tasks:
            task = self._tasks.pop()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def statistics(self) -> Mapping[str, int]:
        """Packets and digests delivered to controllers or dropped (see `Streams.counts`)."""
        return dict(self.streams.counts)

    async def _pump_packets(self, port: PacketPort, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            now = time.monotonic_ns()
            deadline = self.streams.deadline
            timeout = WAIT_S
            if deadline is not None:
                timeout = min(WAIT_S, max(0.0, (deadline - now) / 1e9))
            try:
                frames, digests = await loop.run_in_executor(thread, port.wait, timeout)
                self.streams.on_packets(frames)
                self.streams.on_digests(digests)
            except Exception:
                # One bad packet must not end the delivery of all further ones.
                _LOG.exception("packets or digests of the switch were lost")
                frames, digests = [], []
            idle = not frames and not digests
            if idle and time.monotonic_ns() - now < timeout * 5e8:
                # A stopped node returns at once, and may be started again.
                await asyncio.sleep(timeout)

    async def _watch_idle_entries(self) -> None:
        while True:
            await asyncio.sleep(IDLE_SCAN_S)
            try:
                self.streams.poll_idle_entries()
            except Exception:
                _LOG.exception("notifications of idle entries were lost")


class _Service(p4r_grpc.P4RuntimeServicer):
    """The RPCs. Each turns `RpcError` into the status of its call."""

    def __init__(self, server: P4RuntimeServer) -> None:
        self._arbitration = server.arbitration
        self._pipelines = server.pipelines
        self._streams = server.streams
        # A batch takes several turns of the event loop. Meanwhile program and primary must not
        # change, no other batch may begin, and no read may see half of the batch.
        self._batch = asyncio.Lock()

    async def Capabilities(  # noqa: N802 (named by the service)
        self, request: p4r.CapabilitiesRequest, context: Context
    ) -> p4r.CapabilitiesResponse:
        # A client that does not know the device yet sends device id 0.
        if request.device_id:
            try:
                self._arbitration.check_device(request.device_id)
            except RpcError as error:
                await _abort(context, error)
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    async def SetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Context
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            async with self._batch:
                role = self._authorize(request)
                if not role.sets_pipeline:
                    raise RpcError(
                        Code.PERMISSION_DENIED,
                        f"role {role.name!r} may not set the forwarding pipeline config; its "
                        "configuration has no can_push_pipeline",
                    )
                if await self._pipelines.set(request):
                    self._streams.reset_digests()
        except RpcError as error:
            await _abort(context, error)
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.GetForwardingPipelineConfigRequest, context: Context
    ) -> p4r.GetForwardingPipelineConfigResponse:
        try:
            self._arbitration.check_device(request.device_id)
        except RpcError as error:
            await _abort(context, error)
        config = self._pipelines.get(request.response_type)
        return p4r.GetForwardingPipelineConfigResponse(config=config)

    def _authorize(
        self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest
    ) -> Role:
        """The role that a request is sent for; raises unless the sender is its primary."""
        self._arbitration.check_device(request.device_id)
        election_id = request.election_id if request.HasField("election_id") else None
        return self._arbitration.authorize(request.role, election_id)

    async def Write(  # noqa: N802
        self, request: p4r.WriteRequest, context: Context
    ) -> p4r.WriteResponse:
        return await self.write(write.Request(request, None), context)

    async def write(self, request: write.Request, context: Context) -> p4r.WriteResponse:
        """Write, with a request of which updates may not be decoded."""
        try:
            async with self._batch:
                role = self._authorize(request.header)
                pipeline = self._pipelines.current
                atomicity = request.header.atomicity
                if atomicity == p4r.WriteRequest.CONTINUE_ON_ERROR:
                    results = await _each(pipeline, request, role)
                elif atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR:
                    results = write.all_or_none(pipeline, request.updates(), role)
                elif atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC:
                    updates = request.updates()
                    results = pipeline.switch.exclusively(
                        lambda switch: write.all_or_none(
                            replace(pipeline, switch=switch), updates, role
                        )
                    )
                else:
                    raise invalid(
                        f"there is no atomicity {atomicity}; expected CONTINUE_ON_ERROR, "
                        "ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC"
                    )
        except RpcError as error:
            await _abort(context, error)
        await _report(context, "update", results)
        return p4r.WriteResponse()

    async def Read(  # noqa: N802
        self, request: p4r.ReadRequest, context: Context
    ) -> AsyncIterator[p4r.ReadResponse]:
        responses: list[p4r.ReadResponse] = []
        results: list[RpcError | None] = []
        try:
            self._arbitration.check_device(request.device_id)
            role = self._arbitration.role(request.role)
            async with self._batch:
                pipeline = self._pipelines.current
                for wanted in request.entities:
                    try:
                        entities = read.read(pipeline, wanted, role)
                        while chunk := list(islice(entities, read.CHUNK)):
                            responses.append(p4r.ReadResponse(entities=chunk))
                            await asyncio.sleep(0)
                    except RpcError as error:
                        results.append(error)
                    else:
                        results.append(None)
        except RpcError as error:
            await _abort(context, error)
        for response in responses:
            yield response
        await _report(context, "request", results)

    async def StreamChannel(  # noqa: N802
        self, request_iterator: AsyncIterator[p4r.StreamMessageRequest], context: Context
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        session = self._streams.open()
        reader = asyncio.create_task(self._read_stream(session, request_iterator))
        try:
            while (message := await session.next_message()) is not None:
                yield message
        except RpcError as error:
            await _abort(context, error)
        finally:
            reader.cancel()
            self._streams.close(session)

    async def _read_stream(
        self, session: Session, requests: AsyncIterator[p4r.StreamMessageRequest]
    ) -> None:
        try:
            async for request in requests:
                if request.WhichOneof("update") == "arbitration":
                    async with self._batch:
                        self._streams.on_request(session, request)
                else:
                    self._streams.on_request(session, request)
        except RpcError as error:
            session.outbox.close(error)
        except aio.BaseError:
            session.outbox.close()
        else:
            session.outbox.close()


def _register(service: _Service, server: aio.Server) -> None:
    """Register the RPCs. The request of Write is not decoded by gRPC."""
    p4r_grpc.add_P4RuntimeServicer_to_server(service, server)
    write_handler = grpc.unary_unary_rpc_method_handler(
        service.write,
        request_deserializer=write.Request.read,
        response_serializer=p4r.WriteResponse.SerializeToString,
    )
    server.add_registered_method_handlers("p4.v1.P4Runtime", {"Write": write_handler})


async def _each(pipeline: Pipeline, request: write.Request, role: Role) -> list[RpcError | None]:
    """Apply each update; a failed one does not stop the others."""
    plain = write.PlainWriter(pipeline, role)
    results: list[RpcError | None] = [None] * len(request)
    for start in range(0, len(request), UPDATES_PER_TURN):
        if start:
            await asyncio.sleep(0)
        at, end = start, min(start + UPDATES_PER_TURN, len(request))
        while at < end:
            if request.plain is not None:
                at = plain.write(request.plain, at, end, results)
                if at == end:
                    break
            try:
                write.apply(pipeline, request.update(at), role)
            except RpcError as error:
                results[at] = error
            at += 1
    return results


async def _report(context: Context, what: str, results: Sequence[RpcError | None]) -> None:
    """End a call with the errors of its parts, if there are any."""
    if any(results):
        message, details = batch_status(what, results)
        await context.abort(Code.UNKNOWN, message, ((DETAILS_KEY, details),))


async def _abort(context: Context, error: RpcError) -> Never:
    await context.abort(error.code, error.message)
    raise AssertionError("abort raises")
