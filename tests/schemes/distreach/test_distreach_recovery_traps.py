"""Traps of recoveries of a chain and of its incarnations (docs/schemes/distreach.md, "Recovery").

Every trap runs its script over the programs that ship and the real control plane, which must do no
harm, and with each mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

from __future__ import annotations

from netkv.control.base import MILLISECOND, SECOND
from netkv.model.messages import Op
from tests.schemes.distreach import control_mutants, program_mutants
from tests.schemes.distreach.distreach_rack import Rack, Switch, System
from tests.schemes.distreach.distreach_traps import (
    KEY,
    KEYS,
    LOST,
    SILENT,
    STALE,
    TWICE,
    UNREAD,
    UNSERVED,
    admit,
    between,
    cached_rack,
    check,
    evict,
    read,
    ready_rack,
)
from tests.schemes.scripted_rack import Hop
from tests.schemes.write_back_hosts import PendingRequest

LARGE = bytes(200)
"""A value that no entry can store."""


def beside(rack: Rack) -> bytes:
    """A key of the same chain as KEY, which is not cached."""
    return next(key for key in KEYS[1:] if rack.chain(key) == rack.chain(KEY))


def crash_and_wait(rack: Rack, *switches: Switch) -> None:
    """Switches restart; run until the recovery has ended."""
    rack.crash_switch(*switches)
    rack.recover()


# ------------------------------------------------------------------------------------ scripts


def put_is_lost_between_switches(rack: Rack, lost: int) -> PendingRequest:
    """Then a switch is lost (0: the head), and the write is repeated."""
    head, tail = chain = rack.chain(KEY)
    rack.lost = between(head, tail, Op.PUT)
    pending = rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run(MILLISECOND)
    rack.lost = lambda hop: hop.source == "client-1"
    crash_and_wait(rack, chain[lost])
    return pending


def head_is_lost_behind_a_lost_put(system: type[System]) -> str:
    rack = cached_rack(system)
    mine = put_is_lost_between_switches(rack, 0)
    return LOST if mine.reply is not None and read(rack) != b"mine" else ""


def tail_is_lost_behind_a_lost_put(system: type[System]) -> str:
    rack = cached_rack(system)
    mine = put_is_lost_between_switches(rack, 1)
    if read(rack) != b"mine":
        return "the record of the head is lost"
    rack.put(2, KEY, b"later")
    unknown = rack.processes[1].unknown
    rack.lost = lambda _: False
    rack.run_until(lambda: mine.ended)
    if read(rack) != b"later":
        return TWICE
    return "" if rack.processes[1].unknown > unknown else SILENT


def answered_write_is_repeated_after_the_head_is_lost(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.lost = between(tail, head, Op.PUT_REPLY)
    mine = rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run(5 * MILLISECOND)
    rack.lost = lambda hop: hop.source == "client-1"
    assert read(rack) == b"mine"
    rack.put(2, KEY, b"later")
    crash_and_wait(rack, head)
    rack.lost = lambda _: False
    rack.run_until(lambda: mine.ended)
    return "" if read(rack) == b"later" else TWICE


def copy_of_an_answered_write_comes_after_the_recovery(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    (copy,) = caught_write(rack, head, tail)
    rack.run(50 * MILLISECOND)  # its client repeats it
    rack.put(2, KEY, b"later")
    crash_and_wait(rack, tail)
    evict(rack)
    rack.deliver(copy)
    rack.run(10 * MILLISECOND)
    return "" if read(rack) == b"later" else TWICE


def caught_write(rack: Rack, source: Switch, to: Switch) -> list[Hop]:
    """Client 1 writes "mine"; the frame between two switches is held, and no later one."""
    caught = rack.catch(between(source, to, Op.PUT))
    rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run(MILLISECOND)
    rack.catches = lambda _: False
    return list(caught)


def switch_stays_down(system: type[System]) -> str:
    rack = cached_rack(system, width=2)
    head = rack.chain(KEY)[0]
    rack.stop_switch(head)
    rack.run(100 * MILLISECOND)
    found = read(rack)
    if found != b"cached":
        return SILENT if found == SILENT else LOST
    rack.put(1, KEY, b"second")
    rack.start_switch(head)
    rack.recover()
    rack.run(10 * MILLISECOND)
    return "" if read(rack) == b"second" else LOST


def server_is_silent_while_a_switch_stays_down(system: type[System]) -> str:
    rack = cached_rack(system, width=2)
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.stop_switch(rack.chain(KEY)[0])
    rack.run(100 * MILLISECOND)
    rack.lost = lambda _: False
    rack.run(SECOND)
    return "" if read(rack) == b"cached" else LOST


def outdated_record_is_recovered(system: type[System]) -> str:
    rack = cached_rack(system)
    rack.put(1, KEY, LARGE)
    crash_and_wait(rack, rack.chain(KEY)[0])
    return "" if read(rack) == LARGE else STALE


def write_before_the_admission(rack: Rack) -> tuple[Hop, PendingRequest]:
    """Client 1 writes "late", which passes the chain uncached and is held before the server. Then
    KEY is admitted, and a read makes its record, "before", the latest."""
    tail = rack.chain(KEY)[-1]
    server = f"server-{rack.topology.owner(KEY).index}"
    rack.put(2, KEY, b"before")
    rack.catch(between(tail, server, Op.PUT))
    late = rack.processes[1].begin(Op.PUT, KEY, b"late")
    rack.run(MILLISECOND)
    (hop,) = rack.caught
    rack.catches = lambda _: False
    rack.lost = lambda it: it.source == "client-1"
    admit(rack)
    assert read(rack) == b"before"
    return hop, late


def server_gets_a_write_during_the_recovery(system: type[System]) -> str:
    """It passed the chain before its key was admitted, and no entry knows of it."""
    rack = ready_rack(system)
    hop, late = write_before_the_admission(rack)
    rack.catch(lambda it: it.op is Op.RESTORE)
    rack.crash_switch(rack.chain(KEY)[-1])
    rack.run(5 * MILLISECOND)
    restores = rack.caught
    assert restores
    rack.catches = lambda _: False
    rack.deliver(hop)
    rack.run_until(lambda: late.ended)
    assert late.reply is not None
    rack.release(*restores)
    rack.recover()
    return "" if read(rack) == b"late" else STALE


def server_gets_a_write_before_the_entry_is_filled(system: type[System]) -> str:
    """The server has answered RESTORE, and no entry takes part in the reply to the write."""
    rack = ready_rack(system)
    hop, late = write_before_the_admission(rack)
    fills = rack.catch(lambda it: it.op is Op.FILL)
    rack.crash_switch(rack.chain(KEY)[0])
    rack.run(10 * MILLISECOND)
    assert {it.to for it in fills} == {it.name for it in rack.chain(KEY)}
    rack.deliver(hop)
    rack.run_until(lambda: late.ended)
    assert late.reply is not None
    rack.release(*fills)
    rack.recover()
    return "" if read(rack) == b"late" else STALE


def server_gets_a_write_after_the_recovery(system: type[System]) -> str:
    rack = ready_rack(system)
    hop, late = write_before_the_admission(rack)
    crash_and_wait(rack, rack.chain(KEY)[0])
    assert read(rack) == b"before"  # the latest again
    rack.deliver(hop)
    rack.run_until(lambda: late.ended)
    assert late.reply is not None
    return "" if read(rack) == b"late" else STALE


def requests_arrive_before_the_servers_are_updated(system: type[System]) -> str:
    rack = cached_rack(system, width=2)  # so that requests reach the tail
    tail = rack.chain(KEY)[-1]
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.crash_switch(tail)
    rack.run(5 * MILLISECOND)
    affected = rack.processes[1].begin(Op.GET, KEY)
    other = rack.processes[2].begin(Op.GET, beside(rack))
    rack.run(20 * MILLISECOND)
    if other.reply is None:
        return UNSERVED
    rack.lost = lambda _: False
    rack.recover()
    rack.run_until(lambda: affected.ended)
    if affected.reply is None:
        return SILENT
    return "" if affected.reply.value == b"cached" else STALE


def requests_arrive_before_the_recovery(system: type[System]) -> str:
    rack = cached_rack(system, width=2)  # so that requests reach the tail
    rack.save_time = 100 * MILLISECOND
    rack.crash_switch(rack.chain(KEY)[-1])
    rack.run(10 * MILLISECOND)
    affected = rack.processes[1].begin(Op.GET, KEY)
    rack.run_until(lambda: affected.ended)
    if affected.reply is None:
        return SILENT
    return "" if affected.reply.value == b"cached" else STALE


def chain_writes_after_two_losses(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    for number in range(20):
        rack.put(1, KEY, b"%d" % number)
    crash_and_wait(rack, head)
    for number in range(5):
        value = b"after the loss %d" % number
        rack.put(1, KEY, value)
        if read(rack) != value:
            return LOST
    crash_and_wait(rack, tail)
    return "" if read(rack) == value else LOST


def write_is_in_one_of_the_survivors_only(system: type[System]) -> str:
    rack = cached_rack(system, layers=3)
    head, middle, tail = rack.chain(KEY)
    rack.lost = between(middle, tail, Op.PUT)
    rack.processes[1].begin(Op.PUT, KEY, b"partial", timeout=10 * MILLISECOND)
    rack.run(20 * MILLISECOND)
    rack.lost = lambda _: False
    crash_and_wait(rack, head)
    found = read(rack)
    crash_and_wait(rack, tail)
    return "" if read(rack) == found else UNREAD


def another_switch_is_lost_during_the_recovery(system: type[System]) -> str:
    rack = cached_rack(system, layers=3)
    head, middle, tail = rack.chain(KEY)
    rack.catch(lambda hop: hop.op is Op.RESTORE)
    rack.crash_switch(tail)
    rack.run(10 * MILLISECOND)
    assert rack.caught
    rack.crash_switch(middle)
    rack.catches = lambda _: False
    rack.run(SECOND)
    rack.put(1, KEY, b"second")
    crash_and_wait(rack, head)
    return "" if read(rack) == b"second" else LOST


def other_chain(rack: Rack) -> list[Switch]:
    """The switches of the chain that has not KEY."""
    return next(chain for key in KEYS if (chain := rack.chain(key)) != rack.chain(KEY))


def two_chains_recover_at_the_same_time(system: type[System]) -> str:
    """The other chain has no records left. So it asks for its second incarnation as soon as it gets
    the first, while the chain of KEY is about to get that one, too."""
    rack = ready_rack(system, width=2)
    rack.reroutes = lambda _: False
    rack.save_time = 100 * MILLISECOND
    rack.crash_switch(*other_chain(rack), rack.chain(KEY)[0])
    for number in range(10):  # the tail is the head meanwhile
        rack.put(1, KEY, b"%d" % number)
    rack.recover()
    rack.put(1, KEY, b"later")
    return "" if read(rack) == b"later" else LOST


def saved_state_and_one_chain_are_lost(system: type[System]) -> str:
    """The empty chain asks for an incarnation before the controller has read those of the other."""
    rack = ready_rack(system, width=2)
    rack.reroutes = lambda _: False
    crash_and_wait(rack, rack.chain(KEY)[0])
    rack.put(1, KEY, b"before")
    rack.kill_controller()
    rack.disk = None
    rack.save_time = 100 * MILLISECOND
    for switch in other_chain(rack):
        switch.restart()
    rack.replace_controller()
    rack.run(10 * MILLISECOND)  # the chain of KEY is held
    rack.put(1, KEY, b"later")  # the tail is the head
    return "" if read(rack) == b"later" else LOST


def incarnation_is_used_before_it_is_saved(system: type[System]) -> str:
    rack = cached_rack(system)
    rack.save_time = SECOND
    rack.crash_switch(rack.chain(KEY)[0])
    rack.run(500 * MILLISECOND)
    for number in range(10):
        rack.processes[2].begin(Op.PUT, KEY, b"%d" % number, timeout=10 * MILLISECOND)
        rack.run(10 * MILLISECOND)
    return continues_after_all_is_lost(rack)


def controller_and_all_switches_are_lost(system: type[System]) -> str:
    rack = cached_rack(system)
    for number in range(10):
        rack.put(2, KEY, b"%d" % number)
    return continues_after_all_is_lost(rack)


def continues_after_all_is_lost(rack: Rack) -> str:
    """The server has all records; then controller and chain lose their state."""
    if KEY in rack.control.cached_keys():
        evict(rack)
        rack.run(50 * MILLISECOND)
    rack.save_time = MILLISECOND
    rack.kill_controller()
    for switch in rack.switches.values():
        switch.restart()
    rack.replace_controller()
    rack.recover()
    for process in rack.processes.values():
        process.incarnation = 0
    rack.put(1, KEY, b"after the loss")
    return "" if read(rack) == b"after the loss" else LOST


def controller_is_lost_while_the_tail_has_no_records(system: type[System]) -> str:
    rack = cached_rack(system)
    tail = rack.chain(KEY)[-1]
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.crash_switch(tail)
    rack.run(20 * MILLISECOND)
    assert KEY in tail.lookup()
    rack.lost = lambda _: False
    rack.kill_controller()
    rack.replace_controller()
    rack.recover()
    return "" if read(rack) == b"cached" else LOST


def controller_is_lost_while_it_sets_up_a_switch(system: type[System]) -> str:
    rack = cached_rack(system)
    head = rack.chain(KEY)[0]
    rack.steps_left = 8
    rack.crash_switch(head)
    rack.run(20 * MILLISECOND)
    assert rack.controller_down
    rack.replace_controller()
    rack.run(SECOND)
    return "" if read(rack) == b"cached" else LOST


# -------------------------------------------------------------------------------------- traps


def test_write_that_the_tail_lacks_is_not_acknowledged() -> None:
    """Only the tail acknowledges a write: if it is lost on its way there, the head may be lost."""
    check(head_is_lost_behind_a_lost_put, (program_mutants.HeadAnswers, LOST))


def test_write_that_only_the_head_has_has_one_effect() -> None:
    """The head answers no repeated request of an earlier incarnation by itself: it is PAST."""
    check(
        tail_is_lost_behind_a_lost_put,
        (program_mutants.DropsEarlierRequests, SILENT),
        (program_mutants.NumbersEarlierRequests, TWICE),
    )


def test_answered_write_is_not_repeated_after_a_loss() -> None:
    """A restarted head does not know earlier requests: they are PAST, whatever it has."""
    check(answered_write_is_repeated_after_the_head_is_lost, (program_mutants.NothingIsPast, TWICE))


def test_late_frame_of_an_earlier_incarnation_has_no_effect() -> None:
    """A switch drops what was sequenced in an earlier incarnation."""
    check(
        copy_of_an_answered_write_comes_after_the_recovery,
        (program_mutants.AcceptsLateFrames, TWICE),
    )


def test_chain_without_a_switch_serves_all_keys() -> None:
    """A switch that stays down is left out when the servers have its records."""
    check(
        switch_stays_down,
        (control_mutants.IgnoresLosses, SILENT),
        (control_mutants.SkipsRestore, LOST),
        (control_mutants.RestoresWithoutSequence, LOST),
    )


def test_entries_are_kept_until_the_servers_have_the_records() -> None:
    """No entry is changed before RESTORE is answered for all records."""
    check(server_is_silent_while_a_switch_stays_down, (control_mutants.ChangesEntriesEarly, LOST))


def test_outdated_record_stays_outdated() -> None:
    """A recovery makes no record the latest, whatever it was."""
    check(outdated_record_is_recovered, (program_mutants.RecoveriesFillTheLatest, STALE))


def test_record_older_than_the_servers_is_not_the_latest() -> None:
    """A recovery makes no record the latest: the server may have a later one before RESTORE."""
    check(
        server_gets_a_write_during_the_recovery,
        (program_mutants.RecoveriesFillTheLatest, STALE),
    )


def test_write_between_restore_and_fill_is_read() -> None:
    """A recovery makes no record the latest, also if RESTORE_REPLY had its sequence."""
    check(
        server_gets_a_write_before_the_entry_is_filled,
        (control_mutants.TrustsAnswersToRestore, STALE),
        (program_mutants.RecoveriesFillTheLatest, STALE),
    )


def test_reply_of_an_earlier_incarnation_outdates_the_entry() -> None:
    """A reply with a sequence of another incarnation clears *latest*."""
    check(server_gets_a_write_after_the_recovery, (program_mutants.RecoveredIsLatest, STALE))


def test_only_requests_for_affected_keys_wait() -> None:
    """In mode *hold* requests for the recovered keys are dropped, and all others are served."""
    check(
        requests_arrive_before_the_servers_are_updated,
        (program_mutants.HoldsNothing, STALE),
        (program_mutants.HoldsEverything, UNSERVED),
        (control_mutants.OpensAtOnce, STALE),
        (control_mutants.ServesBeforeLookups, STALE),
    )


def test_restarted_switch_serves_nothing_before_the_recovery() -> None:
    """A switch starts in mode *closed* and without an incarnation, and drops all requests."""
    check(requests_arrive_before_the_recovery, (control_mutants.ServesAfterTheStart, STALE))


def test_writes_after_a_loss_are_newer_than_all_before() -> None:
    """After a loss the chain has a new incarnation."""
    check(chain_writes_after_two_losses, (control_mutants.KeepsIncarnation, LOST))


def test_all_switches_have_the_same_records_after_a_loss() -> None:
    """A recovery fills all switches again, also those that have kept their records."""
    check(write_is_in_one_of_the_survivors_only, (control_mutants.FillsOnlyRestarted, UNREAD))


def test_second_loss_during_a_recovery_loses_nothing() -> None:
    """Every change of a switch begins the recovery again."""
    check(
        another_switch_is_lost_during_the_recovery,
        (control_mutants.IgnoresSecondLoss, f"{LOST}|the write got no answer"),
    )


def test_incarnation_is_saved_before_a_switch_has_it() -> None:
    """An incarnation is saved before any switch has it."""
    check(incarnation_is_used_before_it_is_saved, (control_mutants.AssumesSaved, LOST))


def test_new_controller_gives_no_incarnation_again() -> None:
    """A new controller continues above the saved incarnation."""
    check(controller_and_all_switches_are_lost, (control_mutants.ForgetsIncarnations, LOST))


def test_chains_that_recover_at_once_use_no_number_twice() -> None:
    """Chains that wait for the same save get the incarnation that is saved, and no later one."""
    check(two_chains_recover_at_the_same_time, (control_mutants.GivesTheNextIncarnation, LOST))


def test_incarnation_is_above_that_of_every_switch() -> None:
    """An incarnation is given only if none above it was found since it was chosen."""
    check(saved_state_and_one_chain_are_lost, (control_mutants.GivesEarlierIncarnations, LOST))


def test_restarted_tail_is_no_source_of_records() -> None:
    """Until its entries are filled, the incarnation of a restarted tail is marked."""
    check(controller_is_lost_while_the_tail_has_no_records, (control_mutants.MarksNothing, LOST))


def test_switch_that_was_not_set_up_is_emptied() -> None:
    """A new controller empties a switch without the last of its initial entries."""
    check(
        controller_is_lost_while_it_sets_up_a_switch,
        (control_mutants.BelievesEverySwitchIsSetUp, f"{LOST}|{SILENT}"),
    )
