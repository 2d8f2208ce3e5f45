"""Traps of snapshots, RELEASE and GC watermark whose protection is in FarReach's control plane.

Every trap runs its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds, Preload
from netkv.kits.write_back.record import Record
from netkv.kits.write_back.validity import Validity
from netkv.model.messages import Bit, Op
from netkv.schemes.farreach import control_plane
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.gc_watermark import GcWatermark
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import Net, Rack
from tests.schemes.farreach.farreach_snapshot_checker import SnapshotChecker
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, crash, evict, make_rack, read
from tests.schemes.traps import suffered

# ------------------------------------------------------------------------------------ scripts


def snapshots_under_writes(control: type[FarReach]) -> str:
    configuration = SMALL.changed(pipelines=4, snapshot_period=0.04, hot_threshold=15, seed=3)
    rack = Rack(configuration, 3, clients=4, servers=4, control_type=control)
    checker = SnapshotChecker(rack)
    rack.start(preload=tuple(KEYS[:6]))
    load = Load(rack)
    for _ in range(60):
        rack.run(20 * MILLISECOND)
        try:
            checker.check()
        except AssertionError:
            return "a mixed snapshot"
    load.running = False
    return ""


def snapshots_under_evictions(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=0.03)
    rack.channel = Net(max_delay=8 * MILLISECOND)
    checker = SnapshotChecker(rack)
    rack.start(preload=tuple(KEYS[:4]))
    load = Load(rack, KEYS[:8])
    for number in range(150):
        cached = sorted(rack.cached())
        if cached:
            evict(rack, cached[number % len(cached)])
        rack.handle(Preload((KEYS[number % 8],)))
        rack.run(10 * MILLISECOND)
        try:
            checker.check()
        except AssertionError:
            return "a mixed snapshot"
    load.running = False
    return ""


def originals_are_lost(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=0.1, original_patience=20 * MILLISECOND)
    checker = SnapshotChecker(rack)
    rack.start(preload=(KEY, KEYS[1]))
    rack.lost = lambda hop: hop.op is Op.ORIGINAL
    load = Load(rack, [KEY, KEYS[1]])
    for _ in range(100):
        rack.run(20 * MILLISECOND)
        try:
            checker.check()
        except AssertionError:
            return "a mixed snapshot"
    load.running = False
    return ""


def controller_crashes_before_the_save(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=0.1).start(preload=(KEY,))
    rack.put(1, KEY, b"kept by the client")
    rack.save_time = SECOND
    rack.run(300 * MILLISECOND)
    rack.kill_controller()
    before = rack.disk
    rack.run(SECOND)
    rack.disk = before  # the save has not ended
    rack.save_time = MILLISECOND
    rack.replace_controller()
    rack.run(SECOND)
    return "" if read(rack, 2) == b"kept by the client" else LOST


def controller_crashes_after_a_release(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=0.1).start(preload=(KEY,))
    rack.put(1, KEY, b"in the snapshot")
    rack.run(250 * MILLISECOND)
    if KEY in rack.processes[1].preserved:
        return "never released"
    crash(rack, controller=True)
    return "" if read(rack, 2) == b"in the snapshot" else LOST


def tombstone_and_an_older_record_in_the_switch(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=1.0).start(preload=(KEY,))
    rack.put(1, KEY, b"older")
    shim = rack.shims[rack.topology.owner(KEY).index]
    shim._store_if_later(Record(KEY, 2, rack.switch.outdate(KEY), int(Bit.DELETED), b""))
    rack.run(12 * SECOND)
    return "" if read(rack, 1) is None else "a deleted key returns"


def client_gets_three_releases_at_once(control: type[FarReach]) -> str:
    rack = make_rack(control, snapshot_period=1.0, cache_entries=8).start(preload=(KEYS[5],))
    unreachable = rack.processes[1].ip
    rack.lost = lambda hop: hop.op is Op.RELEASE and hop.datagram.destination == unreachable
    rack.run(4500 * MILLISECOND)
    rack.handle(Preload((KEY,)))
    rack.run(50 * MILLISECOND)
    assert rack.put(1, KEY, b"after all of these snapshots").cache_hit
    rack.lost = lambda _: False
    rack.run(350 * MILLISECOND)
    rack.lost = lambda hop: hop.op is Op.LOAD
    crash(rack)
    return "" if read(rack, 2) == b"after all of these snapshots" else LOST


# -------------------------------------------------------------------------------------- traps


def test_snapshot_has_the_records_of_one_moment() -> None:
    """At the point all writes pass pipeline 0; originals replace overwritten records."""
    other = "a mixed snapshot"
    check(
        snapshots_under_writes,
        (mutants.BelievesLoads, other),
        (mutants.RedirectsNothing, other),
    )


def test_validity_does_not_change_at_the_snapshot_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of validity wait at the point, and the controller waits for those under way.

    Mutant: changes of validity do not wait.
    """
    check(snapshots_under_evictions)

    def close(_: Validity, now: Nanoseconds, when_still: Any) -> Any:
        yield from when_still(now)

    monkeypatch.setattr(Validity, "close", close)  # validity changes while the point is set
    assert suffered(snapshots_under_evictions, FarReach) == "a mixed snapshot"


def test_snapshot_without_its_originals_is_incomplete() -> None:
    """A snapshot without one of its originals is incomplete."""
    check(originals_are_lost, (mutants.BelievesLoads, "a mixed snapshot"))


def test_release_is_sent_after_the_snapshot_is_saved() -> None:
    """RELEASE is sent when the snapshot is saved."""
    check(controller_crashes_before_the_save, (mutants.AssumesSaved, LOST))


def test_released_snapshot_survives_the_controller() -> None:
    """The records of the snapshot are saved."""
    check(controller_crashes_after_a_release, (mutants.SavesNoRecords, LOST))


def test_no_watermark_is_sent_while_an_older_record_may_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No WATERMARK is sent while a dirty record may be older than a tombstone.

    Mutant: WATERMARK is always sent.
    """
    check(tombstone_and_an_older_record_in_the_switch)

    def taken(self: GcWatermark, _taken: Any) -> None:
        self._clean = True  # even if the switch has dirty records

    monkeypatch.setattr(GcWatermark, "taken", taken)
    harm = "a deleted key returns"
    assert suffered(tombstone_and_an_older_record_in_the_switch, FarReach) == harm


def test_late_client_skips_earlier_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A RELEASE belongs to a snapshot point after the answer to the previous one."""
    check(client_gets_three_releases_at_once)
    monkeypatch.setattr(control_plane, "Releases", mutants.DelaysNoRelease)
    assert suffered(client_gets_three_releases_at_once, FarReach) == LOST
