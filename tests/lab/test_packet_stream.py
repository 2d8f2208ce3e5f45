"""netkv's client of bmv2's packet stream against a server of the gRPC library."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from grpc import aio

from netkv.live.bmv2.packet_stream import MAX_WAITING, METHOD, PacketStream, Request, Response
from tests.waiting import until_async

DEVICE = 7


class Echo(grpc.GenericRpcHandler):
    """Sends each frame back with the next port number. Refuses calls until `ready`."""

    def __init__(self) -> None:
        self.ready = True
        self.calls = 0
        self.serialize = Response.SerializeToString

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        assert details.method == METHOD
        handler: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(
            self._answer, Request.FromString, lambda it: self.serialize(it)
        )
        return handler

    async def _answer(
        self, requests: AsyncIterator[Any], context: aio.ServicerContext[Any, Any]
    ) -> None:
        self.calls += 1
        if not self.ready:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not ready")
        async for it in requests:
            assert it.device_id == DEVICE
            await context.write(Response(device_id=DEVICE, port=it.port + 1, packet=it.packet))


@pytest.fixture
async def echo() -> AsyncIterator[tuple[Echo, str]]:
    handler, server = Echo(), aio.server()
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield handler, f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.fixture
def ended() -> Iterator[list[PacketStream]]:
    ends: list[PacketStream] = []
    yield ends
    for end in ends:
        end.close()


def connected(end: PacketStream) -> bool:
    end.flush()
    return end.watched() is not None


async def test_frames_of_all_sizes_cross_both_ways(
    echo: tuple[Echo, str], ended: list[PacketStream]
) -> None:
    """More bytes than the initial HTTP/2 windows, in messages that cross HTTP/2 frame borders."""
    end = PacketStream(echo[1], DEVICE)
    ended.append(end)
    await until_async(lambda: connected(end), "the stream is open")
    frames = [
        (port, bytes([port % 251]) * size) for port in (1, 100, 508) for size in range(14, 2048, 9)
    ]
    found: list[tuple[int, bytes]] = []

    def all_received() -> bool:
        end.flush()
        found.extend(end.receive())
        return len(found) == len(frames)

    for port, frame in frames:
        assert end.send(port, frame)
    await until_async(all_received, "every frame is received", every_s=0.001)
    assert found == [(port + 1, frame) for port, frame in frames]


async def test_switch_without_a_program_is_asked_again(
    echo: tuple[Echo, str], ended: list[PacketStream]
) -> None:
    handler, address = echo
    handler.ready = False
    end = PacketStream(address, DEVICE)
    ended.append(end)

    def refused_twice() -> bool:
        end.flush()
        assert not end.receive()
        return handler.calls >= 2

    await until_async(refused_twice, "the client calls again", every_s=0.01)
    handler.ready = True
    found: list[tuple[int, bytes]] = []

    def answered() -> bool:
        end.send(1, b"x" * 60)
        end.flush()
        found.extend(end.receive())
        return bool(found)

    await until_async(answered, "a frame is received", every_s=0.01)
    assert found[0] == (2, b"x" * 60)


async def test_frames_beyond_the_limit_are_dropped_and_counted(ended: list[PacketStream]) -> None:
    """The server takes no frames, so the flow control holds them back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end = PacketStream(f"127.0.0.1:{listener.getsockname()[1]}", 0)
        ended.append(end)
        assert connected(end)
        taken = sum(end.send(1, bytes(1024)) for _ in range(3 * MAX_WAITING // 1024))
        assert MAX_WAITING // 2 < taken * 1024 <= 2 * MAX_WAITING
        assert end.statistics()["stream_drops"] == 3 * MAX_WAITING // 1024 - taken


async def test_other_protocols_end_the_call(ended: list[PacketStream]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end = PacketStream(f"127.0.0.1:{listener.getsockname()[1]}", 0)
        ended.append(end)
        assert connected(end)
        connection = await asyncio.to_thread(listener.accept)
        with connection[0] as peer:
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            await until_async(lambda: end.receive() or not end.watched(), "the call has ended")


async def test_messages_that_cannot_be_read_end_the_call(
    echo: tuple[Echo, str], ended: list[PacketStream]
) -> None:
    handler, address = echo
    handler.serialize = lambda _: b"\x22\x05ab"
    end = PacketStream(address, DEVICE)
    ended.append(end)

    def called_again() -> bool:
        end.flush()
        assert not end.receive()
        end.send(1, b"x" * 60)
        return handler.calls >= 2

    await until_async(called_again, "the client calls again", every_s=0.01)


async def test_lost_connection_is_made_again(ended: list[PacketStream]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end = PacketStream(f"127.0.0.1:{listener.getsockname()[1]}", 0)
        ended.append(end)
        assert connected(end)
        (await asyncio.to_thread(listener.accept))[0].close()
        await until_async(lambda: end.receive() or not end.watched(), "the loss is detected")
        await until_async(lambda: connected(end), "the connection is open again")
    assert end.statistics()["stream_calls"] == 2
