"""Incarnations of chains: given once, saved first, and raised from the tail up."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    Nanoseconds,
    Note,
    Save,
    Saved,
    SetDefault,
    TableWrite,
)
from netkv.control.saves import RETRY_DELAY
from netkv.kits.write_back.record import Record
from netkv.model.messages import Op
from netkv.schemes.distreach.chain_switch import INCARNATION
from netkv.schemes.distreach.incarnations import Incarnations, SavedError
from tests.schemes.distreach.distreach_rack import Rack, System
from tests.schemes.distreach.distreach_traps import (
    KEY,
    KEYS,
    admit,
    between,
    cached_rack,
    make_rack,
    read,
    ready_rack,
)
from tests.schemes.scripted_rack import observing

# ------------------------------------------------------------------------- given and saved


class Asking:
    """Chains that ask for incarnations, and the answers of the disk."""

    def __init__(self) -> None:
        self.incarnations = Incarnations()
        self.given: list[tuple[str, int]] = []
        self.disk = b""

    def ask(self, chain: str, then: Callable[[], None] = lambda: None) -> None:
        """`then` is called when the chain has got its incarnation."""

        def taken(_: Nanoseconds, incarnation: int) -> Iterable[Action]:
            self.given.append((chain, incarnation))
            then()
            return ()

        self.incarnations.take(taken)

    def save(self, now: Nanoseconds = 0) -> list[Save]:
        """The saves that begin now."""
        return [it for it in self.incarnations.pump(now) if isinstance(it, Save)]

    def saved(self, save: Save, *, ok: bool = True, now: Nanoseconds = 0) -> list[Action]:
        if ok:
            self.disk = save.data
        answer = Saved(save.save, ok, "" if ok else "the disk is full")
        return list(self.incarnations.on_saved(now, answer))


def test_incarnation_is_given_when_it_is_saved() -> None:
    asking = Asking()
    asking.ask("a")
    (save,) = asking.save()
    assert asking.given == []
    asking.saved(save)
    assert asking.given == [("a", 1)]
    successor = Incarnations()
    successor.restore(asking.disk)
    assert successor.last == 1


def test_chains_that_ask_at_the_same_time_share_a_number() -> None:
    asking = Asking()
    asking.ask("a")
    (save,) = asking.save()
    asking.ask("b")  # the save is under way
    assert asking.save() == []
    asking.saved(save)
    asking.ask("c")
    (save,) = asking.save()
    asking.saved(save)
    assert asking.given == [("a", 1), ("b", 1), ("c", 2)]


def test_chain_that_asks_again_at_once_gets_the_next_number() -> None:
    """The other chains that wait for the same save get the saved number nevertheless."""
    asking = Asking()
    asking.ask("a", then=lambda: asking.ask("a again"))
    asking.ask("b")
    (save,) = asking.save()
    asking.saved(save)
    assert asking.given == [("a", 1), ("b", 1)]
    (save,) = asking.save()
    asking.saved(save)
    assert asking.given == [("a", 1), ("b", 1), ("a again", 2)]


def test_number_is_above_all_that_were_found_during_its_save() -> None:
    asking = Asking()
    asking.ask("a")
    (save,) = asking.save()
    assert asking.incarnations.go_above(50)
    asking.ask("b")
    asking.saved(save)
    assert asking.given == []
    (save,) = asking.save()
    asking.saved(save)
    assert asking.given == [("a", 51), ("b", 51)]
    successor = Incarnations()
    successor.restore(asking.disk)
    assert successor.last == 51


def test_failed_save_gives_nothing_and_is_repeated() -> None:
    asking = Asking()
    asking.ask("a")
    (save,) = asking.save()
    (note,) = asking.saved(save, ok=False, now=0)
    assert isinstance(note, Note)
    assert asking.incarnations.deadline() == RETRY_DELAY
    assert asking.save(RETRY_DELAY - 1) == []
    (save,) = asking.save(RETRY_DELAY)
    assert asking.saved(save, ok=False, now=RETRY_DELAY) == [], "noted once"
    assert asking.given == []
    (save,) = asking.save(3 * RETRY_DELAY)
    asking.saved(save)
    assert asking.given == [("a", 1)]


def test_zero_is_never_given() -> None:
    asking = Asking()
    assert asking.incarnations.go_above(0x7FFFFFFF)
    assert asking.incarnations.go_above(0xFFFFFFFE)
    assert asking.incarnations.go_above(0xFFFFFFFF)
    assert not asking.incarnations.go_above(0xFFFFFFFE), "it is older"
    asking.ask("a")
    (save,) = asking.save()
    asking.saved(save)
    assert asking.given == [("a", 1)]


def test_damaged_state_is_refused_with_the_reason() -> None:
    good = Incarnations()._bytes()
    other_layout = good[:16] + b"\0\7" + good[18:22]
    for data, reason in (
        (b"", "0 bytes were not saved"),
        (good[:-1], "25 bytes were not saved"),
        (b"another magic..." + good[16:], "not saved by a controller of DistReach"),
        (other_layout + zlib.crc32(other_layout).to_bytes(4), "layout 7"),
        (good[:-1] + bytes([good[-1] ^ 1]), "checksum"),
    ):
        with pytest.raises(SavedError, match=reason):
            Incarnations().restore(data)


# --------------------------------------------------------------------- lost saved states


def continue_without_a_saved_state(rack: Rack, disk: bytes | None) -> None:
    rack.kill_controller()
    rack.disk = disk
    rack.replace_controller()
    rack.recover()


@pytest.mark.parametrize("disk", [None, b"damaged"])
def test_controller_without_its_state_goes_above_all_switches(disk: bytes | None) -> None:
    """No switch has lost anything: acknowledged writes are in the chain, and later ones newer."""
    rack = cached_rack(System)
    before = rack.control.statistics()["incarnation"]
    continue_without_a_saved_state(rack, disk)
    assert rack.control.statistics()["incarnation"] > before
    assert ("saved state is refused" in rack.noted()) == (disk is not None)
    assert read(rack) == b"cached"
    rack.put(1, KEY, b"second")
    rack.crash_switch(rack.chain(KEY)[0])
    rack.recover()
    assert read(rack) == b"second"
    assert rack.violations() == []


def test_controller_without_its_state_goes_above_all_records() -> None:
    """Switches and saved state are lost: the first record that is fetched shows it."""
    rack = make_rack(System)
    shim = rack.shims[rack.topology.owner(KEY).index]
    shim.store[KEY] = Record(KEY, 50, 9, 0, b"of a lost incarnation")
    rack.checker.written[KEY, b"of a lost incarnation"] = (50, 9)
    rack.start(preload=(KEY,))
    rack.recover()
    assert rack.control.statistics()["incarnation"] > 50
    rack.put(1, KEY, b"second")
    assert read(rack) == b"second"
    assert rack.violations() == []


# ------------------------------------------------------------------------------- raising


def incarnation_writes(rack: Rack) -> list[SetDefault]:
    """The incarnations that switches get from now on."""
    found: list[SetDefault] = []

    def watch(write: TableWrite) -> None:
        if isinstance(write, SetDefault) and write.table == INCARNATION:
            found.append(write)

    rack.refuse = observing(watch)
    return found


def test_incarnation_is_raised_from_the_tail_up() -> None:
    rack = cached_rack(System, layers=3, incarnation_length=SECOND)
    chain = rack.chain(KEY)
    recovery = rack.control._chains[chain[0].name].recovery
    before, loss = recovery.incarnation, recovery.loss
    writes = incarnation_writes(rack)
    rack.run(1100 * MILLISECOND)
    names = [switch.name for switch in chain]
    own = [write for write in writes if write.switch in names]
    assert [write.switch for write in own] == names[::-1]
    for write, position in zip(own, (2, 1, 0), strict=True):
        assert write.params == {
            "incarnation": recovery.incarnation,
            "previous": before,
            "last_loss": loss,
            "position": position,
        }
    assert recovery.incarnation > before
    # Clients and entries notice nothing.
    assert rack.put(1, KEY, b"second").cache_hit
    assert read(rack) == b"second"
    assert rack.processes[1].unknown == 0
    assert rack.violations() == []


def test_incarnation_is_raised_again_and_again() -> None:
    """Writes continue meanwhile, and are recovered with their sequence."""
    rack = cached_rack(System, incarnation_length=200 * MILLISECOND)
    before = rack.control.statistics()["incarnation"]
    for number in range(20):
        assert rack.put(1, KEY, b"%d" % number).cache_hit
        rack.run(100 * MILLISECOND)
    assert rack.control.statistics()["incarnation"] - before >= 8
    assert rack.processes[1].unknown == 0
    rack.crash_switch(rack.chain(KEY)[-1])
    rack.recover()
    assert read(rack) == b"19"
    assert rack.violations() == []


def test_loss_ends_a_raise_under_way() -> None:
    """The number is given up: the chain has the incarnations of its recovery."""
    rack = cached_rack(System, incarnation_length=SECOND)
    head, tail = rack.chain(KEY)
    recovery = rack.control._chains[head.name].recovery
    rack.save_time = 100 * MILLISECOND
    given = rack.control.statistics()["incarnation"]
    rack.run_until(lambda: rack.control.statistics()["incarnation"] > given)
    raised = rack.control.statistics()["incarnation"]
    rack.save_time = MILLISECOND
    writes = incarnation_writes(rack)
    rack.crash_switch(head)
    rack.recover()
    assert recovery.incarnation > raised
    assert recovery.loss >= raised
    named = {write.switch for write in writes if write.params["previous"]}
    assert named <= {name for name in rack.switches if name not in (head.name, tail.name)}
    rack.run(20 * MILLISECOND)
    assert read(rack) == b"cached"
    rack.put(1, KEY, b"second")
    assert rack.put(1, KEY, b"third").cache_hit


def test_chain_without_a_switch_raises_its_incarnation() -> None:
    """The tail is alone in the chain, and the head of it."""
    rack = ready_rack(System, width=2, incarnation_length=SECOND)
    rack.put(1, KEY, b"first write")
    head, tail = rack.chain(KEY)
    rack.stop_switch(head)
    rack.run(100 * MILLISECOND)
    recovery = rack.control._chains[tail.name].recovery
    before = recovery.incarnation
    writes = incarnation_writes(rack)
    rack.run(1500 * MILLISECOND)
    assert recovery.incarnation > before
    own = [write for write in writes if write.switch in (head.name, tail.name)]
    assert {(it.switch, it.params["position"]) for it in own} == {(tail.name, 0)}
    rack.put(1, KEY, b"second")
    assert read(rack) == b"second"
    rack.start_switch(head)
    rack.recover()
    rack.run(20 * MILLISECOND)
    rack.put(1, KEY, b"third")
    admit(rack)
    assert read(rack) == b"third"
    assert rack.put(1, KEY, b"fourth").cache_hit
    assert rack.violations() == []


def test_frame_of_the_previous_incarnation_is_applied() -> None:
    """A write that the head has sequenced before the raise, and that is late, is not dropped."""
    rack = cached_rack(System, incarnation_length=SECOND)
    head, tail = rack.chain(KEY)
    recovery = rack.control._chains[head.name].recovery
    before = recovery.incarnation
    caught = rack.catch(between(head, tail, Op.PUT))
    late = rack.processes[1].begin(Op.PUT, KEYS[0], b"late", timeout=3 * SECOND)
    rack.run(MILLISECOND)
    (hop,) = caught
    rack.lost = lambda it: it.source == "client-1"
    rack.catches = lambda _: False
    rack.run_until(lambda: recovery.incarnation > before)
    rack.deliver(hop)
    rack.run(MILLISECOND)
    assert late.reply is not None
    assert late.reply.cache_hit
    assert read(rack) == b"late"
