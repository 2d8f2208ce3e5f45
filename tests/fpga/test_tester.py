"""The traffic tester: exact counts in cycles, and LaKe's throughput at the line rate."""

from __future__ import annotations

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.fpga import build, tester
from netkv.fpga.build import Library
from netkv.fpga.tester import Load
from netkv.model import manifest
from tests import checksums

CACHES_OFF = 0b0110
"""LaKe's register `options` without shared caches: every access goes to the DRAM."""


@pytest.fixture
def lake(home: object) -> Library:
    assert home
    return build.build(manifest.find("lake"))


def test_five_elements_take_a_line_rate_of_hits(lake: Library) -> None:
    """13.297 million queries a second on 10GbE; the paper has 13.1. Three elements do, too."""
    load = Load(ports=(0, 1, 2, 3), share=0.25, cycles=8_000)
    assert load.query_bytes() == 74
    for elements in (5, 3):
        found = tester.measure(lake, load, {"pe_mask": (1 << elements) - 1})
        assert found.processed_mqps >= 13.2
        assert found.dropped == found.lost_replies == found.misses == 0
        assert found.offered_mqps == pytest.approx(13.297, rel=0.005)
        assert found.latency(0.5) <= 50


def test_throughput_is_linear_in_elements(lake: Library) -> None:
    """The paper has 3.3 million queries a second for each element."""
    load = Load(ports=(0, 1, 2, 3), cycles=6_000)
    rates = [
        tester.measure(lake, load, {"pe_mask": (1 << elements) - 1}).processed_mqps
        for elements in (1, 2, 5)
    ]
    assert rates[0] >= 6.0
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.03)
    assert rates[2] == pytest.approx(5 * rates[0], rel=0.03)


def test_dram_alone_is_slower_than_the_caches(lake: Library) -> None:
    """The paper has 6.3 million queries a second with five elements."""
    load = Load(ports=(0, 1, 2, 3), keys=256, cycles=6_000)
    found = tester.measure(lake, load, {"options": CACHES_OFF})
    assert 6.3 <= found.processed_mqps <= 20
    assert found.counters["data_hits"] == found.counters["hash_hits"] == 0


def test_absent_keys_are_sent_on(lake: Library) -> None:
    load = Load(hits=0.5, share=0.1, cycles=20_000)
    found = tester.measure(lake, load)
    assert found.misses == pytest.approx(found.hits, rel=0.3)
    assert found.processed == pytest.approx(found.offered, abs=2)
    assert found.replies == pytest.approx(found.hits, abs=2)


@pytest.mark.parametrize("key", [b"key4", b"odd-5", b"k" * 250])
@pytest.mark.parametrize("value", [b"", b"v", b"v" * 900])
def test_frames_have_right_checksums(key: bytes, value: bytes) -> None:
    """As those of the load generators."""
    for frame in (
        tester.get_frame(3, key, 7),
        tester._set(0, key, value, 9),
        tester._stored(1, 3),
        tester._found(2, value, 8),
    ):
        assert checksums.with_ipv4_checksum(frame) == frame
        assert checksums.with_udp_checksum(frame) == frame


def test_same_seed_gives_the_same_result(lake: Library) -> None:
    load = Load(hits=0.8, cycles=3_000, seed=5)
    assert tester.measure(lake, load) == tester.measure(lake, load)


def test_load_that_is_not_possible_is_explained(lake: Library) -> None:
    with pytest.raises(UsageError, match="'lake' has 0 to 3"):
        tester.measure(lake, Load(ports=(4,)))
    with pytest.raises(UsageError, match="shares of a load"):
        tester.measure(lake, Load(share=1.5))
    with pytest.raises(UsageError, match="at most 60,000 queries"):
        tester.measure(lake, Load(cycles=10_000_000))
    with pytest.raises(UsageError, match="has no register 'pes'"):
        tester.measure(lake, Load(), {"pes": 1})
    with pytest.raises(NetkvError, match="no latency"):
        tester.measure(lake, Load(hits=0.0, share=0.01)).latency(0.5)


def test_idle_time_is_skipped_exactly(lake: Library) -> None:
    """Single steps are never skipped, so they are the reference."""
    from netkv._engine import FpgaDesign

    query = tester.get_frame(0, b"none", 7)

    def run(chunk: int) -> list[object]:
        design = FpgaDesign(str(lake.path), 3)
        found: list[object] = []
        design.step(20_000)
        for at in range(6):
            design.rx(0, query, design.cycle + 1_000 * at)
            until = design.cycle + 9_000
            while design.cycle < until:
                design.step(min(chunk, until - design.cycle))
            found += design.tx()
        return [*found, design.cycle, *(design.read_register(at) for at in range(0, 0x110, 4))]

    assert run(100_000) == run(1)


def test_wide_words_store_serve_and_delete(home: object) -> None:
    """The variant for 100GbE: words of 64 bytes. Its frames pass a narrower and a widener."""
    assert home
    library = build.build(manifest.override(manifest.find("lake"), ["word_bytes=64", "PES=1"]))
    load = Load(ports=(0, 1), share=0.05, keys=8, value_bytes=40, cycles=4_000)
    found = tester.measure(library, load)
    assert found.hits == pytest.approx(found.offered, abs=2)
    assert found.misses == found.dropped == 0
    design, _ = tester.offer(library, Load(share=0.001, keys=1, cycles=1, warmup_cycles=0))
    design.step(200_000)  # the load is over
    key = bytes(4)

    def sent(frame: bytes) -> list[tuple[int, int]]:
        """Port and length of each frame that follows from this one."""
        design.tx()
        design.rx(0, frame)
        design.step(2_000)
        return [(port, len(data)) for port, data, *_ in design.tx()]

    query, host = tester.get_frame(0, key, 5), 4
    assert sent(query) == [(0, len(query) + 8)]
    delete = checksums.with_udp_checksum(query[:43] + b"\x04" + query[44:])
    assert sent(delete) == [(host, len(delete))]
    assert sent(query) == [(host, len(query))]


def test_lake_shows_a_frame_from_its_arrival_to_its_reply(lake: Library) -> None:
    """The clock of a design rests when it says that it has no frame: then a frame would wait."""
    design, _ = tester.offer(lake, Load(keys=4, share=0.01, cycles=1, warmup_cycles=0))
    _, state = lake.manifest.register("state")
    replied = []
    for cycles in range(1, 120):
        design.step(4096)
        design.tx()
        design.rx(0, tester.get_frame(0, (cycles % 4).to_bytes(4, "big"), cycles))
        design.step(cycles)
        at_mac = design.pending_rx + design.pending_tx > 0
        replied.append(bool(design.tx()))
        shown = design.read_register(state) & lake.manifest.idle.busy_mask != 0
        assert shown or at_mac or replied[-1], f"not shown after {cycles} cycles"
    assert not replied[0]
    assert replied[-1]
    assert not shown
