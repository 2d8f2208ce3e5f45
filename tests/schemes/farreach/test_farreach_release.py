"""When clients may drop preserved records, and servers tombstones."""

from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload
from netkv.kits.write_back.record import Record
from netkv.model.messages import Bit, Message, Op
from netkv.schemes.farreach.release import PAIRS, parts_of
from tests.schemes.farreach.farreach_load import KEYS, stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, IMPAIRED, Rack
from tests.schemes.scripted_rack import Hop, key_of, observing

CONFIGURATION = DEFAULTS.changed(
    cache_entries=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=0.1,
    snapshot_period=1.0,
    drawn=8,
    tries=4,
)
KEY = KEYS[0]


def make_rack(seed: int = 0, **options: Any) -> Rack:
    return stocked_rack(CONFIGURATION, seed, **options).start(preload=tuple(KEYS[:4]))


def kept(rack: Rack, client: int) -> set[bytes]:
    return set(rack.processes[client].preserved)


def released(rack: Rack) -> list[tuple[int, int]]:
    """Numbers and parts of all RELEASEs that were sent."""
    stamps = (hop.message.stamp for hop in rack.sent if hop.op is Op.RELEASE)
    return [(stamp.incarnation, stamp.number) for stamp in stamps if stamp is not None]


def test_writer_preserves_a_record_until_it_is_in_a_snapshot() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    assert kept(rack, 1) == {KEY}
    rack.run(1100 * MILLISECOND)
    assert kept(rack, 1) == set()


def test_reader_preserves_records_that_only_the_switch_has() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    rack.get(2, KEY)
    assert kept(rack, 2) == {KEY}
    rack.run(1100 * MILLISECOND)
    assert kept(rack, 2) == set()


def test_record_written_after_the_snapshot_point_is_preserved() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"before")
    rack.lost = observing(lambda hop: late(hop.message))

    def late(message: Message) -> None:
        if message.op is Op.LOAD and not wrote:
            wrote.append(rack.processes[1].begin(Op.PUT, KEY, b"after"))

    wrote: list[object] = []
    rack.run(1100 * MILLISECOND)
    assert wrote
    assert released(rack)
    assert kept(rack, 1) == {KEY}


def test_preserved_record_of_an_evicted_key_is_dropped_later() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    entry = rack.control._index.of_key(KEY)
    assert entry is not None
    rack.control._eviction.begin(entry)
    rack.run(500 * MILLISECOND)
    assert kept(rack, 1) == {KEY}
    rack.run(4 * SECOND)
    assert kept(rack, 1) == set()


def test_release_of_many_keys_has_several_parts() -> None:
    records = [Record(key_of(number), 1, number, 0, b"") for number in range(2 * PAIRS + 1)]
    parts = parts_of(records)
    assert [len(part) for part in parts] == [PAIRS * 24, PAIRS * 24, 24]
    assert max(len(part) for part in parts) <= 1024
    assert parts[2] == key_of(2 * PAIRS) + (1).to_bytes(4) + (2 * PAIRS).to_bytes(4)
    assert parts_of([]) == (b"",)


@pytest.mark.parametrize("seed", range(5))
def test_all_parts_of_a_release_arrive_on_a_bad_network(seed: int) -> None:
    rack = make_rack(seed, cache_entries=300, snapshot_period=2.0, tries=12)
    many = [key_of(number) for number in range(1000, 1200)]
    for key in many:
        rack.store(key, b"x")
    rack.handle(Preload(tuple(many)))
    rack.run_until(rack.control.ready)
    for key in many:
        rack.processes[1].begin(Op.PUT, key, b"y")
    rack.run(50 * MILLISECOND)
    assert len(kept(rack, 1)) == len(many)
    rack.net, rack.channel = replace(IMPAIRED), replace(IMPAIRED)
    rack.run(6 * SECOND)
    assert kept(rack, 1) == set()
    numbers = released(rack)
    assert {number & 0xFFFF for _, number in numbers} == {5}
    assert {number >> 16 for _, number in numbers} == set(range(5))


def test_numbers_of_releases_grow_over_controllers() -> None:
    rack = make_rack()
    rack.run(3 * SECOND)
    before = [number for number, _ in released(rack)]
    rack.kill_controller()
    rack.replace_controller()
    rack.run_until(rack.control.ready)
    rack.run(2 * SECOND)
    after = [number for number, _ in released(rack)][len(before) :]
    assert after
    assert min(after) > max(before)


def test_late_client_skips_snapshots_from_before_its_answer() -> None:
    rack = make_rack()
    unreachable = rack.processes[1].ip
    rack.lost = lambda hop: hop.op is Op.RELEASE and hop.datagram.destination == unreachable
    rack.run(3500 * MILLISECOND)
    received: list[tuple[int, int]] = []

    def record(hop: Hop) -> bool:
        message = hop.message
        if message.op is Op.RELEASE and hop.datagram.destination == unreachable and message.stamp:
            received.append((message.stamp.incarnation, rack.now))
        return False

    rack.lost = record
    rack.run(2 * SECOND)
    first = received[0][0]
    assert {number for number, _ in received} == {first, *range(first + 3, first + 6)} - {
        number for number in range(first + 3, first + 6) if number not in dict(received)
    }
    assert not {first + 1, first + 2} & set(dict(received))


def test_release_continues_after_a_crash_of_the_switch() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    unreachable = rack.processes[1].ip
    rack.lost = lambda hop: hop.op is Op.RELEASE and hop.datagram.destination == unreachable
    rack.run(1500 * MILLISECOND)
    rack.crash_switch()
    rack.lost = lambda _: False
    rack.run_until(rack.control.ready)
    rack.run(100 * MILLISECOND)
    assert rack.processes[1].last_release == 1


def watermarks(rack: Rack) -> int:
    return rack.control.statistics().get("watermarks", 0)


def test_watermark_is_sent_after_all_clients_have_the_release() -> None:
    rack = make_rack()
    rack.run(2500 * MILLISECOND)
    assert watermarks(rack) == 1, "the first snapshot has no predecessor"
    unreachable = rack.processes[1].ip
    rack.lost = lambda hop: hop.op is Op.RELEASE and hop.datagram.destination == unreachable
    rack.run(5 * SECOND)
    assert watermarks(rack) == 1
    rack.lost = lambda _: False
    rack.run(5 * SECOND)
    assert watermarks(rack) >= 4
    assert all(shim.watermarks == watermarks(rack) for shim in rack.shims.values())


def test_tombstone_is_dropped_when_no_older_record_exists() -> None:
    rack = make_rack()
    shim = rack.shims[rack.topology.owner(KEYS[9]).index]
    rack.put(1, KEYS[9], b"uncached")
    rack.delete(1, KEYS[9])
    assert shim.store[KEYS[9]].deleted
    rack.run(15 * SECOND)
    assert KEYS[9] not in shim.store
    assert rack.get(1, KEYS[9]) is None


def test_tombstone_stays_while_the_switch_has_an_older_record() -> None:
    # A delete was forwarded before its key was cached, and lost. Its copy has a later number than a
    # write that the entry has applied, and reaches the server.
    rack = make_rack()
    rack.put(1, KEY, b"older")
    shim = rack.shims[rack.topology.owner(KEY).index]
    shim._store_if_later(Record(KEY, 2, rack.switch.outdate(KEY), int(Bit.DELETED), b""))
    rack.run(10 * SECOND)
    assert rack.control.statistics()["evicted_doubtful"] == 1, "no read has refreshed the entry"
    assert KEY not in rack.cached()
    assert watermarks(rack) >= 5
    assert KEY not in shim.store
    assert rack.get(1, KEY) is None
    rack.crash_switch()
    rack.run_until(rack.control.ready)
    assert rack.get(1, KEY) is None


def test_no_watermark_is_sent_during_an_eviction() -> None:
    rack = make_rack()
    rack.run(2500 * MILLISECOND)
    before = watermarks(rack)
    rack.put(1, KEY, b"older")
    rack.run(SECOND)
    rack.lost = lambda hop: hop.op is Op.RESTORE
    entry = rack.control._index.of_key(KEY)
    assert entry is not None
    rack.control._eviction.begin(entry)
    rack.delete(2, KEY)
    rack.run(SECOND)
    between = watermarks(rack)
    rack.run(10 * SECOND)
    assert watermarks(rack) == between <= before + 2
    assert rack.get(1, KEY) is None
    rack.lost = lambda _: False
    rack.run(10 * SECOND)
    assert watermarks(rack) > between
    assert rack.get(1, KEY) is None
