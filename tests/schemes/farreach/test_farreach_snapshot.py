"""Snapshots: the records of the switch at one moment, or no snapshot."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND, InsertEntry, ModifyEntry, TableWrite
from netkv.control.messages import Datagram, Op
from netkv.schemes.farreach.checkpoint_format import State, from_bytes
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.snapshot_tables import SNAPSHOT
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import CALM, ROUGH, Rack
from tests.schemes.farreach.farreach_truth import Witness
from tests.schemes.farreach.measure_farreach import Script, snapshot

OPTIONS = FarReachParameters(
    capacity=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=SECOND,
    original_patience=100 * MILLISECOND,
    drawn=8,
    tries=4,
)


def rack(seed: int = 0, **options: object) -> Rack:
    it = Rack(replace(OPTIONS, **options), seed)  # type: ignore[arg-type]
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it.start(preload=tuple(KEYS[:4]))


def saved(it: Rack) -> State:
    assert it.disk is not None
    return from_bytes(it.disk)


def values(it: Rack) -> dict[bytes, bytes]:
    """The records of the snapshot in force."""
    return {record.key: record.value for record in saved(it).records}


def next_snapshot(it: Rack) -> None:
    """Advance the time until the next snapshot is in force."""
    before = it.control.statistics().get("snapshots", 0)
    it.run_until(lambda: it.control.statistics().get("snapshots", 0) > before, 5 * SECOND)


def at_the_point(it: Rack, what: Callable[[], None]) -> None:
    """Call a function as soon as pipeline 0 has passed the next snapshot point."""
    apply = it.switch.apply
    done: list[int] = []

    def applied(write: TableWrite, pipeline: int) -> None:
        apply(write, pipeline)
        if not isinstance(write, InsertEntry | ModifyEntry) or done:
            return
        if write.action.endswith("taking") and write.match["pipeline"] == pipeline == 0:
            done.append(1)
            what()

    it.switch.apply = applied  # type: ignore[method-assign]


def test_snapshot_has_what_was_written_before_and_is_taken_every_period() -> None:
    it = rack()
    it.put(1, KEYS[0], b"one")
    it.put(2, KEYS[1], b"two")
    it.delete(1, KEYS[2])
    it.run(3 * SECOND)
    assert it.control.statistics()["snapshots"] in (3, 4)
    state = saved(it)
    found = {record.key: record for record in state.records}
    assert set(found) == set(KEYS[:4])
    assert (found[KEYS[0]].value, found[KEYS[1]].value) == (b"one", b"two")
    assert found[KEYS[2]].deleted
    assert [found[key].dirty for key in KEYS[:4]] == [True, True, True, False]
    assert state.incarnation == 2
    assert len(state.clients) == 2


def test_no_snapshot_is_taken_if_the_period_is_0() -> None:
    it = rack(snapshot_period=0)
    it.run(30 * SECOND)
    assert "snapshots" not in it.control.statistics()


def test_first_write_after_the_point_does_not_change_the_snapshot() -> None:
    it = rack()
    it.put(1, KEYS[0], b"before")

    # two writes to one slot within a snapshot: the record before the first of them counts
    def twice() -> None:
        write(it, 1, KEYS[0], b"after")
        write(it, 2, KEYS[0], b"again")

    at_the_point(it, twice)
    next_snapshot(it)
    assert values(it)[KEYS[0]] == b"before"
    assert it.get(1, KEYS[0]) in (b"after", b"again")
    next_snapshot(it)
    assert values(it)[KEYS[0]] in (b"after", b"again")
    assert it.control.statistics()["originals"] >= 1


def write(it: Rack, client: int, key: bytes, value: bytes) -> None:
    it.processes[client].begin(Op.PUT, key, value)


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_snapshot_is_one_moment_for_all_pipelines(pipelines: int, seed: int) -> None:
    options = replace(
        SMALL, pipelines=pipelines, snapshot_period=40 * MILLISECOND, hot_threshold=15
    )
    it = Rack(options, seed, clients=4, servers=4)
    witness = Witness(it)
    it.start(preload=tuple(KEYS[:6]))
    load = Load(it)
    checked = 0
    for _ in range(50):
        it.run(20 * MILLISECOND)
        checked += bool(witness.check().records)
    load.on = False
    assert checked > 20
    assert it.control.statistics()["originals"] > 10
    assert it.control.statistics()["evictions"] > 3
    assert it.complaints() == []


@pytest.mark.parametrize("seed", range(8))
def test_snapshot_over_a_bad_network_is_one_moment_or_none(seed: int) -> None:
    options = replace(
        SMALL, pipelines=(1, 2)[seed % 2], snapshot_period=60 * MILLISECOND, hot_threshold=10
    )
    it = Rack(options, seed, clients=4, servers=4, net=replace(ROUGH), channel=replace(ROUGH))
    it.channel.loss = 0.4
    witness = Witness(it)
    it.start(preload=tuple(KEYS[:6]))
    load = Load(it)
    for _ in range(60):
        it.run(40 * MILLISECOND)
        witness.check()
    load.on = False
    statistics = it.control.statistics()
    assert statistics["snapshots"] > 5
    assert statistics["snapshots"] <= len(witness.points)
    it.net, it.channel = replace(CALM), replace(CALM)
    it.run(SECOND)
    assert it.complaints() == []


def test_key_evicted_after_the_point_is_in_the_snapshot_as_it_was_at_the_point() -> None:
    it = rack(max_bulk=1)
    for key in KEYS[:4]:
        it.put(1, key, b"before")
    # The LOAD of one entry takes its time, so that it is evicted meanwhile.
    lost = KEYS[3]
    it.lost = lambda datagram: datagram.message.op is Op.LOAD and datagram.message.key == lost

    def evicted() -> None:
        entry = it.control._index.of_key(lost)
        assert entry is not None
        write(it, 2, lost, b"after")
        it.after(3 * MILLISECOND, lambda: it.control._eviction.begin(entry))

    at_the_point(it, evicted)
    next_snapshot(it)
    assert lost not in it.cached()
    assert values(it)[lost] == b"before"
    assert it.get(1, lost) == b"after"
    assert it.complaints() == []


def test_key_frozen_before_the_point_is_in_the_snapshot() -> None:
    it = rack()
    it.put(1, KEYS[0], b"frozen")
    shim = it.shims[it.topology.owner(KEYS[0]).index]
    shim.up = False  # so it stays in the switch, to be evicted
    entry = it.control._index.of_key(KEYS[0])
    assert entry is not None
    it.control._eviction.begin(entry)
    next_snapshot(it)
    assert values(it)[KEYS[0]] == b"frozen"
    shim.up = True
    it.run(5 * SECOND)
    assert KEYS[0] not in values(it)
    assert it.get(1, KEYS[0]) == b"frozen"


def test_key_admitted_after_the_point_is_not_in_the_snapshot() -> None:
    it = rack()

    def admit() -> None:
        for _ in range(6):
            it.processes[1].begin(Op.GET, KEYS[9])

    it.lost = lambda datagram: datagram.message.op is Op.LOAD and it.now < until
    until = it.now + SECOND + 30 * MILLISECOND
    at_the_point(it, admit)
    next_snapshot(it)
    assert KEYS[9] in it.cached()
    assert set(values(it)) == set(KEYS[:4])
    next_snapshot(it)
    assert set(values(it)) == {*KEYS[:4], KEYS[9]}


def test_validity_changes_wait_until_all_pipelines_have_passed_the_point() -> None:
    it = rack(pipelines=4)
    during: list[Op] = []

    def busy(datagram: Datagram) -> bool:
        pipelines = it.switch.pipelines
        mixed = len({row for each in pipelines for row in each.rows.values()}) > 1
        mixed = mixed and bool(pipelines[0].rows)
        if mixed and datagram.message.op in (Op.VALIDATE, Op.EVICT, Op.RETIRE):
            during.append(datagram.message.op)
        return False

    it.lost = busy
    load = Load(it)
    it.run(8 * SECOND)
    load.on = False
    assert it.control.statistics()["evictions"] > 3
    assert during == []
    assert it.complaints() == []


def lose_originals(it: Rack, *, until: int) -> None:
    it.lost = lambda datagram: datagram.message.op is Op.ORIGINAL and it.now < until


def test_snapshot_without_an_original_is_incomplete_and_the_one_before_stays_in_force() -> None:
    it = rack()
    it.put(1, KEYS[0], b"old")
    next_snapshot(it)
    it.put(1, KEYS[0], b"newer")
    in_force = saved(it)
    lose_originals(it, until=it.now + 2 * SECOND)
    at_the_point(it, lambda: write(it, 2, KEYS[0], b"newest"))
    it.run(1500 * MILLISECOND)
    statistics = it.control.statistics()
    assert statistics["snapshots_incomplete"] == 1
    notes = [note for note in it.notes if note.what == "snapshot incomplete"]
    assert notes[0].fields["because"] == "1 originals did not arrive"
    assert (saved(it).snapshot, saved(it).records) == (in_force.snapshot, in_force.records)
    # Nothing was released for it, so nothing is lost.
    it.crash_switch()
    it.run_until(it.control.ready)
    assert it.get(1, KEYS[0]) == b"newest"
    assert it.complaints() == []


def test_snapshot_is_taken_again_after_an_incomplete_one() -> None:
    it = rack()
    lose_originals(it, until=it.now + 1500 * MILLISECOND)
    at_the_point(it, lambda: write(it, 2, KEYS[0], b"v"))
    it.run(5 * SECOND)
    statistics = it.control.statistics()
    assert statistics["snapshots_incomplete"] == 1
    assert statistics["snapshots"] >= 3
    assert values(it)[KEYS[0]] == b"v"


def test_entry_that_cannot_be_loaded_makes_the_snapshot_incomplete() -> None:
    it = rack()
    it.lost = lambda datagram: datagram.message.op is Op.LOAD_REPLY
    it.run(8 * SECOND)
    assert it.control.statistics()["snapshots_incomplete"] >= 1
    assert "snapshots" not in it.control.statistics()
    # Keys are admitted meanwhile.
    for _ in range(6):
        it.get(1, KEYS[9])
    it.run(50 * MILLISECOND)
    assert KEYS[9] in it.cached()


@pytest.mark.parametrize("which", range(4))
def test_refused_row_makes_the_snapshot_incomplete_and_the_next_one_is_right(which: int) -> None:
    it = rack(pipelines=2)
    seen: list[int] = []

    def refuse(write: object) -> bool:
        if getattr(write, "table", "") != SNAPSHOT:
            return False
        seen.append(1)
        return len(seen) == which + 1

    it.refuse = refuse
    witness = Witness(it)
    load = Load(it)
    it.run(3500 * MILLISECOND)
    load.on = False
    statistics = it.control.statistics()
    incomplete = statistics.get("snapshots_incomplete", 0)
    assert incomplete == (0 if which == 3 else 1)
    assert statistics["snapshots"] >= 2
    witness.check()
    assert it.complaints() == []


def test_rows_are_modified_where_they_are_and_gone_in_the_end() -> None:
    it = rack(pipelines=4)
    kinds: list[tuple[str, object]] = []

    def note(write: object) -> bool:
        if getattr(write, "table", "") == SNAPSHOT:
            action = getattr(write, "action", "").rsplit(".", 1)[-1]
            kinds.append((type(write).__name__, (write.match["pipeline"], action)))  # type: ignore[attr-defined]
        return False

    it.refuse = note
    next_snapshot(it)
    it.run(20 * MILLISECOND)
    others = (1, 2, 3)
    assert kinds == [
        *((InsertEntry.__name__, (each, "redirect")) for each in others),
        (InsertEntry.__name__, (0, "taking")),
        *((ModifyEntry.__name__, (each, "taking")) for each in others),
        *(("DeleteEntry", (each, "")) for each in range(4)),
    ]
    assert all(not each.rows for each in it.switch.pipelines)


def test_no_snapshot_begins_before_the_one_before_is_saved() -> None:
    it = rack()
    it.save_time = 3 * SECOND
    it.run(10 * SECOND)
    assert it.control.statistics()["snapshots"] == 3
    it.disk_fails = True
    it.run(10 * SECOND)
    assert it.control.statistics()["snapshots"] == 3
    it.save_time, it.disk_fails = MILLISECOND, False
    it.run(5 * SECOND)
    assert it.control.statistics()["snapshots"] > 5


def test_loads_go_out_in_a_window() -> None:
    it = rack(max_bulk=2)
    under_way: list[int] = []

    def count(datagram: Datagram) -> bool:
        under_way.append({Op.LOAD: 1, Op.LOAD_REPLY: -1}.get(datagram.message.op, 0))
        assert sum(under_way) <= 2
        return False

    it.lost = count
    it.run(3 * SECOND)
    assert it.control.statistics()["snapshots"] == 3


def test_late_answers_to_an_earlier_snapshot_are_not_believed() -> None:
    it = rack()
    held: list[Datagram] = []
    it.put(1, KEYS[0], b"one")

    def hold(datagram: Datagram) -> bool:
        if datagram.message.op is Op.LOAD_REPLY and not held:
            held.append(datagram)
        return False

    it.lost = hold
    next_snapshot(it)
    it.put(1, KEYS[0], b"two")
    at_the_point(it, lambda: it._leave(1, 510, held[0]))
    next_snapshot(it)
    assert values(it)[KEYS[0]] == b"two"


def test_entry_costs_no_more_in_a_large_snapshot_than_in_a_small_one() -> None:
    def micros(entries: int) -> float:
        script = Script(entries, 10 * SECOND)
        return min(snapshot(script) for _ in range(3))

    assert micros(6000) < 2 * micros(600)
