"""Virtio functions behind the built-in driver: a card in a host, as every way to run it sees it."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import pytest

from netkv._engine import FpgaDesign
from netkv.fpga import build, tester
from netkv.fpga.build import Library
from netkv.fpga.tester import Load
from netkv.model import manifest
from tests.fpga.packets import Operation, frames, get, memcached, store

NETWORK, FUNCTION = 0, 1
ENOUGH_CYCLES = 20_000


@pytest.fixture
def nic(home: Path) -> FpgaDesign:
    """The card without its cache."""
    assert home.is_dir()
    return FpgaDesign(str(build.build(manifest.find("virtio-nic")).path), 3)


@pytest.fixture
def cache(home: Path) -> Library:
    assert home.is_dir()
    return build.build(manifest.find("client-cache"))


def frame_to(function: int, length: int, draw: random.Random) -> bytes:
    """A frame for the MAC address that a function has after reset."""
    return bytes([2, 0, 0, 0, 0, 1 + function]) + draw.randbytes(length - 6)


def test_frames_of_any_length_pass_whole_and_in_order(nic: FpgaDesign) -> None:
    draw = random.Random(1)
    sent: dict[int, list[bytes]] = {NETWORK: [], FUNCTION: []}
    arrived: dict[int, list[bytes]] = {NETWORK: [], FUNCTION: []}
    for _ in range(400):
        length = draw.choice(
            [14, 60, 63, 64, 65, 127, 128, 511, 1514, 9216, draw.randrange(14, 999)]
        )
        port = draw.choice([NETWORK, FUNCTION])
        frame = frame_to(0, length, draw)
        nic.rx(port, frame)
        sent[port].append(frame)
        nic.step(draw.randrange(600))
        for at, got, *_ in nic.tx():
            arrived[at].append(got)
    nic.step(ENOUGH_CYCLES)
    for at, got, *_ in nic.tx():
        arrived[at].append(got)
    assert arrived[NETWORK] == sent[FUNCTION]
    assert arrived[FUNCTION] == sent[NETWORK]
    assert (nic.pending_rx, nic.pending_bus) == (0, 0)
    counts = nic.counters(FUNCTION)
    assert (counts["rx_frames"], counts["tx_frames"]) == (len(sent[FUNCTION]), len(sent[NETWORK]))
    assert counts["rx_bytes"] == sum(map(len, sent[FUNCTION]))
    assert counts["tx_malformed"] == counts["bus_faults"] == 0


def test_rings_wrap_and_more_frames_than_descriptors_wait_in_the_host(nic: FpgaDesign) -> None:
    frames = [number.to_bytes(60, "big") for number in range(70_000)]
    arrived: list[bytes] = []
    for first in range(0, len(frames), 10_000):
        for frame in frames[first : first + 10_000]:
            nic.rx(FUNCTION, frame)
        assert nic.pending_rx == 10_000
        while nic.pending_rx:
            nic.step(10_000)
            arrived += [frame for _, frame, *_ in nic.tx()]
    nic.step(ENOUGH_CYCLES)
    arrived += [frame for _, frame, *_ in nic.tx()]
    assert arrived == frames


def test_time_of_the_bus_is_in_the_latency(nic: FpgaDesign) -> None:
    def latency(port: int) -> int:
        presented = nic.rx(port, frame_to(0, 60, random.Random(1)))
        nic.step(ENOUGH_CYCLES)
        ((_, _, first, *_),) = nic.tx()
        return first - presented

    # A function looks at its queues when they are enabled.
    nic.step(ENOUGH_CYCLES)
    slow = latency(FUNCTION), latency(NETWORK)
    nic.set_bus()
    fast = latency(FUNCTION), latency(NETWORK)
    read, write, _ = manifest.find("virtio-nic").bus_cycles()
    # To send: avail index, ring entry, descriptor and frame are read one after the other.
    assert 4 * read <= slow[0] - fast[0] <= 4 * read + 8
    # To receive: buffers are known before; used entry and index come after the frame.
    assert write <= slow[1] - fast[1] <= 3 * write


def test_reset_of_the_card_loses_frames_and_nothing_else(nic: FpgaDesign) -> None:
    draw = random.Random(2)
    for turn in range(40):
        for _ in range(10):
            nic.rx(FUNCTION, frame_to(0, draw.randrange(60, 1514), draw))
            nic.rx(NETWORK, frame_to(0, draw.randrange(60, 1514), draw))
        nic.step(draw.randrange(1500))
        nic.reset()
        nic.tx()
        assert nic.pending_rx == 0
        first, second = (frame_to(0, 60 + turn, draw) for _ in range(2))
        nic.rx(FUNCTION, first)
        nic.rx(NETWORK, second)
        nic.step(ENOUGH_CYCLES)
        assert sorted((port, frame) for port, frame, *_ in nic.tx()) == [
            (NETWORK, first),
            (FUNCTION, second),
        ]


def test_hit_takes_the_same_cycles_for_any_value_but_for_its_words(cache: Library) -> None:
    def of(value_bytes: int) -> tuple[int, float]:
        few = Load(share=0.005, key_bytes=16, value_bytes=value_bytes, cycles=60_000)
        many = Load(key_bytes=16, value_bytes=value_bytes, cycles=8_000, warmup_cycles=2_000)
        alone, loaded = tester.measure(cache, few), tester.measure(cache, many)
        assert alone.hits == pytest.approx(alone.offered, abs=2)
        assert alone.misses == loaded.misses == 0
        return alone.latency(0.5), loaded.cycles / loaded.processed

    (small_latency, small_cycles), (large_latency, large_cycles) = of(16), of(512)
    # 496 more bytes are 8 words: each is written to the host, and put into the frame.
    assert large_latency - small_latency <= 3 * 8
    assert small_cycles <= 20
    assert large_cycles - small_cycles <= 2 * 8


def test_misses_go_to_the_network_and_hits_do_not(cache: Library) -> None:
    found = tester.measure(cache, Load(hits=0.5, share=0.01, cycles=100_000))
    assert found.misses == pytest.approx(found.hits, rel=0.3)
    assert found.processed == pytest.approx(found.offered, abs=2)
    assert found.counters["forwarded.0"] == pytest.approx(found.misses, abs=2)


@pytest.fixture
def tenants(home: Path) -> Library:
    """A card with four functions, each with entries of its own, and one controller."""
    assert home.is_dir()
    return build.build(manifest.override(manifest.find("client-cache"), ["functions=4"]))


def test_noisy_neighbours_cost_a_tenant_at_most_their_share(tenants: Library) -> None:
    def of(*neighbours: int) -> tester.Result:
        load = Load(ports=(0, *neighbours), shares={0: 0.02}, key_bytes=16, value_bytes=64)
        return tester.measure(tenants, load)

    alone = of()
    for neighbours in ((1,), (1, 2, 3)):
        found = of(*neighbours)
        hits = found.counters["hits.0"]
        assert hits == pytest.approx(alone.hits, abs=6), "as many as without neighbours"
        assert found.hits - hits > 900, "the controller has more requests than it can answer"
        # Each step in the card waits for one step of each neighbour.
        assert found.latency(0.5, 0) < (1 + len(neighbours)) * alone.latency(0.5)


def test_tenants_with_much_to_do_share_the_card_by_their_weights(tenants: Library) -> None:
    load = Load(ports=(0, 1), key_bytes=16, value_bytes=64)
    equal = tester.measure(tenants, load)
    weighted = tester.measure(tenants, load, {"weight.0": 1024, "weight.1": 3072})
    for found, share in ((equal, 0.5), (weighted, 0.25)):
        assert found.counters["hits.0"] == pytest.approx(share * found.hits, rel=0.05)
    assert weighted.hits == pytest.approx(equal.hits, rel=0.01)


class World:
    """Four tenants that send random requests, and a server that answers most of them later."""

    LATENCY = 700
    UNIT = 1024

    def __init__(self, library: Library, seed: int, settings: dict[str, int], chunk: int) -> None:
        """`chunk`: cycles of a step. Steps of one cycle skip none."""
        self._manifest, self._chunk = library.manifest, chunk
        self._draw, self._server = random.Random(seed), memcached.Server()
        self._answers: deque[tuple[int, bytes]] = deque()
        self.design = FpgaDesign(str(library.path), seed)
        self.seen: list[object] = []
        self._until(20_000)
        for name, value in {"lifetime": 1, "mode": 1, **settings}.items():
            self.design.write_register(self._manifest.register(name)[1], value)
        self._until(self.design.cycle + 4 * self.UNIT)
        self.design.write_register(self._manifest.register("lifetime")[1], 12)

    def run(self, requests: int) -> list[object]:
        """Every frame with its cycle, and all registers now and then."""
        for number in range(requests):
            function = self._draw.randrange(4)
            self.design.rx(1 + function, self._request(function, number))
            pause = self._draw.choice((0, 1, 30, 300, 1500, 6000))
            self._until(self.design.cycle + self._draw.randrange(pause + 1))
            if number % 50 == 49:
                self._look()
        self._until(self.design.cycle + 20 * self.UNIT)
        self._look()
        return self.seen

    def _request(self, function: int, number: int) -> bytes:
        key = b"key-%d" % self._draw.randrange(12)
        value = bytes(self._draw.randrange(200))
        operation: Operation = self._draw.choices(
            [
                get(key, opaque=number),
                store(key, value, opaque=number),
                store(key, value, opaque=number, expiry=100),
                Operation(memcached.DELETE, key, opaque=number),
                Operation(memcached.FLUSH, extras=bytes(4), opaque=number),
            ],
            [80, 12, 3, 4, 1],
        )[0]
        return self._frame(operation, function)

    def _until(self, cycle: int) -> None:
        """Runs to a cycle; the server answers what comes there meanwhile."""
        while self.design.cycle < cycle:
            # Also those that were sent while registers were read.
            self._take()
            due = self._answers[0][0] if self._answers else cycle
            if due <= self.design.cycle:
                self.design.rx(NETWORK, self._answers.popleft()[1])
                continue
            left = min(due, cycle) - self.design.cycle
            self.design.step(min(self._chunk, left), until_frame=True)
        self._take()

    def _take(self) -> None:
        for port, frame, *cycles in self.design.tx():
            self.seen.append((port, frame, *cycles))
            # Some requests get no answer: their entries expire.
            if port == NETWORK and self._draw.random() < 0.9:
                self._answers.append((self.design.cycle + self.LATENCY, self._reply(frame)))

    def _reply(self, request: bytes) -> bytes:
        end = 34 + int.from_bytes(request[38:40], "big")
        (asked,) = memcached.decode(request[42:end])
        reply = self._server.answer(asked)
        assert reply is not None
        return self._frame(reply, request[29] - 1, response=True)

    def _frame(self, operation: Operation, function: int, *, response: bool = False) -> bytes:
        return frames.udp_frame(
            frames.datagram(operation.encode(), header=False),
            client=(f"10.0.0.{1 + function}", 40_000),
            client_mac=bytes([2, 0, 0, 0, 0, 1 + function]),
            response=response,
        )

    def _look(self) -> None:
        for register in self._manifest.registers:
            if register.access != "wo":
                for name, address in register.addresses():
                    self.seen.append((name, self.design.read_register(address)))


SAFE, FILL = 2, 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"options": SAFE | FILL | 1 << 4},
        {"options": FILL | 2 << 4, "max_age": 5, "rate.1": 50, "weight.2": 300},
        {"options": SAFE | FILL, "group.1": 0, "group.3": 2, "quota.0": 2, "rate.0": 400},
    ],
    ids=["update", "store-with-limits", "invalidate-shared"],
)
def test_idle_time_is_skipped_exactly(tenants: Library, settings: dict[str, int]) -> None:
    """Single steps are never skipped, so they are the reference."""
    skipped = World(tenants, 7, settings, 100_000).run(1_000)
    single = World(tenants, 7, settings, 1).run(1_000)
    for number, (left, right) in enumerate(zip(skipped, single, strict=False)):
        assert left == right, f"differs at {number}"
    assert len(skipped) == len(single)
    last = dict(each for each in skipped if isinstance(each, tuple) and len(each) == 2)
    assert sum(last[f"hits.{function}"] for function in range(4)) > 10
    assert last["miss_expired"] > 3, "entries have expired meanwhile"
