"""Traps of reads and writes that pass a chain of switches (docs/schemes/distreach.md, "Switch").

Every trap runs its script over the programs that ship and the real control plane, which must do no
harm, and with each mutant, which must do harm. The table of both is in `docs/internals/traps.md`.
"""

from __future__ import annotations

from netkv.control.base import MILLISECOND, SECOND
from netkv.model.messages import Op
from tests.schemes.distreach import control_mutants, program_mutants
from tests.schemes.distreach.distreach_rack import System, dirty, latest
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

LARGE = bytes(200)
"""A value that no entry can store."""
UNREFRESHED = "an entry is not refreshed"

# ------------------------------------------------------------------------------------ scripts


def all_switches_but_one_are_lost(system: type[System]) -> str:
    rack = cached_rack(system, layers=3)
    chain = rack.chain(KEY)
    for survivor in reversed(chain):
        value = b"write before " + survivor.name.encode()
        rack.put(1, KEY, value)
        rack.crash_switch(*(switch for switch in chain if switch is not survivor))
        rack.recover()
        if read(rack) != value:
            return LOST
    return ""


def read_while_a_write_is_between_two_switches(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.lost = between(head, tail, Op.PUT)
    rack.processes[1].begin(Op.PUT, KEY, b"second", timeout=10 * MILLISECOND)
    rack.run(10 * MILLISECOND)
    found = read(rack)
    rack.lost = lambda _: False
    rack.crash_switch(head)
    rack.recover()
    return "" if read(rack) == found else UNREAD


def write_bypasses_a_switch(system: type[System]) -> str:
    # The middle switch returns, and the head still sends requests around it.
    rack = cached_rack(system, layers=3, width=2)
    head, middle, tail = rack.chain(KEY)
    rack.stop_switch(middle)
    rack.run(20 * MILLISECOND)
    rack.reroutes = lambda name: name == "edge-0"
    rack.start_switch(middle)
    rack.recover()
    rack.run(MILLISECOND)
    rack.put(1, KEY, b"second")
    rack.put(1, KEY, b"third")
    rack.reroutes = lambda _: True
    rack.crash_switch(head, tail)
    rack.recover()
    return "" if read(rack) == b"third" else LOST


def answer_is_lost_and_another_client_writes(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.lost = between(tail, head, Op.PUT_REPLY)
    mine = rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run(5 * MILLISECOND)
    rack.lost = lambda _: False
    assert read(rack) == b"mine"
    rack.put(2, KEY, b"later")
    rack.run(100 * MILLISECOND)
    if mine.reply is None:
        return SILENT
    return "" if read(rack) == b"later" else TWICE


def copy_arrives_after_a_thousand_writes(system: type[System]) -> str:
    rack = cached_rack(system)
    caught = rack.catch(between("client-1", "edge-0", Op.PUT))
    rack.processes[1].begin(Op.PUT, KEY, b"old")
    copy = caught[0]
    rack.release()
    rack.run(10 * MILLISECOND)
    for _ in range(1024):
        rack.processes[1].begin(Op.PUT, KEY, b"new")
        rack.run(MILLISECOND)
    assert read(rack) == b"new"
    rack.deliver(copy)
    rack.run(10 * MILLISECOND)
    return "" if read(rack) == b"new" else TWICE


def writes_swap_places_between_switches(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.catch(between(head, tail, Op.PUT))
    rack.processes[1].begin(Op.PUT, KEY, b"overtaken")
    rack.run(MILLISECOND)
    (late,) = rack.caught
    rack.catches = lambda _: False
    rack.put(2, KEY, b"overtaking")
    rack.deliver(late)
    rack.run(MILLISECOND)
    found = read(rack)
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == found else UNREAD


def copy_comes_after_the_admission(system: type[System]) -> str:
    """A later write went to the server, after the record for the entry was fetched."""
    rack = ready_rack(system)
    head, tail = rack.chain(KEY)
    rack.lost = between(head, tail, Op.PUT)
    copy = rack.processes[1].begin(Op.PUT, KEY, b"second")
    rack.run(2 * MILLISECOND)
    rack.lost = lambda _: False
    rack.catch(between("controller", head, Op.FILL))
    admit(rack)
    rack.put(2, KEY, b"third")
    rack.release()
    rack.run_until(lambda: copy.ended)
    assert KEY in tail.lookup()
    found = read(rack)
    evict(rack)
    return "" if read(rack) == found else UNREAD


def copy_comes_when_the_key_is_cached_again(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.lost = between(head, tail, Op.PUT)
    copy = rack.processes[1].begin(Op.PUT, KEY, b"second")
    rack.run(MILLISECOND)
    rack.lost = lambda hop: between("edge-0", head, Op.PUT)(hop) and hop.sender == 1
    evict(rack)
    rack.catch(between("controller", head, Op.FILL))
    admit(rack)
    rack.put(2, KEY, b"third")
    rack.release()
    rack.run(5 * MILLISECOND)
    rack.lost = lambda _: False
    rack.run_until(lambda: copy.ended)
    assert KEY in tail.lookup()
    found = read(rack)
    evict(rack)
    return "" if read(rack) == found else UNREAD


def write_arrives_when_the_key_is_cached_again(system: type[System]) -> str:
    """The head has stored it in the earlier entry."""
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.catch(between(head, tail, Op.PUT))
    late = rack.processes[1].begin(Op.PUT, KEY, b"second")
    rack.run(MILLISECOND)
    (hop,) = rack.caught
    rack.catches = lambda _: False
    rack.lost = lambda hop: hop.source == "client-1"
    evict(rack)
    admit(rack)
    assert KEY in tail.lookup()
    rack.deliver(hop)
    rack.run_until(lambda: late.ended)
    assert late.reply is not None
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == b"second" else LOST


def writes_pass_between_the_halves_of_an_admission(system: type[System]) -> str:
    rack = ready_rack(system)
    head, tail = rack.chain(KEY)
    rack.catch(between("controller", tail, Op.FILL))
    admit(rack)
    fills = rack.caught
    assert KEY in head.lookup()
    rack.lost = between(head, tail, Op.PUT)
    copy = rack.processes[1].begin(Op.PUT, KEY, b"second")
    rack.run(MILLISECOND)
    rack.lost = lambda _: False
    rack.put(2, KEY, b"third")
    rack.release(*fills)
    rack.run(5 * MILLISECOND)
    assert KEY in tail.lookup()
    rack.run_until(lambda: copy.ended)
    found = read(rack)
    evict(rack)
    return "" if read(rack) == found else UNREAD


def client_without_an_incarnation_writes(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.processes[1].incarnation = 0
    rack.lost = between(tail, head, Op.PUT_REPLY)
    rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run(5 * MILLISECOND)
    rack.lost = between("client-1", "edge-0", Op.PUT)
    assert read(rack) == b"mine"
    rack.crash_switch(head)
    rack.recover()
    rack.put(2, KEY, b"later")
    rack.lost = lambda _: False
    rack.run(200 * MILLISECOND)
    return "" if read(rack) == b"later" else TWICE


def value_does_not_fit(system: type[System]) -> str:
    rack = cached_rack(system)
    rack.put(1, KEY, LARGE)
    return "" if read(rack) == LARGE else STALE


def write_behind_the_chain_is_lost(system: type[System]) -> str:
    """It has outdated the record of the entry, which the server does not have."""
    rack = cached_rack(system)
    tail = rack.chain(KEY)[-1]
    server = f"server-{rack.topology.owner(KEY).index}"
    rack.lost = between(tail, server, Op.PUT)
    rack.processes[1].begin(Op.PUT, KEY, LARGE, timeout=10 * MILLISECOND)
    rack.run(20 * MILLISECOND)
    found = read(rack)
    if found == SILENT:
        return SILENT
    return "" if found == b"cached" else LOST


def reply_comes_when_the_key_is_cached_again(system: type[System]) -> str:
    rack = ready_rack(system)
    head, tail = rack.chain(KEY)
    server = f"server-{rack.topology.owner(KEY).index}"
    rack.put(1, KEY, b"before")
    admit(rack)
    rack.catch(between(server, tail, Op.GET_REPLY))
    rack.processes[1].begin(Op.GET, KEY, timeout=10 * MILLISECOND)
    rack.run(5 * MILLISECOND)
    late = rack.caught[0]
    rack.catches = lambda _: False
    evict(rack)
    fills = rack.catch(between("controller", head, Op.FILL))
    admit(rack)
    rack.put(2, KEY, b"second")
    rack.release(fills[0])
    rack.run(10 * MILLISECOND)
    assert KEY in tail.lookup()
    rack.deliver(late)
    rack.run(MILLISECOND)
    return "" if read(rack) == b"second" else STALE


def write_passes_before_the_entry_is_filled(system: type[System]) -> str:
    rack = ready_rack(system)
    head, tail = rack.chain(KEY)
    fills = rack.catch(between("controller", head, Op.FILL))
    admit(rack)
    rack.put(1, KEY, b"second")
    rack.release(fills[0])
    rack.run(10 * MILLISECOND)
    assert KEY in tail.lookup()
    return "" if read(rack) == b"second" else STALE


def write_overtakes_the_reply_to_a_read(system: type[System]) -> str:
    rack = ready_rack(system, preload=(KEY,))
    tail = rack.chain(KEY)[-1]
    server = f"server-{rack.topology.owner(KEY).index}"
    rack.catch(between(server, tail, Op.GET_REPLY))
    pending = rack.processes[2].begin(Op.GET, KEY)
    rack.run(MILLISECOND)
    late = rack.caught
    rack.catches = lambda _: False
    rack.put(1, KEY, b"second")
    rack.release(*late)
    rack.run_until(lambda: pending.ended)
    if read(rack) != b"second":
        return STALE
    rack.crash_switch(tail)
    rack.recover()
    return "" if read(rack) == b"second" else LOST


def tail_is_lost_after_reads(system: type[System]) -> str:
    rack = ready_rack(system)
    head, tail = rack.chain(KEY)
    rack.put(1, KEY, b"second")
    admit(rack)
    assert read(rack) == b"second"
    if not latest(head.record(KEY)):
        return UNREFRESHED
    rack.crash_switch(tail)
    rack.recover()
    assert read(rack) == b"second"
    hit = rack.run_operation(1, Op.GET, KEY).reply
    return "" if hit is not None and hit.cache_hit else UNSERVED


def deleted_key_survives_each_switch(system: type[System]) -> str:
    rack = cached_rack(system)
    head, tail = rack.chain(KEY)
    rack.delete(1, KEY)
    assert dirty(head.record(KEY))
    for switch in (tail, head):
        rack.crash_switch(switch)
        rack.recover()
        if read(rack) is not None:
            return LOST
    return ""


def key_is_hot(system: type[System]) -> str:
    rack = ready_rack(system, hot_threshold=5)
    for _ in range(10):
        read(rack)
    rack.run(50 * MILLISECOND)
    if KEY not in rack.control.cached_keys():
        return UNSERVED
    for _ in range(2):
        for key in KEYS[1:]:
            read(rack, key=key)
    rack.run(50 * MILLISECOND)
    return "" if rack.control.cached_keys() == [KEY] else "a cold key is cached"


def numbers_wrap(system: type[System]) -> str:
    rack = ready_rack(system)
    for switch in rack.chain(KEY):
        switch.count_from(0xFFFFFFFD)
    admit(rack)
    for number in range(6):
        value = b"%d" % number
        if not rack.put(1, KEY, value).cache_hit and number:
            return UNSERVED
        if read(rack) != value:
            return STALE
    return ""


def incarnation_is_raised_while_an_answer_is_lost(system: type[System]) -> str:
    rack = cached_rack(system, incarnation_length=SECOND)
    head, tail = rack.chain(KEY)
    raised = rack.control.statistics()["incarnation"] + 1
    rack.run_until(lambda: rack.control.statistics()["incarnation"] == raised - 1)
    rack.lost = between(tail, head, Op.PUT_REPLY)
    mine = rack.processes[1].begin(Op.PUT, KEY, b"mine")
    rack.run_until(lambda: rack.control._all[0].recovery.incarnation == raised)
    rack.run(5 * MILLISECOND)
    rack.lost = lambda _: False
    rack.run_until(lambda: mine.ended)
    if mine.reply is None:
        return "a write is refused"
    return "" if read(rack) == b"mine" else LOST


# -------------------------------------------------------------------------------------- traps


def test_acknowledged_write_survives_all_switches_but_one() -> None:
    """Every switch of the chain stores a write, and only the last one acknowledges it."""
    check(
        all_switches_but_one_are_lost,
        (program_mutants.UpperStoresNothing, LOST),
        (program_mutants.HeadAnswers, LOST),
    )


def test_value_that_was_read_survives_the_head() -> None:
    """Only the last switch answers reads: all switches have what it has."""
    check(read_while_a_write_is_between_two_switches, (program_mutants.HeadAnswers, UNREAD))


def test_write_that_bypassed_a_switch_is_at_the_server() -> None:
    """A write is storable only if it has passed all switches before this one."""
    check(write_bypasses_a_switch, (program_mutants.AcceptsAnyPosition, LOST))


def test_repeated_write_has_one_effect_and_is_answered() -> None:
    """The head gives a request its sequence once, and a repeated request the same one."""
    check(
        answer_is_lost_and_another_client_writes,
        (program_mutants.RepeatsGetNewNumbers, TWICE),
        (program_mutants.DropsRepeats, SILENT),
    )


def test_copy_older_than_the_window_undoes_no_later_write() -> None:
    """The head drops a request older than its window."""
    check(copy_arrives_after_a_thousand_writes, (program_mutants.ForgetsOldRequests, TWICE))


def test_reordered_writes_have_one_order_in_all_switches() -> None:
    """One sequence for each write, given by the head; every switch keeps the newest."""
    check(
        writes_swap_places_between_switches,
        (program_mutants.EverySwitchNumbers, UNREAD),
        (program_mutants.TailStoresInAnyOrder, UNREAD),
    )


def test_write_from_before_the_admission_hides_no_later_one() -> None:
    """Entries take a copy of a write only if its first copy passed the head's entry."""
    check(copy_comes_after_the_admission, (program_mutants.StoresEarlierCopies, UNREAD))


def test_write_from_an_earlier_entry_hides_no_later_one() -> None:
    """Entries take a copy of a write only if its first copy passed the same generation."""
    check(
        copy_comes_when_the_key_is_cached_again,
        (program_mutants.StoresCopiesOfAnyGeneration, UNREAD),
    )


def test_write_through_an_earlier_entry_is_in_all_switches() -> None:
    """A write is storable only in an entry of the generation that the switches before it have."""
    check(
        write_arrives_when_the_key_is_cached_again,
        (program_mutants.StoresThroughAnyGeneration, LOST),
    )


def test_write_behind_a_newer_one_at_the_server_is_not_stored() -> None:
    """A switch that knows a newer write of the key says so to the next ones (SUPERSEDED)."""
    check(writes_pass_between_the_halves_of_an_admission, (program_mutants.NeverSupersedes, UNREAD))


def test_write_without_an_incarnation_has_one_effect() -> None:
    """A write of a client that knows no incarnation goes to the server, which knows copies."""
    check(client_without_an_incarnation_writes, (program_mutants.StoresWithoutIncarnation, TWICE))


def test_value_above_the_limit_is_read_from_its_server() -> None:
    """A write that the entry does not store outdates it."""
    check(value_does_not_fit, (program_mutants.NothingOutdates, STALE))


def test_acknowledged_write_is_read_though_a_later_one_was_lost() -> None:
    """A read of an outdated entry has its record embedded, and the lengths of its frame fit."""
    check(
        write_behind_the_chain_is_lost,
        (program_mutants.EmbedsNothing, LOST),
        (program_mutants.EmbedsWithoutLength, SILENT),
    )


def test_reply_to_a_read_of_an_earlier_entry_refreshes_nothing() -> None:
    """A reply refreshes only the entry whose generation its read passed."""
    check(reply_comes_when_the_key_is_cached_again, (program_mutants.RefreshesAnyGeneration, STALE))


def test_record_overwritten_before_its_admission_is_not_served() -> None:
    """An admitted record is outdated until a reply of the server refreshes it."""
    check(write_passes_before_the_entry_is_filled, (program_mutants.FillsAreLatest, STALE))


def test_read_in_flight_refreshes_nothing_older() -> None:
    """A reply refreshes an entry only if the entry knows no newer write."""
    check(
        write_overtakes_the_reply_to_a_read,
        (program_mutants.RefreshesWithOlderRecords, f"{STALE}|{LOST}"),
    )


def test_conservative_read_refreshes_the_whole_chain() -> None:
    """A reply passes the chain in reverse and refreshes each entry, also after a recovery."""
    check(
        tail_is_lost_after_reads,
        (program_mutants.UpperRefreshesNothing, UNREFRESHED),
        (program_mutants.TailRefreshesNothing, UNSERVED),
    )


def test_deleted_key_stays_deleted_when_a_switch_is_lost() -> None:
    """All copies of a record have its bit *deleted*, also in RESTORE and FILL."""
    check(
        deleted_key_survives_each_switch,
        (program_mutants.UpperForgetsDeletes, LOST),
        (control_mutants.RestoresNoDeletes, LOST),
    )


def test_hot_keys_are_cached_and_no_others() -> None:
    """The tail counts requests and marks those for hot keys; the other switches do not."""
    check(
        key_is_hot,
        (program_mutants.TailCountsNothing, UNSERVED),
        (program_mutants.ReportsNoHotKeys, UNSERVED),
        (program_mutants.EveryKeyIsHot, "a cold key is cached"),
    )


def test_writes_are_read_when_numbers_wrap() -> None:
    """Numbers are compared as serial numbers."""
    check(numbers_wrap, (program_mutants.PlainNumbers, f"{STALE}|{UNSERVED}"))


def test_raised_incarnation_refuses_no_write() -> None:
    """A raised incarnation names the one that it continues, and is no loss."""
    check(
        incarnation_is_raised_while_an_answer_is_lost,
        (control_mutants.RaisesWithoutPrevious, "a write is refused"),
        (control_mutants.RaisesAsLoss, "a write is refused"),
    )
