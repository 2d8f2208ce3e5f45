"""Traps of incarnations and recoveries whose protection is in FarReach's control plane.

Every trap plays its script with the control plane as it is, where all must be well, and with each
mutant, where it must not. The table of both is in `docs/testing.md`.
"""

import pytest

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.messages import Bit, Op
from netkv.schemes.farreach import recovery
from netkv.schemes.farreach.checkpoint_format import Client, State, to_bytes
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.heartbeat import Heartbeat
from netkv.schemes.farreach.record import Record
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_rack import Net
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, crash, rack, read
from tests.schemes.traps import suffered

# ------------------------------------------------------------------------------------ scripts


def incarnation_is_used_before_the_disk_has_it(control: type[FarReach]) -> str:
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
    again = it.switch.pipelines[0].incarnation in (0, incarnation)
    return "an incarnation is used twice" if again else ""


def controller_dies(control: type[FarReach]) -> str:
    it = rack(control).start(preload=(KEY,))
    it.put(1, KEY, b"only in the switch")
    crash(it, controller=True)
    return "" if read(it, 2) == b"only in the switch" else LOST


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


# -------------------------------------------------------------------------------------- traps


def test_incarnation_is_saved_before_it_is_used() -> None:
    """The incarnation is saved before it is written to the switch."""
    check(
        incarnation_is_used_before_the_disk_has_it,
        (mutants.AssumesSaved, "an incarnation is used twice"),
    )


def test_next_controller_knows_whom_to_ask() -> None:
    """The client processes are saved, and their records are restored."""
    check(controller_dies, (mutants.SavesNoClients, LOST), (mutants.SkipsRestore, LOST))


def test_client_writes_only_when_it_would_be_asked() -> None:
    """HELLO is answered when the client process is saved."""
    check(client_says_hello_and_all_dies, (mutants.AnswersUnsavedHello, LOST))


def test_writes_after_a_crash_are_newer_than_all_before() -> None:
    """Every start has a new incarnation."""
    check(
        switch_crashes,
        (mutants.KeepsIncarnation, "the write got no answer"),
        (mutants.IgnoresRestarts, LOST),
    )


def test_next_controller_knows_the_incarnation() -> None:
    """The incarnation is saved."""

    def script(control: type[FarReach]) -> str:
        it = rack(control).start(preload=(KEY,))
        for number in range(5):
            it.put(1, KEY, b"write %d" % number)
        for _ in range(2):
            crash(it, controller=True)
        it.put(2, KEY, b"after")
        return "" if read(it, 1) == b"after" else LOST

    check(script, (mutants.SavesNoIncarnation, LOST))


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
    monkeypatch.setattr(
        recovery, "is_newer", lambda _a, _b: False
    )  # records of any incarnation count
    harm = "what was lost, as all have seen, is back"
    assert suffered(lost_write_comes_back_with_its_client, FarReach) == harm


def test_silence_counts_only_while_anybody_can_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only time in which the switch answers counts against a silent client.

    Mutant: all time counts.
    """
    check(channel_is_cut_during_a_recovery)

    def on_timer(self: Heartbeat, now: Nanoseconds) -> None:
        if self._due is not None and self._due <= now:  # heartbeats without an answer
            self._due = now + self._interval
            list(self._on_heartbeat(now))

    monkeypatch.setattr(Heartbeat, "on_timer", on_timer)
    assert suffered(channel_is_cut_during_a_recovery, FarReach) == LOST
