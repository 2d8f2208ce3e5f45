"""When clients may drop preserved records, and servers tombstones."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload
from netkv.control.messages import Bit, Datagram, Message, Op
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.record import Record
from netkv.schemes.farreach.release import PAIRS, parts_of
from tests.schemes.farreach.farreach_load import KEYS
from tests.schemes.farreach.farreach_rack import ROUGH, Rack, key_of, watching

OPTIONS = FarReachParameters(
    capacity=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=SECOND,
    drawn=8,
    tries=4,
)
KEY = KEYS[0]


def rack(seed: int = 0, **options: object) -> Rack:
    it = Rack(replace(OPTIONS, **options), seed)  # type: ignore[arg-type]
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it.start(preload=tuple(KEYS[:4]))


def kept(it: Rack, client: int) -> set[bytes]:
    return set(it.processes[client].preserved)


def released(it: Rack) -> list[tuple[int, int]]:
    """Numbers and parts of all RELEASEs that were sent."""
    stamps = (message.stamp for message in it.sent if message.op is Op.RELEASE)
    return [(stamp.incarnation, stamp.number) for stamp in stamps if stamp is not None]


def test_client_keeps_what_it_wrote_until_a_snapshot_has_it() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    assert kept(it, 1) == {KEY}
    it.run(1100 * MILLISECOND)
    assert kept(it, 1) == set()


def test_reader_keeps_what_only_the_switch_has() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    it.get(2, KEY)
    assert kept(it, 2) == {KEY}
    it.run(1100 * MILLISECOND)
    assert kept(it, 2) == set()


def test_what_is_written_after_the_point_is_kept() -> None:
    it = rack()
    it.put(1, KEY, b"before")
    it.lost = watching(lambda datagram: late(datagram.message))

    def late(message: Message) -> None:
        if message.op is Op.LOAD and not wrote:
            wrote.append(it.processes[1].begin(Op.PUT, KEY, b"after"))

    wrote: list[object] = []
    it.run(1100 * MILLISECOND)
    assert wrote
    assert released(it)
    assert kept(it, 1) == {KEY}


def test_record_of_a_key_that_is_not_cached_any_more_goes_in_the_end() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    entry = it.control._index.of_key(KEY)
    assert entry is not None
    it.control._eviction.begin(entry)
    it.run(500 * MILLISECOND)
    assert kept(it, 1) == {KEY}
    it.run(4 * SECOND)
    assert kept(it, 1) == set()


def test_release_of_many_keys_comes_in_parts() -> None:
    records = [Record(key_of(number), 1, number, 0, b"") for number in range(2 * PAIRS + 1)]
    parts = parts_of(records)
    assert [len(part) for part in parts] == [PAIRS * 24, PAIRS * 24, 24]
    assert max(len(part) for part in parts) <= 1024
    assert parts[2] == key_of(2 * PAIRS) + (1).to_bytes(4) + (2 * PAIRS).to_bytes(4)
    assert parts_of([]) == (b"",)


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_are_lost_or_overtake_each_other_are_all_heard(seed: int) -> None:
    it = rack(seed, capacity=300, snapshot_period=2 * SECOND, tries=12)
    many = [key_of(number) for number in range(1000, 1200)]
    for key in many:
        it.store(key, b"x")
    it.tell(Preload(tuple(many)))
    it.run_until(it.control.ready)
    for key in many:
        it.processes[1].begin(Op.PUT, key, b"y")
    it.run(50 * MILLISECOND)
    assert len(kept(it, 1)) == len(many)
    it.net, it.channel = replace(ROUGH), replace(ROUGH)
    it.run(6 * SECOND)
    assert kept(it, 1) == set()
    numbers = released(it)
    assert {number & 0xFFFF for _, number in numbers} == {5}
    assert {number >> 16 for _, number in numbers} == set(range(5))


def test_numbers_of_releases_grow_over_controllers() -> None:
    it = rack()
    it.run(3 * SECOND)
    before = [number for number, _ in released(it)]
    it.kill_controller()
    it.replace_controller()
    it.run_until(it.control.ready)
    it.run(2 * SECOND)
    after = [number for number, _ in released(it)][len(before) :]
    assert after
    assert min(after) > max(before)


def test_client_that_is_late_hears_of_no_snapshot_that_was_taken_before_it_answered() -> None:
    it = rack()
    deaf = it.processes[1].ip
    it.lost = lambda datagram: datagram.message.op is Op.RELEASE and datagram.destination == deaf
    it.run(3500 * MILLISECOND)
    heard: list[tuple[int, int]] = []

    def listen(datagram: Datagram) -> bool:
        message = datagram.message
        if message.op is Op.RELEASE and datagram.destination == deaf and message.stamp:
            heard.append((message.stamp.incarnation, it.now))
        return False

    it.lost = listen
    it.run(2 * SECOND)
    first = heard[0][0]
    assert {number for number, _ in heard} == {first, *range(first + 3, first + 6)} - {
        number for number in range(first + 3, first + 6) if number not in dict(heard)
    }
    assert not {first + 1, first + 2} & set(dict(heard))


def test_release_goes_on_after_a_crash_of_the_switch() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    deaf = it.processes[1].ip
    it.lost = lambda datagram: datagram.message.op is Op.RELEASE and datagram.destination == deaf
    it.run(1500 * MILLISECOND)
    it.crash_switch()
    it.lost = lambda _: False
    it.run_until(it.control.ready)
    it.run(100 * MILLISECOND)
    assert it.processes[1].whole == 1


def watermarks(it: Rack) -> int:
    return it.control.statistics().get("watermarks", 0)


def test_servers_hear_of_a_watermark_when_all_clients_have_heard_the_release() -> None:
    it = rack()
    it.run(2500 * MILLISECOND)
    assert watermarks(it) == 1, "the first snapshot has nothing to be compared with"
    deaf = it.processes[1].ip
    it.lost = lambda datagram: datagram.message.op is Op.RELEASE and datagram.destination == deaf
    it.run(5 * SECOND)
    assert watermarks(it) == 1
    it.lost = lambda _: False
    it.run(5 * SECOND)
    assert watermarks(it) >= 4
    assert all(shim.watermarks == watermarks(it) for shim in it.shims.values())


def test_tombstone_is_dropped_when_nothing_older_is_left() -> None:
    it = rack()
    shim = it.shims[it.topology.owner(KEYS[9]).index]
    it.put(1, KEYS[9], b"uncached")
    it.delete(1, KEYS[9])
    assert shim.store[KEYS[9]].deleted
    it.run(15 * SECOND)
    assert KEYS[9] not in shim.store
    assert it.get(1, KEYS[9]) is None


def test_tombstone_stays_as_long_as_an_older_record_is_in_the_switch() -> None:
    # A delete that was forwarded before its key was cached: a copy of it, with a later number than
    # a write that the entry has applied, reaches the server when the first was lost.
    it = rack()
    it.put(1, KEY, b"older")
    shim = it.shims[it.topology.owner(KEY).index]
    shim._keep(Record(KEY, 2, it.switch.outdate(KEY), int(Bit.DELETED), b""))
    it.run(10 * SECOND)
    assert it.control.statistics()["evicted_doubtful"] == 1, "nobody asked for the key"
    assert KEY not in it.cached()
    assert watermarks(it) >= 5
    assert KEY not in shim.store
    assert it.get(1, KEY) is None
    it.crash_switch()
    it.run_until(it.control.ready)
    assert it.get(1, KEY) is None


def test_record_that_is_being_evicted_keeps_tombstones_in_place() -> None:
    it = rack()
    it.run(2500 * MILLISECOND)
    before = watermarks(it)
    it.put(1, KEY, b"older")
    it.run(SECOND)
    it.lost = lambda datagram: datagram.message.op is Op.RESTORE
    entry = it.control._index.of_key(KEY)
    assert entry is not None
    it.control._eviction.begin(entry)
    it.delete(2, KEY)
    it.run(SECOND)
    between = watermarks(it)
    it.run(10 * SECOND)
    assert watermarks(it) == between <= before + 2
    assert it.get(1, KEY) is None
    it.lost = lambda _: False
    it.run(10 * SECOND)
    assert watermarks(it) > between
    assert it.get(1, KEY) is None
