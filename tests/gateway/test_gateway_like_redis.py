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
    "passwords": b"".join(
        request(*words.split())
        for words in (
            "AUTH",
            "AUTH secret",
            "AUTH default",
            "AUTH default secret",
            "auth default x",
            "AUTH other secret",
            "AUTH DEFAULT x",
            "AUTH a b c",
            "HELLO AUTH default x",
            "HELLO 2 AUTH default",
            "HELLO 2 AUTH other x",
            "HELLO 2 AUTH other x SETNAME",
            "HELLO 2 SETNAME a AUTH other x",
            "HELLO 2 AUTH default x SETNAME",
            "HELLO 3 AUTH default x NOSUCH",
            "GET no",
        )
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


ATTACKS = {
    "POST": b"POST / HTTP/1.1\r\nHost: a\r\n\r\nSET pwned page\r\n",
    "post with a blank": b"  post / HTTP/1.1\r\nSET pwned page\r\n",
    "POST in quotes": b'"POST" / HTTP/1.1\r\nSET pwned page\r\n',
    "Host": b"Host: a\r\nSET pwned page\r\n",
    "HOST in an array": request("hOsT:", "a") + request("SET", "pwned", "page"),
    "POST in an array": request("POST") + request("SET", "pwned", "page"),
}
MORE_ATTACKS = {
    "PUT": b"PUT / HTTP/1.1\r\nSET pwned page\r\n",
    "GET": b"GET / HTTP/1.1\r\nSET pwned page\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nSET pwned page\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\r\nSET pwned page\r\n",
    "TLS in the form of SSL 2": bytes.fromhex("802e010002") + b"\r\nSET pwned page\r\n",
    "memcached's binary protocol": bytes.fromhex("800100050d0a") + b"SET pwned page\r\n",
    "RTSP": b"DESCRIBE rtsp://a RTSP/1.0\r\nSET pwned page\r\n",
    "SIP": b"INVITE sip:a@b SIP/2.0\r\nSET pwned page\r\n",
    "Host without a blank": b"Host:a\r\nSET pwned page\r\n",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_web_page_is_refused_as_redis_does(name: str, redis_port: int, served: Running) -> None:
    for port in (redis_port, served.port):
        assert _replies(port, ATTACKS[name]) == b""
        assert b"$-1" in _replies(port, request("GET", "pwned"))


@pytest.mark.parametrize("name", MORE_ATTACKS)
def test_other_protocols_are_refused(name: str, served: Running) -> None:
    assert _replies(served.port, MORE_ATTACKS[name]) == b""
    assert b"$-1" in _replies(served.port, request("GET", "pwned"))


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
