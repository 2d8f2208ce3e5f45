"""FarReach's snapshots: the records of the switch at one moment, or an incomplete snapshot."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, InsertEntry, ModifyEntry, TableWrite
from netkv.model.messages import Op, encode
from netkv.schemes.farreach.checkpoint_format import State, from_bytes
from netkv.schemes.farreach.snapshot_tables import SNAPSHOT
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load, stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, IMPAIRED, UNIMPAIRED, Rack
from tests.schemes.farreach.farreach_snapshot_checker import SnapshotChecker
from tests.schemes.farreach.measure_farreach import Script, snapshot
from tests.schemes.scripted_rack import Hop

CONFIGURATION = DEFAULTS.changed(
    cache_entries=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=0.1,
    snapshot_period=1.0,
    original_patience=100 * MILLISECOND,
    drawn=8,
    tries=4,
)


def make_rack(seed: int = 0, **options: Any) -> Rack:
    return stocked_rack(CONFIGURATION, seed, **options).start(preload=tuple(KEYS[:4]))


def saved(rack: Rack) -> State:
    assert rack.disk is not None
    return from_bytes(rack.disk)


def values(rack: Rack) -> dict[bytes, bytes]:
    """The records of the snapshot in force."""
    return {record.key: record.value for record in saved(rack).records}


def next_snapshot(rack: Rack) -> None:
    """Advance the time until the next snapshot is in force."""
    before = rack.control.statistics().get("snapshots", 0)
    rack.run_until(lambda: rack.control.statistics().get("snapshots", 0) > before, 5 * SECOND)


def at_the_point(rack: Rack, what: Callable[[], None]) -> None:
    """Call a function as soon as pipeline 0 has passed the next snapshot point."""
    carry_out = rack.switch.write
    done: list[int] = []

    def carried_out(write: TableWrite, pipeline: int) -> str:
        error = carry_out(write, pipeline)
        if not isinstance(write, InsertEntry | ModifyEntry) or done:
            return error
        if write.action.endswith("taking") and write.match["pipeline"] == pipeline == 0:
            done.append(1)
            what()
        return error

    rack.switch.write = carried_out  # type: ignore[method-assign]


def test_snapshot_is_taken_every_period_with_all_writes_before() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"one")
    rack.put(2, KEYS[1], b"two")
    rack.delete(1, KEYS[2])
    rack.run(3 * SECOND)
    assert rack.control.statistics()["snapshots"] in (3, 4)
    state = saved(rack)
    found = {record.key: record for record in state.records}
    assert set(found) == set(KEYS[:4])
    assert (found[KEYS[0]].value, found[KEYS[1]].value) == (b"one", b"two")
    assert found[KEYS[2]].deleted
    assert [found[key].dirty for key in KEYS[:4]] == [True, True, True, False]
    assert state.incarnation == 2
    assert len(state.clients) == 2


def test_no_snapshot_is_taken_if_the_period_is_0() -> None:
    rack = make_rack(snapshot_period=0.0)
    rack.run(30 * SECOND)
    assert "snapshots" not in rack.control.statistics()


def test_write_after_the_point_does_not_change_the_snapshot() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"before")

    # After two writes to an entry, the snapshot has the record from before the first.
    def twice() -> None:
        write(rack, 1, KEYS[0], b"after")
        write(rack, 2, KEYS[0], b"again")

    at_the_point(rack, twice)
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"before"
    assert rack.get(1, KEYS[0]) in (b"after", b"again")
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] in (b"after", b"again")
    assert rack.control.statistics()["originals"] >= 1


def write(rack: Rack, client: int, key: bytes, value: bytes) -> None:
    rack.processes[client].begin(Op.PUT, key, value)


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_snapshot_is_the_state_at_one_moment_in_all_pipelines(pipelines: int, seed: int) -> None:
    configuration = SMALL.changed(pipelines=pipelines, snapshot_period=0.04, hot_threshold=15)
    rack = Rack(configuration, seed, clients=4, servers=4)
    checker = SnapshotChecker(rack)
    rack.start(preload=tuple(KEYS[:6]))
    load = Load(rack)
    checked = 0
    for _ in range(50):
        rack.run(20 * MILLISECOND)
        checked += bool(checker.check().records)
    load.running = False
    assert checked > 20
    assert rack.control.statistics()["originals"] > 10
    assert rack.control.statistics()["evictions"] > 3
    assert rack.violations() == []


@pytest.mark.parametrize("seed", range(8))
def test_snapshot_on_an_impaired_network_is_correct_or_missing(seed: int) -> None:
    configuration = SMALL.changed(
        pipelines=(1, 2)[seed % 2], snapshot_period=0.06, hot_threshold=10
    )
    rack = Rack(
        configuration, seed, clients=4, servers=4, net=replace(IMPAIRED), channel=replace(IMPAIRED)
    )
    rack.channel.loss = 0.4
    checker = SnapshotChecker(rack)
    rack.start(preload=tuple(KEYS[:6]))
    load = Load(rack)
    for _ in range(60):
        rack.run(40 * MILLISECOND)
        checker.check()
    load.running = False
    statistics = rack.control.statistics()
    assert statistics["snapshots"] > 5
    assert statistics["snapshots"] <= len(checker.points)
    rack.net, rack.channel = replace(UNIMPAIRED), replace(UNIMPAIRED)
    rack.run(SECOND)
    assert rack.violations() == []


def test_snapshot_has_a_key_that_was_evicted_after_the_point() -> None:
    rack = make_rack(max_bulk=1)
    for key in KEYS[:4]:
        rack.put(1, key, b"before")
    # The LOAD of one entry is delayed, so that the entry is evicted before.
    lost = KEYS[3]
    rack.lost = lambda hop: hop.op is Op.LOAD and hop.message.key == lost

    def write_and_evict() -> None:
        entry = rack.control._index.of_key(lost)
        assert entry is not None
        write(rack, 2, lost, b"after")
        rack.after(3 * MILLISECOND, lambda: rack.control._eviction.begin(entry))

    at_the_point(rack, write_and_evict)
    next_snapshot(rack)
    assert lost not in rack.cached()
    assert values(rack)[lost] == b"before"
    assert rack.get(1, lost) == b"after"
    assert rack.violations() == []


def test_snapshot_has_a_key_in_eviction_at_the_point() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"frozen")
    shim = rack.shims[rack.topology.owner(KEYS[0]).index]
    shim.up = False  # so the eviction does not end
    entry = rack.control._index.of_key(KEYS[0])
    assert entry is not None
    rack.control._eviction.begin(entry)
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"frozen"
    shim.up = True
    rack.run(5 * SECOND)
    assert KEYS[0] not in values(rack)
    assert rack.get(1, KEYS[0]) == b"frozen"


def test_snapshot_has_no_key_that_was_admitted_after_the_point() -> None:
    rack = make_rack()

    def admit() -> None:
        for _ in range(6):
            rack.processes[1].begin(Op.GET, KEYS[9])

    rack.lost = lambda hop: hop.op is Op.LOAD and rack.now < until
    until = rack.now + SECOND + 30 * MILLISECOND
    at_the_point(rack, admit)
    next_snapshot(rack)
    assert KEYS[9] in rack.cached()
    assert set(values(rack)) == set(KEYS[:4])
    next_snapshot(rack)
    assert set(values(rack)) == {*KEYS[:4], KEYS[9]}


def test_validity_changes_wait_for_the_point_in_all_pipelines() -> None:
    rack = make_rack(pipelines=4)
    during: list[Op] = []

    def busy(hop: Hop) -> bool:
        if hop.op not in (Op.VALIDATE, Op.EVICT, Op.RETIRE):
            return False
        rows = [rack.switch.snapshot_rows(pipeline) for pipeline in range(4)]
        if rows[0] and len({row for each in rows for row in each.values()}) > 1:
            during.append(hop.op)
        return False

    rack.lost = busy
    load = Load(rack)
    rack.run(8 * SECOND)
    load.running = False
    assert rack.control.statistics()["evictions"] > 3
    assert during == []
    assert rack.violations() == []


def lose_originals(rack: Rack, *, until: int) -> None:
    rack.lost = lambda hop: hop.op is Op.ORIGINAL and rack.now < until


def test_snapshot_without_an_original_is_incomplete() -> None:
    rack = make_rack()
    rack.put(1, KEYS[0], b"old")
    next_snapshot(rack)
    rack.put(1, KEYS[0], b"newer")
    in_force = saved(rack)
    lose_originals(rack, until=rack.now + 2 * SECOND)
    at_the_point(rack, lambda: write(rack, 2, KEYS[0], b"newest"))
    rack.run(1500 * MILLISECOND)
    statistics = rack.control.statistics()
    assert statistics["snapshots_incomplete"] == 1
    notes = [note for note in rack.notes if note.what == "snapshot incomplete"]
    assert notes[0].fields["because"] == "1 originals did not arrive"
    assert (saved(rack).snapshot, saved(rack).records) == (in_force.snapshot, in_force.records)
    # The earlier snapshot is in force; no RELEASE was sent for the incomplete one.
    rack.crash_switch()
    rack.run_until(rack.control.ready)
    assert rack.get(1, KEYS[0]) == b"newest"
    assert rack.violations() == []


def test_next_snapshot_after_an_incomplete_one_is_complete() -> None:
    rack = make_rack()
    lose_originals(rack, until=rack.now + 1500 * MILLISECOND)
    at_the_point(rack, lambda: write(rack, 2, KEYS[0], b"v"))
    rack.run(5 * SECOND)
    statistics = rack.control.statistics()
    assert statistics["snapshots_incomplete"] == 1
    assert statistics["snapshots"] >= 3
    assert values(rack)[KEYS[0]] == b"v"


def test_unanswered_loads_make_the_snapshot_incomplete() -> None:
    rack = make_rack()
    rack.lost = lambda hop: hop.op is Op.LOAD_REPLY
    rack.run(8 * SECOND)
    assert rack.control.statistics()["snapshots_incomplete"] >= 1
    assert "snapshots" not in rack.control.statistics()
    # Keys are still admitted.
    for _ in range(6):
        rack.get(1, KEYS[9])
    rack.run(50 * MILLISECOND)
    assert KEYS[9] in rack.cached()


@pytest.mark.parametrize("which", range(4))
def test_refused_table_write_makes_one_snapshot_incomplete(which: int) -> None:
    rack = make_rack(pipelines=2)
    seen: list[int] = []

    def refuse(write: object) -> bool:
        if getattr(write, "table", "") != SNAPSHOT:
            return False
        seen.append(1)
        return len(seen) == which + 1

    rack.refuse = refuse
    checker = SnapshotChecker(rack)
    load = Load(rack)
    rack.run(3500 * MILLISECOND)
    load.running = False
    statistics = rack.control.statistics()
    incomplete = statistics.get("snapshots_incomplete", 0)
    assert incomplete == (0 if which == 3 else 1)
    assert statistics["snapshots"] >= 2
    checker.check()
    assert rack.violations() == []


def test_rows_are_inserted_modified_and_deleted_in_order() -> None:
    rack = make_rack(pipelines=4)
    kinds: list[tuple[str, object]] = []

    def note(write: object) -> bool:
        if getattr(write, "table", "") == SNAPSHOT:
            action = getattr(write, "action", "").rsplit(".", 1)[-1]
            kinds.append((type(write).__name__, (write.match["pipeline"], action)))  # type: ignore[attr-defined]
        return False

    rack.refuse = note
    next_snapshot(rack)
    rack.run(20 * MILLISECOND)
    others = (1, 2, 3)
    assert kinds == [
        *((InsertEntry.__name__, (each, "redirect")) for each in others),
        (InsertEntry.__name__, (0, "taking")),
        *((ModifyEntry.__name__, (each, "taking")) for each in others),
        *(("DeleteEntry", (each, "")) for each in range(4)),
    ]
    assert all(not rack.switch.snapshot_rows(pipeline) for pipeline in range(4))


def test_next_snapshot_begins_after_the_last_one_is_saved() -> None:
    rack = make_rack()
    rack.save_time = 3 * SECOND
    rack.run(10 * SECOND)
    assert rack.control.statistics()["snapshots"] == 3
    rack.disk_fails = True
    rack.run(10 * SECOND)
    assert rack.control.statistics()["snapshots"] == 3
    rack.save_time, rack.disk_fails = MILLISECOND, False
    rack.run(5 * SECOND)
    assert rack.control.statistics()["snapshots"] > 5


def test_pending_loads_are_limited() -> None:
    rack = make_rack(max_bulk=2)
    under_way: list[int] = []

    def count(hop: Hop) -> bool:
        under_way.append((hop.op is Op.LOAD) - (hop.op is Op.LOAD_REPLY))
        assert sum(under_way) <= 2
        return False

    rack.lost = count
    rack.run(3 * SECOND)
    assert rack.control.statistics()["snapshots"] == 3


def test_late_answers_to_an_earlier_snapshot_are_ignored() -> None:
    rack = make_rack()
    held: list[Hop] = []
    rack.put(1, KEYS[0], b"one")

    def hold(hop: Hop) -> bool:
        if hop.op is Op.LOAD_REPLY and not held:
            held.append(hop)
        return False

    rack.lost = hold
    next_snapshot(rack)
    rack.put(1, KEYS[0], b"two")
    at_the_point(rack, lambda: rack.travel_hop(rack.channel, held[0]))
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"two"


def test_cost_of_an_entry_does_not_grow_with_the_snapshot() -> None:
    def micros(entries: int) -> float:
        script = Script(entries, 10.0)
        return min(snapshot(script) for _ in range(3))

    assert micros(6000) < 2 * micros(600)


def write_before_load(rack: Rack, value: bytes) -> None:
    """Client 1 writes at the point; the first LOADs are lost, so the original is needed."""
    lost, begun = rack.lost, rack.now
    rack.lost = lambda it: lost(it) or (it.op is Op.LOAD and rack.now < begun + MILLISECOND)
    write(rack, 1, KEYS[0], value)


def test_original_of_an_earlier_snapshot_is_not_taken() -> None:
    rack = make_rack()
    found: list[Hop] = []

    def note(hop: Hop) -> bool:
        if hop.op is Op.ORIGINAL:
            found.append(hop)
        return False

    rack.lost = note
    rack.put(1, KEYS[0], b"one")
    at_the_point(rack, lambda: write_before_load(rack, b"two"))
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"one"

    def overtaken() -> None:
        rack.travel_hop(rack.channel, found[0])
        write_before_load(rack, b"three")

    at_the_point(rack, overtaken)
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"two"


def test_of_two_originals_of_an_entry_the_older_one_counts() -> None:
    rack = make_rack()
    found: list[Hop] = []

    def follow(hop: Hop) -> bool:
        """A later record follows the first copy of the original; the other copies are lost."""
        message = hop.message
        if message.op is not Op.ORIGINAL or message.value[: message.length] == b"two":
            return False
        found.append(hop)
        if len(found) == 1:
            assert message.stamp is not None
            later = replace(message.stamp, number=message.stamp.number + 1)
            value = b"two".ljust(len(message.value), b"\0")
            second = replace(message, value=value, length=3, stamp=later)
            frame = encode(second, hop.datagram.source, hop.datagram.destination)
            copy = replace(hop, frame=frame)
            rack.after(MILLISECOND, lambda: rack.travel_hop(rack.channel, copy))
        return len(found) > 1

    rack.put(1, KEYS[0], b"one")
    rack.lost = follow
    at_the_point(rack, lambda: write_before_load(rack, b"two"))
    next_snapshot(rack)
    assert values(rack)[KEYS[0]] == b"one"
