"""The parser of requests: segment boundaries, limits, malformed and random bytes."""

from __future__ import annotations

import random
import re
import tracemalloc

import pytest

from netkv.gateway.requests import MAX_REQUEST, MAX_WORD, ProtocolError, Requests
from tests.gateway.serving_redis import request

PIPELINE = (
    request("SET", "a", b"line\r\n*1\r\n$4\r\nPING\r\n")
    + b"PING\r\n"
    + b"*0\r\n*-1\r\n\r\n"
    + request("GET", "")
    + b"set \"a \\x41\\n\" 'b \"\\' c'\n"
    + request(*(f"key{number}" for number in range(300)))
    + request("ECHO", bytes(range(256)) * 40)
)
EXPECTED = [
    [b"SET", b"a", b"line\r\n*1\r\n$4\r\nPING\r\n"],
    [b"PING"],
    [b"GET", b""],
    [b"set", b"a A\n", b"b \"' c"],
    [b"key%d" % number for number in range(300)],
    [b"ECHO", bytes(range(256)) * 40],
]


def all_of(requests: Requests) -> list[list[bytes]]:
    found = []
    while (each := requests.next()) is not None:
        found.append(each)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 10**6])
def test_requests_do_not_depend_on_segment_boundaries(size: int) -> None:
    requests = Requests()
    found = []
    for start in range(0, len(PIPELINE), size):
        requests.feed(PIPELINE[start : start + size])
        found += all_of(requests)
    assert found == EXPECTED


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*01\r\n", "invalid multibulk length"),
        (b"*99999999999\r\n", "invalid multibulk length"),
        (b"*1" + b"0" * 40, "invalid multibulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$%d\r\n" % (MAX_WORD + 1), "invalid bulk length"),
        (b"*1\r\n$1\r\nab\r\n", "a bulk string is longer than announced"),
        (b"PING 'a\r\n", "unbalanced quotes in request"),
        (b'PING "a"b\r\n', "unbalanced quotes in request"),
        (b"P" * 70_000, "too big inline request"),
    ],
)
def test_protocol_error_is_raised_after_the_earlier_requests(data: bytes, message: str) -> None:
    requests = Requests()
    requests.feed(request("PING") + b"ECHO a\r\n" + request("GET", "b") + data)
    assert [requests.next() for _ in range(3)] == [[b"PING"], [b"ECHO", b"a"], [b"GET", b"b"]]
    for _ in range(2):  # the error is raised again
        with pytest.raises(ProtocolError, match="^" + re.escape(message)):
            requests.next()
        requests.feed(request("PING"))


def test_total_size_of_a_request_is_limited() -> None:
    requests = Requests()
    requests.feed(b"*100\r\n")
    word = b"$%d\r\n%b\r\n" % (MAX_WORD, b"v" * MAX_WORD)
    for _ in range(MAX_REQUEST // MAX_WORD - 1):
        requests.feed(word)
        assert requests.next() is None
    requests.feed(word)
    with pytest.raises(ProtocolError, match=f"a request may have {MAX_REQUEST} bytes"):
        requests.next()


def test_announced_lengths_take_no_memory() -> None:
    """A plain hiredis reader allocates memory for announced words that have not arrived."""
    many = [Requests() for _ in range(200)]
    tracemalloc.start()
    for requests in many:
        requests.feed(b"*200000\r\n$1000000\r\nab")
        assert requests.next() is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("seed", range(300))
def test_random_bytes_are_requests_or_a_protocol_error(seed: int) -> None:
    """Parsed requests are lists of words, and no other exception is raised."""
    draw = random.Random(seed)
    data = bytearray(draw.choice([PIPELINE[:600], request("SET", "a", "b") * 5, b""]))
    for _ in range(draw.randrange(1, 12)):
        at = draw.randrange(len(data) + 1)
        piece = draw.choice([draw.randbytes(draw.randrange(6)), b"\r\n", b"*", b"$", b"-1", b'"'])
        data[at : at + draw.randrange(4)] = piece
    whole, parts = Requests(), Requests()
    whole.feed(bytes(data))
    expected, must_fail = _parse_all(whole)
    found: list[list[bytes]] = []
    failed = False
    at = 0
    while at < len(data) and not failed:
        size = draw.randrange(1, 9)
        parts.feed(bytes(data[at : at + size]))
        at += size
        more, failed = _parse_all(parts)
        found += more
    assert all(words and all(isinstance(word, bytes) for word in words) for words in expected)
    assert (found, failed) == (expected, must_fail)


def _parse_all(requests: Requests) -> tuple[list[list[bytes]], bool]:
    """The complete requests, and whether a protocol error follows them."""
    found: list[list[bytes]] = []
    try:
        while (each := requests.next()) is not None:
            found.append(each)
    except ProtocolError:
        return found, True
    return found, False
