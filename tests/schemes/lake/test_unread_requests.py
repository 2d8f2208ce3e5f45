"""Requests that LaKe cannot read cost the cache its content only if the server may execute them.

What a server does with each is asked of a real memcached.
"""

from __future__ import annotations

import pytest

from tests.fpga.memcached_servers import Sockets, running, skip_without_memcached
from tests.fpga.packets import frames, get
from tests.fpga.unread import CHANGING, IGNORED, KEY
from tests.schemes.lake.lake import CLIENT, HOST, Lab

VALUE = b"1"


def frame_of(payload: bytes) -> bytes:
    return frames.udp_frame(payload, client=(CLIENT.ip, CLIENT.udp_port), client_mac=CLIENT.mac)


@pytest.mark.parametrize("name", IGNORED)
def test_request_that_changes_nothing_leaves_the_data_valid(lab: Lab, name: str) -> None:
    lab.fill(KEY, VALUE)
    frame = frame_of(IGNORED[name])
    assert lab.lake.pass_frame(CLIENT.lane, frame) == (HOST, frame), "passes unchanged"
    assert lab.is_hit(KEY)
    assert lab.lake.read("flushes") == 0


@pytest.mark.parametrize("name", CHANGING)
def test_request_that_changes_an_item_is_seen(lab: Lab, name: str) -> None:
    lab.fill(KEY, VALUE)
    frame = frame_of(CHANGING[name])
    assert lab.lake.pass_frame(CLIENT.lane, frame) == (HOST, frame), "passes unchanged"
    lab.hold(KEY, b"changed")
    assert not lab.is_hit(KEY)
    lab.settle([KEY])
    assert lab.is_hit(KEY)


def test_requests_that_change_nothing_never_keep_the_cache_empty(lab: Lab) -> None:
    """One each lifetime, and the cache fills and serves as without them."""
    lab.fill(KEY, VALUE)
    for number, payload in enumerate(IGNORED.values(), 1):
        lab.lake.pass_frame(CLIENT.lane, frame_of(payload))
        key = b"%s-%d" % (KEY, number)
        lab.hold(key, b"new")
        assert not lab.is_hit(key)
        assert lab.is_hit(key), "nothing is stored"
        lab.lake.pass_lifetime()
    assert lab.is_hit(KEY)
    assert lab.lake.read("ignored") == lab.lake.read("malformed")


def item_after(payload: bytes) -> bytes:
    """What memcached holds at the key behind a request."""
    with running() as address:
        link = Sockets(address)
        try:
            link.stream(b"set %s 0 0 1\r\n%s\r\n" % (KEY, VALUE))
            link.send(0, payload)
            # A server with one thread answers in the order of arrival.
            link.send(1, b"\0\1\0\0\0\1\0\0" + get(KEY, opaque=9).encode())
            link.receive(1)
            return link.stream(b"get %s\r\n" % KEY)
        finally:
            link.close()


@pytest.mark.parametrize("name", IGNORED)
def test_memcached_changes_nothing_for_it(name: str) -> None:
    skip_without_memcached()
    assert b"VALUE %s 0 1\r\n1\r\n" % KEY in item_after(IGNORED[name])


@pytest.mark.parametrize("name", CHANGING)
def test_memcached_changes_the_item_for_it(name: str) -> None:
    skip_without_memcached()
    assert b"VALUE %s 0 1\r\n1\r\n" % KEY not in item_after(CHANGING[name])
