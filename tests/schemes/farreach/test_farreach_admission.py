"""Admission to FarReach's cache: each step in order and once, with any network faults."""

from dataclasses import replace

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    CloneSession,
    DeleteEntry,
    InsertEntry,
    Preload,
    TableWrite,
)
from netkv.control.messages import Datagram, Message, Op, Status
from netkv.control.topology import CPU_PORT
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes.farreach.farreach_rack import CALM, ROUGH, Rack, key_of, watching

KEYS = [key_of(number) for number in range(40)]
OPTIONS = FarReachParameters(
    capacity=8, sample_rate=1.0, hot_threshold=3, snapshot_period=0, drawn=8
)
LOOKUP = "NetkvIngress.lookup.cache"
ABOUT_ENTRIES = (Op.FILL, Op.VALIDATE, Op.EVICT, Op.RETIRE)


def rack(seed: int = 0, **options: object) -> Rack:
    it = Rack(replace(OPTIONS, **options), seed)  # type: ignore[arg-type]
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it


def make_hot(it: Rack, key: bytes, times: int = 6) -> None:
    for _ in range(times):
        it.get(1, key)
    it.run(50 * MILLISECOND)


def inserted(write: TableWrite) -> bool:
    return isinstance(write, InsertEntry) and write.table == LOOKUP


def test_switch_gets_partition_routes_pipelines_and_sessions_and_then_serves() -> None:
    it = Rack(replace(OPTIONS, pipelines=4, sample_rate=0.25), clients=3, servers=2)
    writes: list[TableWrite] = []
    it.refuse = watching(writes.append)
    it.start()
    sessions = [write.session for write in writes if isinstance(write, CloneSession)]
    assert sessions == [1, 2, 3, 101, 102, CPU_PORT]
    assert it.switch.pipelines[3].ports == {1: 1, 2: 2, 3: 3, 101: 1, 102: 2}
    settings = it.switch.pipelines[2].settings
    assert settings == {"sample_below": 16_384, "hot_threshold": 3, "epoch": 1, "open": 1}
    assert it.control.statistics()["incarnation"] == it.switch.pipelines[0].incarnation == 2


def test_first_start_serves_without_a_recovery() -> None:
    it = rack().start()
    assert it.recoveries == []
    assert it.get(1, KEYS[0]) == b"first " + KEYS[0][:4]


def test_hot_key_is_served_by_the_switch_once_it_was_written() -> None:
    it = rack().start()
    make_hot(it, KEYS[0])
    assert it.cached() == {KEYS[0]}
    assert it.put(2, KEYS[0], b"new").cache_hit
    assert it.get(1, KEYS[0]) == b"new"
    assert it.complaints() == []


@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_entry_turns_valid_when_all_pipelines_lead_to_it(pipelines: int) -> None:
    it = rack(pipelines=pipelines).start()
    trace: list[str] = []
    it.lost = watching(lambda datagram: note(datagram.message))

    def note(message: Message) -> None:
        if message.op in ABOUT_ENTRIES and message.key == KEYS[0]:
            trace.append(message.op.name)
            known = [KEYS[0] in each.lookup for each in it.switch.pipelines]
            assert all(known) if message.op is Op.VALIDATE else not any(known)

    make_hot(it, KEYS[0])
    assert trace == ["FILL", "VALIDATE"]


def test_preload_fetches_what_servers_have_and_gives_up_the_rest() -> None:
    it = rack()
    it.store(KEYS[1], bytes(200))
    unknown = key_of(99)
    it.start(preload=(KEYS[0], KEYS[1], unknown, KEYS[2]))
    assert it.cached() == {KEYS[0], KEYS[2]}
    assert it.control.statistics()["not_fetched"] == 2


def test_preload_beyond_the_capacity_leaves_the_first_in() -> None:
    it = rack().start(preload=tuple(KEYS[:20]))
    assert it.cached() == set(KEYS[:8])
    assert it.control.statistics()["without_room"] == 12


def test_key_of_another_length_cannot_be_preloaded() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        rack().start().tell(Preload((b"short",)))


def offer(it: Rack, key: bytes) -> Status:
    """The controller's reply to an offer."""
    before = len(it.sent)
    shim = it.shims[it.topology.owner(key).index]
    shim.offered.clear()
    shim._offer(key)
    it.run(5 * MILLISECOND)
    replies = [message for message in it.sent[before:] if message.op is Op.OFFER_REPLY]
    return replies[0].status


def test_offer_of_a_key_that_is_in_or_comes_in_is_answered_ok() -> None:
    it = rack().start()
    assert offer(it, KEYS[0]) is Status.OK
    assert it.cached() == {KEYS[0]}
    assert offer(it, KEYS[0]) is Status.OK
    statistics = it.control.statistics()
    assert (statistics["offers"], statistics["insertions"]) == (2, 1)


def test_offers_beyond_what_may_wait_are_rejected() -> None:
    it = rack(max_in_flight=1, max_waiting=1).start()
    it.refuse = inserted  # and nothing is answered any more
    it.lost = lambda datagram: datagram.message.op is Op.FILL
    answers = [offer(it, key) for key in KEYS[:4]]
    assert answers == [Status.OK, Status.OK, Status.REJECTED, Status.REJECTED]
    assert it.control.statistics()["offers_rejected"] == 2


def test_nothing_comes_in_while_the_switch_is_closed() -> None:
    it = rack().start()
    it.shims[0].up = it.shims[1].up = True
    it.disk_fails = True  # so the new incarnation cannot be saved
    it.crash_switch()
    it.run(20 * MILLISECOND)
    assert offer(it, KEYS[0]) is Status.REJECTED
    assert it.do(1, Op.GET, KEYS[0]).reply is None
    it.disk_fails = False
    it.run_until(it.control.ready)
    assert offer(it, KEYS[0]) is Status.OK
    assert [note.what for note in it.notes].count("nothing can be saved") == 1


def test_refused_lookup_entry_leaves_its_place_free() -> None:
    it = rack(capacity=1).start()
    it.refuse = inserted
    assert offer(it, KEYS[0]) is Status.OK
    it.run(10 * MILLISECOND)
    assert it.control.statistics()["not_inserted"] == 1
    it.refuse = lambda _: False
    assert offer(it, KEYS[1]) is Status.OK
    assert it.cached() == {KEYS[1]}


def test_place_of_an_entry_that_cannot_be_deleted_is_given_to_nobody() -> None:
    it = rack(capacity=1, hot_threshold=2).start()
    make_hot(it, KEYS[0])
    it.refuse = lambda write: isinstance(write, DeleteEntry)
    it.run(SECOND)
    make_hot(it, KEYS[1])
    it.run(SECOND)
    statistics = it.control.statistics()
    assert (statistics["cached"], statistics["free_entries"]) == (0, 0)
    assert statistics["entries_set_aside"] == 1


def test_place_with_a_later_generation_is_set_aside() -> None:
    it = rack(capacity=2).start()
    it.switch.ask(Op.FILL, KEYS[0], 0, 1 << 30)
    assert offer(it, KEYS[0]) is Status.OK
    it.run(10 * MILLISECOND)
    assert it.control.statistics()["entries_set_aside"] == 1
    assert "entry set aside" in [note.what for note in it.notes]
    assert offer(it, KEYS[0]) is Status.OK
    assert it.cached() == {KEYS[0]}


@pytest.mark.parametrize("seed", range(10))
def test_everything_preloaded_comes_in_over_a_bad_network(seed: int) -> None:
    it = rack(seed, capacity=32, pipelines=2, max_in_flight=8)
    it.net, it.channel = replace(ROUGH), replace(ROUGH)
    it.start(preload=tuple(KEYS[:32]))
    lost = it.control.statistics().get("not_fetched", 0)
    assert len(it.cached()) == 32 - lost
    assert lost <= 2
    it.net, it.channel = replace(CALM), replace(CALM)
    assert it.control.statistics()["in_flight"] == 0
    for key in KEYS[:32]:
        assert it.put(1, key, b"new").cache_hit == (key in it.cached())


def test_copies_of_the_controllers_messages_change_nothing_when_they_come_late() -> None:
    # evict and re-admit with stragglers of the first incarnation
    it = rack(capacity=1, hot_threshold=2).start()
    make_hot(it, KEYS[0])
    make_hot(it, KEYS[0])
    it.run(SECOND)
    make_hot(it, KEYS[1])
    it.run(SECOND)
    make_hot(it, KEYS[0])
    assert it.cached() == {KEYS[0]}
    it.put(1, KEYS[0], b"in the switch")
    stragglers = [message for message in it.sent if message.op in ABOUT_ENTRIES]
    assert {message.op for message in stragglers} == set(ABOUT_ENTRIES)
    current = max(message.stamp.generation for message in stragglers if message.stamp)
    for message in stragglers:
        if (message.stamp and message.stamp.generation != current) or message.op is Op.FILL:
            it._at_switch(CPU_PORT, Datagram(0x0A000001, 0x0A000064, message))
    assert it.get(2, KEYS[0]) == b"in the switch"
    assert it.put(1, KEYS[0], b"again").cache_hit


def test_server_that_is_down_during_a_preload_is_named_and_its_keys_are_given_up() -> None:
    it = rack(tries=4)
    it.shims[0].up = False
    it.start(preload=tuple(KEYS[:8]))
    mine = {key for key in KEYS[:8] if it.topology.owner(key).index == 1}
    assert it.cached() == mine
    silent = [note for note in it.notes if note.what == "no answer"]
    assert [note.fields for note in silent] == [{"from": "server 0", "to": "FETCH"}]
