"""NetMC's switch: the paper's example, dropped requests, and the bound of recirculation."""

from dataclasses import replace
from random import Random

import pytest

from netkv.model.topology import client_ip, mac_of, server_ip, splitter_ip
from tests.schemes.netmc.programs import multiget
from tests.schemes.netmc.programs.netmc_switch import NetMcSwitch
from tests.schemes.netmc.programs.splitting import (
    FIGURES,
    LARGE_TOPOLOGY,
    MALFORMED,
    SINGLE,
    TOPOLOGY,
)

NOT_SPLIT = 8
SRV = "01 02 03 00 00 00 00 00"
KEYS = "04 41414141 04 44444444 04 42424242 04 43434343"


@pytest.mark.parametrize("executor", ["interpreter", "compiled"])
@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_the_example_of_figures_5_to_7(executor: str, pipelines: int) -> None:
    """Keys A and D are server 1's, B is server 2's, C server 3's; the request has number 1001.

    Both copies of a pass are equal, so the recirculated frame is also the sub-request.
    """
    switch = NetMcSwitch(8, executor, pipelines).fill(TOPOLOGY)
    #                          op  id        oid numkey keyidx startidx clo srv   rack keys
    request = bytes.fromhex(f"01 000003e9   01  04     7000   00       00 {SRV} 01 {KEYS}")
    passes = [
        bytes.fromhex(f"      01 000003e9   01  02     c000   00       01 {SRV} 01 {KEYS}"),
        bytes.fromhex(f"      01 000003e9   02  01     8000   02       01 {SRV} 01 {KEYS}"),
        bytes.fromhex(f"      01 000003e9   03  01     0000   03       01 {SRV} 01 {KEYS}"),
    ]
    whole = multiget.request(FIGURES, payload=bytes.fromhex(KEYS))
    assert whole.pack(8) == request

    left = dict(switch.ask(whole))

    assert {port: frame[42:] for port, frame in left.items()} == dict(
        zip((12, 13, 14), passes, strict=True)
    )
    for server, port in ((1, 12), (2, 13), (3, 14)):
        assert left[port][:6] == mac_of(server_ip(server)).to_bytes(6)
        assert left[port][26:34] == client_ip(1).to_bytes(4) + server_ip(server).to_bytes(4)
    assert switch.engine.statistics()["recirculated"] == 2
    # Figure 7: the reply with A and D is forwarded to the client unchanged.
    pairs = b"\0" + bytes.fromhex("04 41414141 00 0001 61 04 44444444 00 0001 64")
    reply = replace(whole, op=0x81, oid=1, numkey=2, keyidx=0, clo=1, rack=0, payload=pairs)
    frame = reply.frame(8, server_ip(1), client_ip(1))
    assert switch.engine.process(12, frame) == [(1, frame)]


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_requests_that_cannot_be_split_are_counted_by_reason(change: dict[str, object]) -> None:
    switch = NetMcSwitch().fill(TOPOLOGY)
    assert switch.ask(replace(multiget.request(FIGURES), **change)) == []  # type: ignore[arg-type]
    assert switch.ask(replace(multiget.request(SINGLE), **change)) == []  # type: ignore[arg-type]
    assert switch.drops() == {NOT_SPLIT: 2}


def test_other_drops_have_the_reasons_that_all_programs_share() -> None:
    switch = NetMcSwitch().fill(TOPOLOGY)
    whole = multiget.request(FIGURES)
    frame = whole.frame(8, client_ip(1), splitter_ip(1))
    assert switch.engine.process(1, frame[:-1]) == []
    assert switch.drops() == {1: 1}
    # Truncated and not splittable: counted as truncated.
    cut = replace(whole, numkey=0).frame(8, client_ip(1), splitter_ip(1))[:-1]
    assert switch.engine.process(1, cut) == []
    assert switch.drops() == {1: 2}
    assert switch.engine.process(1, frame[:12] + b"\x86\xdd" + frame[14:]) == []
    assert switch.drops() == {1: 2, 2: 1}
    assert switch.ask(replace(whole, rack=2)) == []
    assert switch.drops() == {1: 2, 2: 1, 4: 1}


def test_a_clone_from_outside_is_not_split() -> None:
    """It is a sub-request on its way to its server, or forged."""
    switch = NetMcSwitch().fill(TOPOLOGY)
    clone = replace(multiget.request(FIGURES), clo=1)
    frame = clone.frame(8, client_ip(1), server_ip(5))
    assert switch.engine.process(1, frame) == [(16, frame)]
    assert switch.ask(clone) == []
    assert switch.engine.statistics()["recirculated"] == 0


def test_the_switch_has_no_state() -> None:
    """It has no register. A repeated request is split in the same way, in any order."""
    switch = NetMcSwitch().fill(TOPOLOGY)
    assert list(switch.names.schema.registers) == []
    requests = [multiget.request(FIGURES), multiget.request(((4, 3), (2, 1), (4, 5)))]
    first = [switch.ask(whole) for whole in requests]
    for _ in range(3):
        assert [switch.ask(whole) for whole in reversed(requests)] == first[::-1]


@pytest.mark.parametrize("fields", [1, 8, 32])
@pytest.mark.parametrize("executor", ["interpreter", "compiled"])
def test_recirculation_is_bounded_for_random_requests(fields: int, executor: str) -> None:
    topology = LARGE_TOPOLOGY if fields == 32 else TOPOLOGY
    if fields == 1:
        topology = replace(TOPOLOGY, local=frozenset([0]))
    switch = NetMcSwitch(fields, executor).fill(topology)
    random = Random(fields)
    before = 0
    split = 0
    for _ in range(2000):
        whole = multiget.Multiget(
            op=random.choice([1, 1, 2, 3, 4, random.randrange(256)]),
            id=random.randrange(1 << 32),
            oid=random.choice([1, 1, 1, random.randrange(256)]),
            numkey=random.choice([16, random.randrange(256)]),
            keyidx=random.choice([0xFFFF, random.randrange(1 << 16)]),
            startidx=random.choice([0, 0, random.randrange(256)]),
            clo=random.choice([0, 0, 0, random.randrange(256)]),
            srv=tuple(random.randrange(8 if random.random() < 0.9 else 256) for _ in range(fields)),
            rack=random.choice([1, 1, 1, random.randrange(256)]),
            payload=multiget.keys(16),
        )
        left = switch.ask(whole)
        after = switch.engine.statistics()["recirculated"]
        assert after - before <= 15
        assert len(left) <= min(16, fields)
        split += len(left) > 1
        before = after
    assert split > 100 or fields == 1
    assert switch.engine.statistics()["loops_cut"] == 0
