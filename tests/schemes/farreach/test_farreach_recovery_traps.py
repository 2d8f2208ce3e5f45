"""Traps of incarnations and recoveries whose protection is in FarReach's control plane.

Every trap runs its script with the original control plane, which must do no harm, and with each
mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

import pytest

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.kits.write_back.record import Record
from netkv.model.messages import Bit, Op
from netkv.schemes.farreach import recovery
from netkv.schemes.farreach.checkpoint_format import Client, State, to_bytes
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.heartbeat import Heartbeat
from tests.schemes.farreach import farreach_mutants as mutants
from tests.schemes.farreach.farreach_rack import Net
from tests.schemes.farreach.farreach_traps import KEY, LOST, check, crash, make_rack, read
from tests.schemes.traps import suffered

# ------------------------------------------------------------------------------------ scripts


def incarnation_is_used_before_it_is_saved(control: type[FarReach]) -> str:
    rack = make_rack(control).start()
    rack.save_time = SECOND
    before = rack.disk
    rack.kill_controller()
    rack.replace_controller()
    rack.run(500 * MILLISECOND)
    incarnation = rack.switch.incarnation()
    rack.kill_controller()
    rack.run(SECOND)
    rack.disk = before
    rack.save_time = MILLISECOND
    rack.replace_controller()
    rack.run(SECOND)
    again = rack.switch.incarnation() in (0, incarnation)
    return "an incarnation is used twice" if again else ""


def controller_crashes(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.put(1, KEY, b"only in the switch")
    crash(rack, controller=True)
    return "" if read(rack, 2) == b"only in the switch" else LOST


def client_registers_before_a_crash(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.processes[2].bye()
    rack.run(20 * MILLISECOND)
    rack.save_time = SECOND
    rack.processes[2] = rack.new_process(2, first_request=1 << 20)
    rack.processes[2].hello()
    rack.run(20 * MILLISECOND)
    if not rack.processes[2].incarnation:
        return ""  # HELLO is not answered, so the client writes nothing
    rack.put(2, KEY, b"written at once")
    before = rack.disk
    rack.kill_controller()
    rack.run(SECOND)
    rack.disk = before
    rack.save_time = MILLISECOND
    rack.replace_controller()
    rack.run(100 * MILLISECOND)
    return "" if read(rack, 1) == b"written at once" else LOST


def switch_crashes(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    for number in range(5):
        rack.put(1, KEY, b"write %d" % number)
    crash(rack)
    if read(rack, 2) != b"write 4":
        return LOST
    rack.put(2, KEY, b"after")
    return "" if read(rack, 1) == b"after" else LOST


def users_read_during_a_recovery(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.put(1, KEY, b"acknowledged")
    rack.lost = lambda hop: hop.op is Op.RESTORE and rack.now < until
    until = rack.now + 500 * MILLISECOND
    rack.crash_switch()
    found = read(rack, 2)
    return "" if found == b"acknowledged" else LOST


def deleted_key_is_recovered(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.delete(1, KEY)
    crash(rack)
    return "" if read(rack, 2) is None else "a deleted key returns"


def records_of_7_and_9_and_a_snapshot_with_8(control: type[FarReach]) -> str:
    def record(number: int) -> Record:
        return Record(KEY, 2, number, int(Bit.DIRTY), b"write %d" % number)

    rack = make_rack(control)
    clients = tuple(Client(process.ip) for process in rack.processes.values())
    rack.disk = to_bytes(State(2, snapshot=1, clients=clients, records=(record(8),)))
    for process, number in zip(rack.processes.values(), (7, 9), strict=True):
        process.preserved[KEY] = (record(number), 0)
    rack.replace_controller()
    rack.run(SECOND)
    return "" if read(rack, 1) == b"write 9" else LOST


def lost_write_returns_with_its_client(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.put(2, KEY, b"lost")
    rack.processes[2].up = False
    crash(rack)
    found = read(rack, 1)
    rack.processes[2].up = True
    rack.processes[2].hello()
    rack.run(300 * MILLISECOND)
    crash(rack)
    return "" if read(rack, 1) == found else "a lost write returns after a read without it"


def channel_is_cut_during_a_recovery(control: type[FarReach]) -> str:
    rack = make_rack(control).start(preload=(KEY,))
    rack.put(1, KEY, b"with the client")
    rack.crash_switch()
    rack.channel = Net(loss=1.0)
    rack.run(5 * SECOND)
    rack.channel = Net()
    rack.run(2 * SECOND)
    return "" if read(rack, 2) == b"with the client" else LOST


# -------------------------------------------------------------------------------------- traps


def test_incarnation_is_saved_before_it_is_used() -> None:
    """The incarnation is saved before it is written to the switch."""
    check(
        incarnation_is_used_before_it_is_saved,
        (mutants.AssumesSaved, "an incarnation is used twice"),
    )


def test_next_controller_knows_the_client_processes() -> None:
    """The client processes are saved, and their records are restored."""
    check(controller_crashes, (mutants.SavesNoClients, LOST), (mutants.SkipsRestore, LOST))


def test_client_process_is_saved_before_hello_is_answered() -> None:
    """HELLO is answered when the client process is saved."""
    check(client_registers_before_a_crash, (mutants.AnswersUnsavedHello, LOST))


def test_writes_after_a_crash_have_a_new_incarnation() -> None:
    """Every start has a new incarnation."""
    check(
        switch_crashes,
        (mutants.KeepsIncarnation, "the write got no answer"),
        (mutants.IgnoresRestarts, LOST),
    )


def test_next_controller_knows_the_incarnation() -> None:
    """The incarnation is saved."""

    def script(control: type[FarReach]) -> str:
        rack = make_rack(control).start(preload=(KEY,))
        for number in range(5):
            rack.put(1, KEY, b"write %d" % number)
        for _ in range(2):
            crash(rack, controller=True)
        rack.put(2, KEY, b"after")
        return "" if read(rack, 1) == b"after" else LOST

    check(script, (mutants.SavesNoIncarnation, LOST))


def test_switch_opens_after_all_records_are_restored() -> None:
    """The switch opens when every RESTORE is answered."""
    check(users_read_during_a_recovery, (mutants.OpensEarly, LOST))


def test_preserved_delete_is_replayed_as_a_delete() -> None:
    """A preserved delete is restored as a tombstone."""
    check(deleted_key_is_recovered, (mutants.ForgetsDeletes, "a deleted key returns"))


def test_newest_record_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery restores the newest record of snapshot and clients.

    Mutant: the first record wins.
    """
    check(records_of_7_and_9_and_a_snapshot_with_8)
    monkeypatch.setattr(recovery, "is_later", lambda _a, _b: False)  # the first record wins
    assert suffered(records_of_7_and_9_and_a_snapshot_with_8, FarReach) == LOST


def test_records_from_before_the_last_recovery_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of incarnations before the last recovery are ignored.

    Mutant: records of all incarnations are restored.
    """
    check(lost_write_returns_with_its_client)
    monkeypatch.setattr(
        recovery, "is_newer", lambda _a, _b: False
    )  # records of any incarnation count
    harm = "a lost write returns after a read without it"
    assert suffered(lost_write_returns_with_its_client, FarReach) == harm


def test_client_is_given_up_only_while_the_switch_answers(monkeypatch: pytest.MonkeyPatch) -> None:
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
