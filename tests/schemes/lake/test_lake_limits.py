"""LaKe at its limits: full memories, resets, frames that are no requests, overload."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from netkv.model import manifest
from tests.fpga.packets import Operation, frames, get, memcached, store
from tests.schemes.lake.lake import HOST, Client, Lab, Lake

CHUNKS_64, CHUNKS_512 = 4096, 256  # fpga/mutants/lake_mutants.sv
PAPER = 0b1101  # options: a SET is stored without its reply


def flood(lake: Lake, inward: list[bytes], batch: int = 16) -> int:
    """Requests of one client, which the design gets as fast as it takes them; cycles."""
    begin = lake.design.cycle
    for start in range(0, len(inward), batch):
        lake.pass_frames((0, frame) for frame in inward[start : start + batch])
    return lake.design.cycle - begin


def request(lab: Lab, operation: Operation) -> bytes:
    return lab.frame(Client(0), operation.encode())


@pytest.mark.slow
def test_a_million_sets_and_deletes_lose_no_chunk(lab: Lab) -> None:
    """Ends with as many entries as there are chunks of 64 bytes: every chunk is there."""
    lake = lab.lake
    lake.write("options", PAPER)
    rng = random.Random(3)
    keys = [b"%04d" % number for number in range(2000)]
    # Values of all classes of chunks.
    sets = [request(lab, store(key, bytes(rng.choice((4, 4, 4, 4, 60, 150, 400))))) for key in keys]
    deletes = [request(lab, Operation(memcached.DELETE, key)) for key in keys]
    both = [*sets, *deletes]
    total = 1_000_000
    cycles = sum(flood(lake, rng.choices(both, k=10_000)) for _ in range(total // 10_000))
    print(f"{cycles} cycles")
    assert lake.read("dropped") == 0
    assert lake.read("lost_chunks") == 0
    assert lake.read("stored") > total // 4
    assert 0 < lake.chunks_in_use <= len(keys)
    flood(lake, deletes)
    assert lake.chunks_in_use == 0
    fresh = [b"all%d" % number for number in range(CHUNKS_64)]
    flood(lake, [request(lab, store(key, b"")) for key in fresh])
    kept = CHUNKS_64 - lake.read("evicted") - lake.read("uncached")
    assert lake.read("chunks_in_use.0") >= kept
    assert lake.read("lost_chunks") == 0


def test_exhausted_chunks_come_back(lab: Lab) -> None:
    lab.lake.write("options", PAPER)
    keys = [b"large%d" % number for number in range(CHUNKS_512 + 50)]
    for round_number in range(3):
        value = bytes([round_number]) * 400
        for key in keys:
            lab.ask(store(key, value))
        assert lab.lake.read("chunks_in_use.3") == CHUNKS_512
        assert lab.lake.read("alloc_failures") > 0
        # What found no chunk is at the server.
        assert sum(lab.is_hit(key) for key in keys) >= CHUNKS_512 // 2
        for key in keys:
            lab.ask(Operation(memcached.DELETE, key))
        assert lab.lake.chunks_in_use == 0
    assert lab.lake.read("lost_chunks") == 0


def test_full_miss_table_forwards_and_recovers(lab: Lab) -> None:
    """More requests without a reply than it has entries, then replies to the last ones."""
    keys = [b"miss%d" % number for number in range(400)]
    for key in keys:
        lab.hold(key, b"value of " + key)
    lab.lake.write("lifetime", 1_000_000)
    pending = [lab.forwarded(get(key, opaque=number)) for number, key in enumerate(keys)]
    assert lab.lake.read("miss_full") > 0
    for each in reversed(pending):
        for reply in lab.execute(each):
            lab.deliver(reply)
    assert lab.lake.read("miss_live") == 0
    for key in keys[:100]:
        lab.is_hit(key)
        assert lab.is_hit(key)


def test_reset_in_the_middle_of_frames(lab: Lab) -> None:
    """After it the design serves nothing from before, and works."""
    rng = random.Random(2)
    for round_number in range(12):
        key = b"reset%d" % rng.randrange(4)
        lab.fill(key, b"value %d" % round_number)
        for number in range(8):
            port = rng.randrange(5)
            client = Client(number % 4)
            operation = rng.choice([get(key), store(key, bytes(300)), get(b"none%d" % number)])
            reply = Operation(memcached.GET, extras=bytes(4), value=bytes(600), magic=0x81)
            lab.lake.design.rx(
                port if port == HOST else client.lane,
                lab.frame(client, reply.encode(), response=True)
                if port == HOST
                else lab.frame(client, operation.encode()),
            )
        lab.lake.design.step(rng.randrange(1, 300))
        lab.lake.design.reset()
        lab.lake.design.tx()
        # Nobody saw this one.
        lab.hold(key, b"changed in round %d" % round_number)
        lab.lake.configure()
        assert not lab.is_hit(key)
        assert lab.is_hit(key)
        assert lab.lake.chunks_in_use == 1
        assert lab.lake.design.counters(0)["tx_malformed"] == 0


def spoiled(rng: random.Random, frame: bytes) -> bytes:
    """A frame with changes that a fuzzer would make."""
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 2, 8))):
        match rng.randrange(5):
            case 0:
                data[rng.randrange(len(data))] = rng.randrange(256)
            case 1:
                del data[rng.randrange(len(data)) + 1 :]
            case 2:
                data += rng.randbytes(rng.randrange(1, 100))
            case 3:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case _:
                at = rng.randrange(max(1, len(data) - 2))
                data[at : at + 2] = rng.choice((b"\0\0", b"\xff\xff", b"\x7f\xff", b"\0\1"))
    return bytes(data[:9000]).ljust(14, b"\0")  # no MAC passes less


@pytest.mark.parametrize("seed", range(3))
def test_random_frames_do_no_harm(lab: Lab, seed: int) -> None:
    """Nothing hangs, and the cache works on. The server ignores these frames."""
    rng = random.Random(seed)
    lake = lab.lake
    keys = [b"fuzz%d" % number for number in range(6)]
    for key in keys:
        lab.fill(key, b"value of " + key)
    examples: list[tuple[int, bytes]] = []
    for key in keys:
        for operation in (
            get(key),
            get(key, opcode=memcached.GETKQ),
            store(key, rng.randbytes(100)),
            Operation(memcached.DELETE, key),
            Operation(memcached.FLUSH),
        ):
            payload = operation.encode() + rng.choice((b"", get(b"x").encode()))
            examples.append((0, lab.frame(Client(0), payload)))
    answer = Operation(memcached.GET, extras=bytes(4), value=bytes(99), magic=0x81)
    examples.append((HOST, lab.frame(Client(3), answer.encode(), response=True)))
    examples += [(0, frames.arp()), (1, frames.ethernet(frames.ipv4(frames.tcp(), frames.TCP)))]
    for _ in range(500):
        for _ in range(rng.randrange(1, 4)):
            port, frame = rng.choice(examples)
            if rng.random() < 0.2:
                frame = rng.randbytes(rng.choice((14, 31, 32, 33, 60, 63, 64, 65, 1514)))
            if rng.random() < 0.1:
                port = rng.randrange(HOST + 1)
            lake.design.rx(port, spoiled(rng, frame))
        lake.design.step(rng.choice((0, 50, 1000)))
    lake.design.step(50_000)
    assert lake.design.pending_rx == 0, "the design hangs"
    lake.design.tx()
    lake.write("command", 2)
    lake.pass_lifetime()
    for key in keys:
        lab.is_hit(key)
    for key in keys:
        lab.ask(get(key))
        lab.ask(store(key, b"after"))
        lab.is_hit(key)
    for port in range(HOST + 1):
        assert lake.design.counters(port)["tx_malformed"] == 0
    assert lake.read("lost_chunks") == 0


def test_overload_loses_no_normal_frame(lab: Lab) -> None:
    """Queries at line rate on all ports; normal frames in both directions keep their order."""
    lake, rng = lab.lake, random.Random(4)
    design = lake.design
    ports = manifest.find("lake").ports
    key = b"key1"
    lab.fill(key, b"value..1")
    for port in range(HOST):
        # The receive buffer of a MAC is small: a design that stalls loses frames.
        rate = manifest.find("lake").bits_per_1000_cycles(ports[port])
        assert rate == 50_000
        design.set_port(port, bits_per_1000_cycles=rate, rx_frames=16)
    sent: dict[tuple[int, int], list[bytes]] = defaultdict(list)

    def normal(source: int, target: int) -> bytes:
        number = len(sent[source, target])
        body = bytes([source, target]) + number.to_bytes(4, "big")
        frame = frames.ethernet(
            body + rng.randbytes(rng.choice((40, 200, 1000))),
            source=frames.SERVER_MAC if source == HOST else Client(source).mac,
            destination=frames.SERVER_MAC if target == HOST else Client(target).mac,
            ethertype=0x88B5,
        )
        sent[source, target].append(frame)
        return frame

    # The switch learns where the clients are.
    for port in range(HOST):
        lake.pass_frame(port, normal(port, HOST))
    sent.clear()
    begin = design.cycle
    hit = [lab.frame(Client(port), get(key).encode()) for port in range(HOST)]
    miss = [lab.frame(Client(port), get(b"none").encode()) for port in range(HOST)]
    for _ in range(400):
        for port in range(HOST):
            for _ in range(3):
                design.rx(port, (hit if rng.random() < 0.9 else miss)[port], begin)
            if rng.random() < 0.3:
                design.rx(port, normal(port, HOST), begin)
    for number in range(300):
        design.rx(HOST, normal(HOST, number % HOST), begin + number * 100)
    out: list[tuple[int, bytes]] = []
    while design.pending_rx or design.pending_tx:
        design.step(5000)
        out += [(port, frame) for port, frame, *_ in design.tx()]
    assert lake.read("dropped") > 100, "this was no overload"
    arrived: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for port, frame in out:
        if frame[12:14] == b"\x88\xb5":
            arrived[frame[14], frame[15]].append(frame)
            assert port == frame[15]
    for pair, expected in sent.items():
        assert arrived[pair] == expected, f"from port {pair[0]} to {pair[1]}"
    for port in range(HOST + 1):
        assert design.counters(port)["rx_drops"] == 0
