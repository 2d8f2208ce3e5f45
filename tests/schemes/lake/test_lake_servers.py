"""An item of LaKe belongs to the server that has it: two servers, or two addresses of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fpga.damage import with_words
from tests.fpga.packets import Operation, frames, get, memcached, store
from tests.schemes.lake.lake import HOST, Lake

KEY = b"key1"
CLIENT_PORT = 0


@dataclass(frozen=True)
class Place:
    """A server's addresses and the port of LaKe that it is behind."""

    ip: str
    mac: bytes
    port: int


def _mac(number: int) -> bytes:
    return bytes([2, 0, 7, 7, 7, number])


NIC = (Place("10.0.0.250", _mac(1), HOST), Place("10.0.0.251", _mac(1), HOST))
SWITCH = (Place("10.0.0.250", _mac(1), 2), Place("10.0.0.251", _mac(2), 3))
FORMS = {"two-addresses-of-a-nic": NIC, "two-ports-of-a-switch": SWITCH}
SAFE, PAPER = 0b1111, 0b1101


class Servers:
    """LaKe between a client and two servers, each with items of its own."""

    def __init__(self, lake: Lake, places: tuple[Place, Place], options: int = SAFE) -> None:
        self.lake = lake
        self.lake.write("options", options)
        if places[0].port != HOST:
            self.lake.write("mode", 0b10001)
            self.lake.write("server_ports", sum(1 << place.port for place in places))
        self.places = places
        self.items = [memcached.Server(), memcached.Server()]
        self._opaque = 100
        # The switch learns where all of them are, LaKe the servers.
        for number in (0, 1):
            self.ask(number, Operation(memcached.NOOP))
            self.ask(number, Operation(memcached.NOOP))
        self.lake.invalidate()

    def frame(self, number: int, payload: bytes, *, response: bool = False) -> bytes:
        place = self.places[number]
        return frames.udp_frame(
            frames.datagram(payload),
            server=(place.ip, frames.MEMCACHED_PORT),
            server_mac=place.mac,
            response=response,
        )

    def forward(self, number: int, operation: Operation) -> None:
        """A request that LaKe must send on."""
        data = self.frame(number, operation.encode())
        assert self.lake.pass_frame(CLIENT_PORT, data) == (self.places[number].port, data)

    def sends_on(self, data: bytes) -> None:
        """A frame of the client leaves unchanged at each port that may lead to its MAC address."""
        out = self.lake.pass_frames([(CLIENT_PORT, data)])
        self.lake.design.step(1000)
        out += [(port, frame) for port, frame, *_ in self.lake.design.tx()]
        assert CLIENT_PORT not in [port for port, _ in out]
        assert {frame for _, frame in out} == {data}

    def deliver(self, number: int, reply: Operation) -> None:
        data = self.frame(number, reply.encode(), response=True)
        assert self.lake.pass_frame(self.places[number].port, data)[1] == data

    def ask(self, number: int, operation: Operation) -> Operation | None:
        """The answer of LaKe, or None: the server has answered."""
        data = self.frame(number, operation.encode())
        for port, out in self.lake.pass_frames([(CLIENT_PORT, data)]):
            if port == CLIENT_PORT:
                return memcached.decode(out[50:])[0]
        reply = self.items[number].answer(operation)
        assert reply is not None
        back = self.frame(number, reply.encode(), response=True)
        self.lake.pass_frames([(self.places[number].port, back)])
        return None

    def read(self, number: int, key: bytes = KEY) -> bytes | None:
        """What LaKe answers to a GET; None if the server has answered."""
        self._opaque += 1
        answer = self.ask(number, get(key, opaque=self._opaque))
        return None if answer is None else answer.value


@pytest.fixture(params=FORMS.values(), ids=list(FORMS))
def servers(lake_library: Path, request: pytest.FixtureRequest) -> Servers:
    return Servers(Lake(lake_library), request.param)


def test_set_to_a_server_answers_no_get_to_another(servers: Servers) -> None:
    assert servers.ask(0, store(KEY, b"of the first")) is None
    assert servers.read(0) == b"of the first"
    assert servers.read(1) is None


def test_fill_from_a_server_answers_no_get_to_another(servers: Servers) -> None:
    for number, value in enumerate((b"first", b"second")):
        servers.items[number].answer(store(KEY, value))
    assert [servers.read(0), servers.read(0)] == [None, b"first"]
    assert [servers.read(1), servers.read(1)] == [None, b"second"]
    # Both are there.
    assert [servers.read(0), servers.read(1)] == [b"first", b"second"]


@pytest.mark.parametrize("opcode", [memcached.SET, memcached.DELETE, memcached.APPEND])
def test_mutation_invalidates_the_items_of_every_server(servers: Servers, opcode: int) -> None:
    """The two addresses may be those of one memcached."""
    for number, value in enumerate((b"first", b"second")):
        servers.items[number].answer(store(KEY, value))
        assert [servers.read(number), servers.read(number)] == [None, value]
    change = store(KEY, b"new") if opcode == memcached.SET else Operation(opcode, KEY, value=b"")
    assert servers.ask(1, change) is None
    assert servers.read(0) is None
    assert servers.lake.chunks_in_use == (2 if opcode == memcached.SET else 1)


def test_mutation_at_another_address_forbids_a_fill(servers: Servers) -> None:
    servers.items[0].answer(store(KEY, b"old"))
    servers.forward(0, get(KEY, opaque=5))
    servers.forward(1, Operation(memcached.DELETE, KEY, opaque=6))
    reply = servers.items[0].answer(get(KEY, opaque=5))
    assert reply is not None
    servers.deliver(0, reply)
    servers.deliver(1, Operation(memcached.DELETE, opaque=6, magic=0x81))
    assert servers.read(0) is None


def test_reply_of_another_server_is_no_acknowledgement(servers: Servers) -> None:
    servers.forward(0, store(KEY, b"lost", opaque=7))
    servers.deliver(1, Operation(memcached.SET, opaque=7, cas=1, magic=0x81))
    assert servers.read(0) is None


def test_reply_of_another_server_does_not_fill(servers: Servers) -> None:
    servers.forward(0, get(KEY, opaque=7))
    wrong = Operation(memcached.GET, b"", bytes(4), b"wrong", 7, 1, magic=0x81)
    servers.deliver(1, wrong)
    assert servers.read(0) is None
    assert servers.read(1) is None


# ---- what no server takes, or may not take -----------------------------------------------------


def cache(servers: Servers) -> None:
    """LaKe has an item of the first server."""
    servers.items[0].answer(store(KEY, b"value"))
    assert [servers.read(0), servers.read(0)] == [None, b"value"]


def test_get_to_another_mac_address_passes(servers: Servers) -> None:
    cache(servers)
    frame = servers.frame(0, get(KEY).encode())
    for bit in range(1, 48):
        changed = bytearray(frame)
        changed[bit // 8] ^= 1 << bit % 8
        servers.sends_on(bytes(changed))
    assert servers.read(0) == b"value"


def test_get_at_the_end_of_its_time_to_live_passes(servers: Servers) -> None:
    cache(servers)
    frame = servers.frame(0, get(KEY).encode())
    (protocol,) = frame[23:24]
    ended = with_words(frame, {22: protocol})
    servers.sends_on(ended)
    last = with_words(frame, {22: 1 << 8 | protocol})
    assert servers.lake.pass_frame(CLIENT_PORT, last)[0] == CLIENT_PORT
    assert servers.read(0) == b"value"


@pytest.mark.parametrize("options", [SAFE, PAPER], ids=["safe", "paper"])
@pytest.mark.parametrize("kind", ["foreign-mac", "no-time-to-live"])
def test_set_that_no_server_need_take_is_not_stored(
    lake_library: Path, options: int, kind: str
) -> None:
    servers = Servers(Lake(lake_library), NIC, options)
    cache(servers)
    frame = servers.frame(0, store(KEY, b"new").encode())
    frame = _mac(9) + frame[6:] if kind == "foreign-mac" else with_words(frame, {22: frame[23]})
    servers.sends_on(frame)
    assert servers.lake.read("stored") == 0
    # A server may have taken it all the same.
    assert servers.read(0) is None


def test_get_to_a_group_address_is_not_answered(servers: Servers) -> None:
    cache(servers)
    frame = frames.BROADCAST_MAC + servers.frame(0, get(KEY).encode())[6:]
    servers.sends_on(frame)


def test_reply_with_the_magic_of_a_request_is_no_request(servers: Servers) -> None:
    cache(servers)
    frame = servers.frame(0, Operation(memcached.GET, KEY, magic=0x81).encode())
    servers.sends_on(frame)


def test_many_servers_are_cached_one_after_the_other(lake_library: Path) -> None:
    """More than the table of their MAC addresses has entries: the last ones are known."""
    servers = Servers(Lake(lake_library), NIC)
    places = [Place(f"10.0.1.{number}", _mac(number), HOST) for number in range(40)]
    for first, second in zip(places[::2], places[1::2], strict=True):
        servers.places = (first, second)
        servers.items = [memcached.Server(), memcached.Server()]
        for number in (0, 1):
            servers.items[number].answer(store(KEY, first.ip.encode()))
            assert [servers.read(number), servers.read(number)] == [None, first.ip.encode()]
