"""Traps whose protection is in FarReach's control plane, and what happens without it.

Every trap plays its script with the control plane as it is, where all must be well, and with each
mutant, where it must not. The table of both is in `docs/testing.md`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, DeleteEntry, Nanoseconds, Preload
from netkv.control.messages import Bit, Message, Op
from netkv.control.outstanding import Outstanding
from netkv.schemes.farreach import control_plane, recovery
from netkv.schemes.farreach.checkpoint_format import Client, State, to_bytes
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.entries import Candidate
from netkv.schemes.farreach.gc_watermark import GcWatermark
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.pending_requests import PendingRequests
from netkv.schemes.farreach.record import Record
from netkv.schemes.farreach.validity import Validity
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import Net, Rack
from tests.schemes.farreach.farreach_truth import Witness

OPTIONS = FarReachParameters(
    capacity=4,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=0,
    collect_patience=200 * MILLISECOND,
    drawn=4,
)
KEY = KEYS[0]
LOST = "an acknowledged write is lost"

Script = Callable[[type[FarReach]], str]
"""Plays a script; returns what a user would suffer from, or nothing."""


def rack(control: type[FarReach], **options: Any) -> Rack:
    it = Rack(replace(OPTIONS, **options), control_type=control)
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it


def read(it: Rack, client: int, key: bytes = KEY) -> bytes | str | None:
    """The value, None for none, or a word if there is no answer."""
    reply = it.do(client, Op.GET, key).reply
    if reply is None:
        return "no answer"
    return reply.value if reply.length else None


def evict(it: Rack, key: bytes, successor: Candidate | None = None) -> None:
    entry = it.control._index.of_key(key)
    assert entry is not None
    it.control._eviction.begin(entry, successor)


def crash(it: Rack, *, controller: bool = False) -> None:
    if controller:
        it.kill_controller()
        it.replace_controller()
    else:
        it.crash_switch()
    it.run(SECOND)


# ------------------------------------------------------------------------------------ scripts


def key_comes_in_pipeline_by_pipeline(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2).start()
    it.pipeline_time = 20 * MILLISECOND
    it.tell(Preload((KEY,)))
    told: bytes | str | None = b"first " + KEY[:4]
    for number in range(20):
        written = b"write %d" % number
        it.put(2, KEY, written)  # by pipeline 0, which knows the key first
        told = read(it, 1)
        if told != written:
            return "a stale read"
    return ""


def key_goes_out_pipeline_by_pipeline(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2)
    # Its server is at pipeline 0: replies about it come in where the key is forgotten first.
    key = next(key for key in KEYS if it.topology.owner(key).port % 2 == 0)
    it.start(preload=(key,))
    it.put(1, key, b"old")
    it.pipeline_time = 20 * MILLISECOND
    evict(it, key)
    it.run(25 * MILLISECOND)  # pipeline 0 has forgotten it, pipeline 1 has not
    for number in range(30):
        written = b"write %d" % number
        it.put(2, key, written)
        if read(it, 1, key) != written:
            return "a stale read"
    return ""


def lookup_entry_cannot_be_deleted(control: type[FarReach]) -> str:
    it = rack(control, pipelines=2, capacity=1).start(preload=(KEY,))
    it.refuse = lambda write: isinstance(write, DeleteEntry)
    evict(it, KEY, Candidate(KEYS[1]))
    it.run(SECOND)
    return ""


def dirty_record_is_evicted(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"dirty")
    evict(it, KEY)
    it.run(100 * MILLISECOND)
    return "" if read(it, 2) == b"dirty" else LOST


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


def life_is_used_before_the_disk_has_it(control: type[FarReach]) -> str:
    it = rack(control).start()
    it.save_time = SECOND
    before = it.disk
    it.kill_controller()
    it.replace_controller()
    it.run(500 * MILLISECOND)
    incarnation = it.switch.pipelines[0].incarnation
    it.kill_controller()
    it.run(SECOND)
    it.disk = before
    it.save_time = MILLISECOND
    it.replace_controller()
    it.run(SECOND)
    return (
        "" if it.switch.pipelines[0].incarnation not in (0, incarnation) else "a life is used twice"
    )


def controller_dies(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"only in the switch")
    crash(it, controller=True)
    return "" if read(it, 2) == b"only in the switch" else LOST


def controller_dies_after_a_release(control: type[FarReach]) -> str:
    it = rack(control, snapshot_period=100 * MILLISECOND).start(preload=(KEY,))
    it.put(1, KEY, b"in the snapshot")
    it.run(250 * MILLISECOND)
    if KEY in it.processes[1].preserved:
        return "never released"
    crash(it, controller=True)
    return "" if read(it, 2) == b"in the snapshot" else LOST


def client_says_hello_and_all_dies(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.processes[2].bye()
    it.run(20 * MILLISECOND)
    it.save_time = SECOND
    it.processes[2] = it.new_process(2, first_request=1 << 20)
    it.processes[2].hello()
    it.run(20 * MILLISECOND)
    if not it.processes[2].incarnation:
        return ""  # it is not answered, so it writes nothing
    it.put(2, KEY, b"written at once")
    before = it.disk
    it.kill_controller()
    it.run(SECOND)
    it.disk = before
    it.save_time = MILLISECOND
    it.replace_controller()
    it.run(100 * MILLISECOND)
    return "" if read(it, 1) == b"written at once" else LOST


def switch_crashes(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    for number in range(5):
        it.put(1, KEY, b"write %d" % number)
    crash(it)
    if read(it, 2) != b"write 4":
        return LOST
    it.put(2, KEY, b"after")
    return "" if read(it, 1) == b"after" else LOST


def users_read_during_a_recovery(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"acknowledged")
    it.lost = lambda datagram: datagram.message.op is Op.RESTORE and it.now < until
    until = it.now + 500 * MILLISECOND
    it.crash_switch()
    found = read(it, 2)
    return "" if found == b"acknowledged" else LOST


def deleted_key_is_recovered(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.delete(1, KEY)
    crash(it)
    return "" if read(it, 2) is None else "a deleted key is back"


def records_of_7_and_9_and_a_snapshot_with_8(control: type[FarReach]) -> str:
    def record(number: int) -> Record:
        return Record(KEY, 2, number, int(Bit.DIRTY), b"write %d" % number)

    it = rack(control)
    clients = tuple(Client(process.ip) for process in it.processes.values())
    it.disk = to_bytes(State(2, snapshot=1, clients=clients, records=(record(8),)))
    for process, number in zip(it.processes.values(), (7, 9), strict=True):
        process.preserved[KEY] = (record(number), 0)
    it.replace_controller()
    it.run(SECOND)
    return "" if read(it, 1) == b"write 9" else LOST


def lost_write_comes_back_with_its_client(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(2, KEY, b"lost")
    it.processes[2].up = False
    crash(it)
    seen = read(it, 1)
    it.processes[2].up = True
    it.processes[2].hello()
    it.run(300 * MILLISECOND)
    crash(it)
    return "" if read(it, 1) == seen else "what was lost, as all have seen, is back"


def channel_is_cut_during_a_recovery(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"with the client")
    it.crash_switch()
    it.channel = Net(loss=1.0)
    it.run(5 * SECOND)
    it.channel = Net()
    it.run(2 * SECOND)
    return "" if read(it, 2) == b"with the client" else LOST


def everything_on_a_bad_network(control: type[FarReach]) -> str:
    it = rack(control)
    it.net, it.channel = Net(loss=0.3), Net(loss=0.3)
    it.replace_controller()
    it.tell(Preload(tuple(KEYS[:4])))
    it.run(10 * SECOND)
    return "" if it.control.ready() and len(it.cached()) == 4 else "not served"


def key_comes_in_again(control: type[FarReach]) -> str:
    it = rack(control, capacity=1).start(preload=(KEY,))
    evict(it, KEY)
    it.run(50 * MILLISECOND)
    it.tell(Preload((KEYS[1],)))
    it.run(50 * MILLISECOND)
    return "" if it.put(1, KEYS[1], b"v").cache_hit else "not served"


def messages_are_doubled(control: type[FarReach]) -> str:
    it = rack(control)
    it.channel = Net(doubling=1.0, slowest=MILLISECOND)
    it.start(preload=tuple(KEYS[:4]))
    for key in KEYS[:4]:
        it.put(1, key, b"v")
        evict(it, key)
    it.run(SECOND)
    statistics = it.control.statistics()
    return "" if statistics["free_entries"] == 4 else "a place is lost"


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


def suffered(script: Script, control: type[FarReach]) -> str:
    """What a script says, or what the rack asserts."""
    try:
        return script(control)
    except AssertionError as error:
        return str(error).split(":")[0] or "asserted"


def check(script: Script, *harms: tuple[type[FarReach], str]) -> None:
    """All is well with the control plane as it is; each mutant does the harm named with it."""
    assert script(FarReach) == ""
    for mutant, harm in harms:
        assert suffered(script, mutant) == harm, mutant.__name__


def test_key_is_served_when_all_pipelines_lead_to_it() -> None:
    """VALIDATE is sent when the lookup entry is in all pipelines."""
    check(key_comes_in_pipeline_by_pipeline, (mutants.AssumesInserted, "a stale read"))


def test_entry_stops_answering_before_any_pipeline_forgets_it() -> None:
    """RETIRE is answered before the lookup entry is deleted."""
    check(key_goes_out_pipeline_by_pipeline, (mutants.SkipsRetire, "a stale read"))


def test_place_of_an_entry_that_is_still_found_is_given_to_no_other_key() -> None:
    """An entry is free when the deletion is confirmed, and not if it is refused."""
    twice = "an entry number for two keys"
    check(
        lookup_entry_cannot_be_deleted,
        (mutants.AssumesDeleted, twice),
        (mutants.IgnoresRefusals, twice),
    )


def test_dirty_record_reaches_its_server_before_its_entry_goes() -> None:
    """RESTORE is answered before RETIRE is sent."""
    check(dirty_record_is_evicted, (mutants.SkipsRestore, LOST))


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


def test_life_is_saved_before_it_is_used() -> None:
    """The incarnation is saved before it is written to the switch."""
    check(life_is_used_before_the_disk_has_it, (mutants.AssumesSaved, "a life is used twice"))


def test_next_controller_knows_whom_to_ask() -> None:
    """The client processes are saved, and their records are restored."""
    check(controller_dies, (mutants.SavesNoClients, LOST), (mutants.SkipsRestore, LOST))


def test_next_controller_has_the_snapshot_that_was_released() -> None:
    """The records of the snapshot are saved."""
    check(controller_dies_after_a_release, (mutants.SavesNoRecords, LOST))


def test_client_writes_only_when_it_would_be_asked() -> None:
    """HELLO is answered when the client process is saved."""
    check(client_says_hello_and_all_dies, (mutants.GreetsUnsaved, LOST))


def test_writes_after_a_crash_are_newer_than_all_before() -> None:
    """Every start has a new incarnation."""
    check(
        switch_crashes,
        (mutants.KeepsLife, "the write got no answer"),
        (mutants.IgnoresRestarts, LOST),
    )


def test_next_controller_knows_the_life() -> None:
    """The incarnation is saved."""

    def script(control: type[FarReach]) -> str:
        it = rack(control).start(preload=(KEY,))
        for number in range(5):
            it.put(1, KEY, b"write %d" % number)
        for _ in range(2):
            crash(it, controller=True)
        it.put(2, KEY, b"after")
        return "" if read(it, 1) == b"after" else LOST

    check(script, (mutants.SavesNoLife, LOST))


def test_nobody_is_served_before_the_servers_have_all() -> None:
    """The switch opens when every RESTORE is answered."""
    check(users_read_during_a_recovery, (mutants.OpensEarly, LOST))


def test_preserved_delete_is_replayed_as_a_delete() -> None:
    """A preserved delete is restored as a tombstone."""
    check(deleted_key_is_recovered, (mutants.ForgetsDeletes, "a deleted key is back"))


def test_newest_record_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery restores the newest record of snapshot and clients.

    Mutant: the first record wins.
    """
    check(records_of_7_and_9_and_a_snapshot_with_8)
    monkeypatch.setattr(recovery, "is_later", lambda _a, _b: False)  # the first that was told wins
    assert suffered(records_of_7_and_9_and_a_snapshot_with_8, FarReach) == LOST


def test_what_was_lost_stays_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of incarnations before the last recovery are ignored.

    Mutant: records of all incarnations are restored.
    """
    check(lost_write_comes_back_with_its_client)
    monkeypatch.setattr(recovery, "is_newer", lambda _a, _b: False)  # records of any life count
    harm = "what was lost, as all have seen, is back"
    assert suffered(lost_write_comes_back_with_its_client, FarReach) == harm


def test_silence_counts_only_while_anybody_can_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only time in which the switch answers counts against a silent client.

    Mutant: all time counts.
    """
    check(channel_is_cut_during_a_recovery)

    def on_timer(self: Heartbeat, now: Nanoseconds) -> None:
        if self._due is not None and self._due <= now:  # beats without an answer
            self._due = now + self._interval
            list(self._beaten(now))

    monkeypatch.setattr(Heartbeat, "on_timer", on_timer)
    assert suffered(channel_is_cut_during_a_recovery, FarReach) == LOST


def test_all_that_is_asked_is_repeated() -> None:
    """Messages are repeated until answered."""
    check(everything_on_a_bad_network, (mutants.RepeatsNothing, "not served"))


def test_no_generation_is_given_twice() -> None:
    """Every filling has a new generation."""
    check(key_comes_in_again, (mutants.KeepsGeneration, "not served"))


def test_copies_of_answers_do_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of an answer has no effect.

    Mutant: every copy counts.
    """
    check(messages_are_doubled)
    answered = Outstanding.answered
    known: dict[int, Message] = {}

    def answered_again(self: Outstanding, now: Nanoseconds, reply: Message) -> Message | None:
        request = answered(self, now, reply) or known.get(reply.request)
        if request is not None:
            known[reply.request] = request
        return request

    def reply_again(self: PendingRequests, now: Nanoseconds, reply: Message) -> Any:
        question = questions.setdefault(reply.request, self._waiting.pop(reply.request, None))
        if self._outstanding.answered(now, reply) is not None and question is not None:
            yield from question.then(now, reply)

    questions: dict[int, Any] = {}
    monkeypatch.setattr(Outstanding, "answered", answered_again)  # counts every copy
    monkeypatch.setattr(PendingRequests, "on_reply", reply_again)
    assert suffered(messages_are_doubled, FarReach) != ""


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


def test_every_farreach_trap_is_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs/testing.md").read_text()
    own = [name for name in globals() if name.startswith("test_") and "documentation" not in name]
    assert [name for name in own if f"`{name}`" not in text] == []
