"""Traps of snapshots, RELEASE and GC watermark whose protection is in FarReach's control plane.

Every trap plays its script with the control plane as it is, where all must be well, and with each
mutant, where it must not. The table of both is in `docs/testing.md`.
"""

from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds, Preload
from netkv.control.messages import Bit, Op
from netkv.schemes.farreach import control_plane
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.gc_watermark import GcWatermark
from netkv.schemes.farreach.record import Record
from netkv.schemes.farreach.validity import Validity
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import Net, Rack
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, crash, evict, rack, read
from tests.schemes.farreach.farreach_truth import Witness
from tests.schemes.traps import suffered

# ------------------------------------------------------------------------------------ scripts


def snapshots_under_writes(control: type[FarReach]) -> str:
    options = replace(
        SMALL, pipelines=4, snapshot_period=40 * MILLISECOND, hot_threshold=15, seed=3
    )
    it = Rack(options, 3, clients=4, servers=4, control_type=control)
    witness = Witness(it)
    it.start(preload=tuple(KEYS[:6]))
    load = Load(it)
    for _ in range(60):
        it.run(20 * MILLISECOND)
        try:
            witness.check()
        except AssertionError:
            return "not one moment"
    load.on = False
    return ""


def snapshots_under_evictions(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=30 * MILLISECOND)
    it.channel = Net(slowest=8 * MILLISECOND)
    witness = Witness(it)
    it.start(preload=tuple(KEYS[:4]))
    load = Load(it, KEYS[:8])
    for number in range(150):
        cached = sorted(it.cached())
        if cached:
            evict(it, cached[number % len(cached)])
        it.tell(Preload((KEYS[number % 8],)))
        it.run(10 * MILLISECOND)
        try:
            witness.check()
        except AssertionError:
            return "not one moment"
    load.on = False
    return ""


def originals_are_lost(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=100 * MILLISECOND, original_patience=20 * MILLISECOND)
    witness = Witness(it)
    it.start(preload=(KEY, KEYS[1]))
    it.lost = lambda datagram: datagram.message.op is Op.ORIGINAL
    load = Load(it, [KEY, KEYS[1]])
    for _ in range(100):
        it.run(20 * MILLISECOND)
        try:
            witness.check()
        except AssertionError:
            return "not one moment"
    load.on = False
    return ""


def controller_dies_before_the_disk_has_it(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=100 * MILLISECOND).start(preload=(KEY,))
    it.put(1, KEY, b"kept by the client")
    it.save_time = SECOND
    it.run(300 * MILLISECOND)
    it.kill_controller()
    before = it.disk
    it.run(SECOND)
    it.disk = before  # it never got there
    it.save_time = MILLISECOND
    it.replace_controller()
    it.run(SECOND)
    return "" if read(it, 2) == b"kept by the client" else LOST


def controller_dies_after_a_release(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=100 * MILLISECOND).start(preload=(KEY,))
    it.put(1, KEY, b"in the snapshot")
    it.run(250 * MILLISECOND)
    if KEY in it.processes[1].preserved:
        return "never released"
    crash(it, controller=True)
    return "" if read(it, 2) == b"in the snapshot" else LOST


def tombstone_and_an_older_record_in_the_switch(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=SECOND).start(preload=(KEY,))
    it.put(1, KEY, b"older")
    shim = it.shims[it.topology.owner(KEY).index]
    shim._keep(Record(KEY, 2, it.switch.outdate(KEY), int(Bit.DELETED), b""))
    it.run(12 * SECOND)
    return "" if read(it, 1) is None else "a deleted key is back"


def client_hears_three_releases_at_once(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=SECOND, capacity=8).start(preload=(KEYS[5],))
    deaf = it.processes[1].ip
    it.lost = lambda datagram: datagram.message.op is Op.RELEASE and datagram.destination == deaf
    it.run(4500 * MILLISECOND)
    it.tell(Preload((KEY,)))
    it.run(50 * MILLISECOND)
    assert it.put(1, KEY, b"after all of these snapshots").cache_hit
    it.lost = lambda _: False
    it.run(350 * MILLISECOND)
    it.lost = lambda datagram: datagram.message.op is Op.LOAD
    crash(it)
    return "" if read(it, 2) == b"after all of these snapshots" else LOST


# -------------------------------------------------------------------------------------- traps


def test_snapshot_has_the_records_of_one_moment() -> None:
    """At the point all writes pass pipeline 0; originals replace overwritten records."""
    other = "not one moment"
    check(
        snapshots_under_writes,
        (mutants.BelievesLoads, other),
        (mutants.RedirectsNothing, other),
    )


def test_snapshot_knows_which_entries_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of validity wait at the point, and the controller waits for those under way.

    Mutant: changes of validity do not wait.
    """
    check(snapshots_under_evictions)

    def close(_: Validity, now: Nanoseconds, when_still: Any) -> Any:
        yield from when_still(now)

    monkeypatch.setattr(Validity, "close", close)  # validity changes while the point is set
    assert suffered(snapshots_under_evictions, FarReach) == "not one moment"


def test_snapshot_without_its_originals_is_none() -> None:
    """A snapshot without one of its originals is incomplete."""
    check(originals_are_lost, (mutants.BelievesLoads, "not one moment"))


def test_client_forgets_only_what_is_saved() -> None:
    """RELEASE is sent when the snapshot is saved."""
    check(controller_dies_before_the_disk_has_it, (mutants.AssumesSaved, LOST))


def test_next_controller_has_the_snapshot_that_was_released() -> None:
    """The records of the snapshot are saved."""
    check(controller_dies_after_a_release, (mutants.SavesNoRecords, LOST))


def test_tombstone_outlives_what_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """No WATERMARK is sent while a dirty record may be older than a tombstone.

    Mutant: WATERMARK is always sent.
    """
    check(tombstone_and_an_older_record_in_the_switch)

    def taken(self: GcWatermark, _taken: Any) -> None:
        self._clean = True  # whatever the switch has

    monkeypatch.setattr(GcWatermark, "taken", taken)
    harm = "a deleted key is back"
    assert suffered(tombstone_and_an_older_record_in_the_switch, FarReach) == harm


def test_late_client_hears_of_no_snapshot_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A RELEASE belongs to a snapshot point after the answer to the previous one."""
    check(client_hears_three_releases_at_once)
    monkeypatch.setattr(control_plane, "Releases", mutants.DelaysNoRelease)
    assert suffered(client_hears_three_releases_at_once, FarReach) == LOST
