"""Designs in virtual time against the recorded answers of a real memcached.

The recordings are made by `tests/fpga/record_memcached.py`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from netkv._engine import FpgaDesign
from netkv.fpga import build, replay
from netkv.fpga.build import Library
from netkv.model import manifest
from tests.fpga import record_memcached
from tests.fpga.memcached_compare import with_cas_of
from tests.fpga.memcached_load import Mix
from tests.fpga.memcached_servers import FIRST_CLIENT_PORT, unpack
from tests.fpga.packets import frames
from tests.fpga.record_memcached import Exchange

CLIENT_MAC, SERVER_MAC = bytes.fromhex("a0369f000001"), bytes.fromhex("ac1f6b000002")
"""Addresses with all kinds of first bytes, as cards have them."""
QUIET_CYCLES = 3000
"""Cycles without a frame after which no answer is under way any more."""
HEADER, SAFE, FILL, CACHES = 1, 2, 4, 8
"""Bits of the register `options` of LaKe."""


def frame(client: int, payload: bytes, *, response: bool = False) -> bytes:
    return frames.udp_frame(
        payload,
        client=(frames.CLIENT_IP, FIRST_CLIENT_PORT + client),
        client_mac=CLIENT_MAC,
        server_mac=SERVER_MAC,
        response=response,
    )


class Host:
    """A client at port 0, and at the host port a server that answers what was recorded."""

    def __init__(self, design: FpgaDesign, host_port: int) -> None:
        self._design = design
        self._host_port = host_port
        self._random = random.Random(1)
        self.passed = 0
        """Requests that reached the server."""

    def run(self, exchange: Exchange) -> list[bytes]:
        """Sends the requests of a step; returns what the client has received in the end."""
        design = self._design
        received: list[bytes] = []
        recorded = dict(zip(exchange.requests, exchange.answers, strict=True))
        wanted = sum(map(len, exchange.answers))
        for request in exchange.requests:
            design.rx(0, frame(exchange.client, request))
        quiet_at = design.cycle + QUIET_CYCLES
        while design.cycle < quiet_at and (design.pending_rx or len(received) < wanted):
            design.step(quiet_at - design.cycle, until_frame=True)
            for port, sent, *_ in design.tx():
                quiet_at = design.cycle + QUIET_CYCLES
                port_of_client, payload = unpack(sent, response=port == 0)
                assert port_of_client == FIRST_CLIENT_PORT + exchange.client
                if port == 0:
                    received.append(payload)
                    continue
                assert port == self._host_port
                assert sent == frame(exchange.client, payload), "a request passes unchanged"
                self.passed += 1
                delay = self._random.randint(100, 800)
                for answer in recorded[payload]:
                    back = frame(exchange.client, answer, response=True)
                    design.rx(self._host_port, back, design.cycle + delay)
        return received


def in_order(exchange: Exchange) -> list[bytes]:
    """All answers; those that pass several elements of a design change their order."""
    return sorted(each for own in exchange.answers for each in own)


def recording(name: Mix, *, header: bool) -> list[Exchange]:
    """The steps of a recording; `header`: with memcached's frame header.

    A server without the header sends no datagram that has nothing but the header.
    """
    found = []
    for each in record_memcached.load(name):
        if not header:
            each = Exchange(
                each.client,
                [request[8:] for request in each.requests],
                [[answer[8:] for answer in own if len(answer) > 8] for own in each.answers],
            )
        found.append(each)
    return found


@pytest.mark.parametrize("safe", [True, False], ids=["safe", "paper"])
@pytest.mark.parametrize("header", [True, False], ids=["header", "no-header"])
def test_lake_gives_the_answers_of_memcached(lake: Library, header: bool, safe: bool) -> None:
    options = HEADER * header | SAFE * safe | FILL | CACHES
    about = lake.manifest
    settings = [
        replay.setting(about, text) for text in (f"options={options}", "lifetime=5", "command=1")
    ]
    design = replay.prepared(lake, seed=1, line_rate=False, settings=settings)
    host = Host(design, about.port("host"))
    design.step(20_000)
    requests, unknown = 0, 0
    for number, exchange in enumerate(recording("udp", header=header)):
        received, expected = sorted(host.run(exchange)), in_order(exchange)
        requests += len(exchange.requests)
        if not safe and received != expected:
            # A value may be served before the server has acknowledged it with its CAS.
            at = 8 * header
            known = [with_cas_of(*each, at=at) for each in zip(received, expected, strict=True)]
            unknown += sum(map(bytes.__ne__, known, received))
            received = known
        assert received == expected, f"step {number}"
    registers = replay.read_registers(about, design.read_register)
    assert unknown <= requests / 100
    assert registers["hits"] == requests - host.passed
    assert registers["hits"] >= requests / 10
    assert registers["filled"] > 0
    assert registers["stored"] > 0
    assert registers["dropped"] == 0
    assert registers["lost_chunks"] == 0


@pytest.mark.parametrize("header", [True, False], ids=["header", "no-header"])
def test_emu_gives_the_answers_of_memcached(home: Path, header: bool) -> None:
    """GET, GETK, SET and DELETE of small items, with a line of the table for each key."""
    assert home.is_dir()
    emu = build.build(manifest.find("emu"))
    settings = [replay.setting(emu.manifest, f"options={int(header)}")]
    design = replay.prepared(emu, seed=1, line_rate=False, settings=settings)
    host = Host(design, emu.manifest.port("host"))
    for number, exchange in enumerate(recording("emu", header=header)):
        assert sorted(host.run(exchange)) == in_order(exchange), f"step {number}"
    registers = replay.read_registers(emu.manifest, design.read_register)
    assert host.passed == 0
    assert registers["dropped"] == 0
    assert min(registers[name] for name in ("hits", "misses", "stores", "deletes")) > 50
