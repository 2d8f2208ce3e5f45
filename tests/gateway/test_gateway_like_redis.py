"""For commands that both support, the gateway sends the same bytes as a redis-server."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from netkv.bench import stores
from tests.gateway.serving_redis import Running, request
from tests.waiting import PATIENCE_S

# fmt: off
SCRIPTS: dict[str, bytes] = {
    "reads and writes": (
        request("SET", "a", "1")
        + request("get", "a")
        + request("GET", "none")
        + request("MGET", "a", "none", "a")
        + request("EXISTS", "a", "a", "none")
        + request("SET", "b", "")
        + request("GET", "b")
        + request("DEL", "a", "a", "none")
        + request("UNLINK", "b")
        + request("GET", "a")
        + request("SET", "a", b"\0\r\n\xff")
        + request("GET", "a")
    ),
    "properties of a key": b"".join(
        request(*words.split())
        for words in (
            "DBSIZE",
            "SET a 123",
            "DBSIZE",
            "TYPE a",
            "TYPE none",
            "STRLEN a",
            "STRLEN none",
            "TTL a",
            "TTL none",
            "PTTL a",
            "pttl none",
            "SET a 4567",
            "SET b 1",
            "DBSIZE",
            "STRLEN a",
            "DEL a none",
            "DBSIZE",
            "TYPE a",
            "DEL b",
            "DBSIZE",
        )
    ),
    "MSET": b"".join(
        request(*words.split())
        for words in (
            "MSET a 1 b 2 a 3",
            "MGET a b",
            "MSET b 4",
            "GET b",
            "DBSIZE",
            "MSET",
            "MSET a",
            "MSET a 1 b",
            "MSET a 1 b 2 c",
            "DEL a b c",
        )
    ),
    "wrong numbers of words": b"".join(
        request(*words.split())
        for words in (
            "GET",
            "GET a b",
            "SET a",
            "MGET",
            "DEL",
            "EXISTS",
            "TYPE",
            "TYPE a b",
            "STRLEN",
            "STRLEN a b",
            "TTL",
            "TTL a b",
            "PTTL",
            "PTTL a b",
            "DBSIZE a",
            "ECHO",
            "ECHO a b",
            "PING a b",
            "SELECT",
            "CLIENT",
            "CLIENT ID 1",
            "CLIENT SETNAME",
            "CONFIG",
            "CONFIG GET",
            "COMMAND COUNT 1",
            "RESET 1",
        )
    ),
    "unknown commands": (
        request("NOSUCH")
        + request("nosuch", "a", "b")
        + request("n" * 300, "x" * 300, "y")
        + request("NOSUCH", *("w" * 50 for _ in range(10)))
        + request("CLIENT", "NOSUCH", "a")
        + request("CONFIG", "nosuch")
        + request("COMMAND", "nosuch")
        + request("SET", "a", "b", "no")
        + request("")
    ),
    "the connection": (
        request("PING")
        + request("PING", "a")
        + request("ECHO", "b")
        + request("SELECT", "0")
        + request("SELECT", "99")
        + request("SELECT", "x")
        + request("CLIENT", "GETNAME")
        + request("CLIENT", "SETNAME", "me")
        + request("CLIENT", "GETNAME")
        + request("CLIENT", "SETNAME", "a b")
        + request("CLIENT", "SETNAME", "")
        + request("CLIENT", "GETNAME")
        + request("RESET")
        + request("CONFIG", "GET", "save")
        + request("CONFIG", "GET", "appendonly")
        + request("CONFIG", "GET", "no-such-*")
    ),
    "versions of the protocol": (
        request("HELLO", "4")
        + request("HELLO", "x")
        + request("HELLO", "1")
        + request("HELLO", "2", "NOSUCH")
        + request("HELLO", "2", "SETNAME")
        + request("GET", "no")
    ),
    "inline": (
        b"PING\r\n\r\n  \r\nping\nSET a 'b c'\r\nGET a\r\nECHO \"\\x41\\n\"\r\nECHO '\\''\r\n"
        b'ECHO\r\nECHO a"b c"\r\nMGET a\tb\r\n' + request("PING") + b"GET a\r\n"
    ),
    "empty requests": b"*0\r\n*-1\r\n\r\n" + request("PING"),
    "quitting": request("PING") + request("QUIT") + request("PING"),
    "no array": request("PING") + b"*1\r\n:5\r\n" + request("PING"),
    "no length": b"*abc\r\n",
    "negative length": b"*1\r\n$-1\r\n",
    "no bulk length": b"*1\r\n$x\r\n",
    "quotes": b"PING 'a\r\nPING\r\n",
}
# fmt: on


@pytest.fixture(scope="module")
def redis_port() -> Iterator[int]:
    with stores.redis(0, 0) as port:
        yield port


@pytest.mark.parametrize("name", SCRIPTS)
def test_replies_are_those_of_redis(name: str, redis_port: int, served: Running) -> None:
    expected = _replies(redis_port, SCRIPTS[name])
    assert expected
    assert _replies(served.port, SCRIPTS[name]) == expected


@pytest.mark.parametrize(
    "words",
    ["MGET a none", "GET none", "TYPE none", "TTL none", "CONFIG GET save", "PING", "ECHO x"],
)
def test_replies_in_version_3_are_those_of_redis(
    words: str, redis_port: int, served: Running
) -> None:
    hello = request("HELLO", "3")
    found = [_replies(port, hello + request(*words.split())) for port in (redis_port, served.port)]
    # The reply to HELLO names the server, so only the replies after it are equal.
    expected, actual = (replies.rpartition(b"modules\r\n*0\r\n")[2] for replies in found)
    assert expected == actual != b""
    assert all(replies.startswith(b"%7\r\n$6\r\nserver\r\n") for replies in found)


def test_protocol_version_3_starts_after_hello(served: Running) -> None:
    pipeline = request("GET", "none") + request("HELLO", "3") + request("GET", "none")
    replies = _replies(served.port, pipeline)
    assert replies.startswith(b"$-1\r\n%7\r\n")
    assert b"*0\r\n_\r\n" in replies


def _replies(port: int, data: bytes) -> bytes:
    """All bytes that a server sends for `data`, until an ECHO or the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        marker = b"*2\r\n$4\r\nECHO\r\n$9\r\nthe-end-\xff\r\n"
        connection.sendall(data + marker)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while not found.endswith(b"$9\r\nthe-end-\xff\r\n"):
                piece = connection.recv(65536)
                if not piece:
                    break
                found += piece
        return found
