"""Admission to FarReach's cache: every step runs in order and once, despite network faults."""

from dataclasses import replace
from typing import Any

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
from netkv.model.messages import Message, Op, Status
from netkv.model.topology import CPU_PORT
from tests.schemes.farreach.farreach_load import stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, IMPAIRED, UNIMPAIRED, Rack
from tests.schemes.scripted_rack import key_of, observing

KEYS = [key_of(number) for number in range(40)]
CONFIGURATION = DEFAULTS.changed(
    cache_entries=8, sample_rate=1.0, hot_threshold=3, snapshot_period=0.0, drawn=8
)
LOOKUP = "NetkvIngress.lookup.cache"
PORTS = "NetkvIngress.ingress_pipeline.ports"
SETTINGS = "NetkvIngress.settings.settings"
ABOUT_ENTRIES = (Op.FILL, Op.VALIDATE, Op.EVICT, Op.RETIRE)


def make_rack(seed: int = 0, **options: Any) -> Rack:
    return stocked_rack(CONFIGURATION, seed, KEYS, **options)


def make_hot(rack: Rack, key: bytes, times: int = 6) -> None:
    for _ in range(times):
        rack.get(1, key)
    rack.run(50 * MILLISECOND)


def inserted(write: TableWrite) -> bool:
    return isinstance(write, InsertEntry) and write.table == LOOKUP


def test_start_writes_pipelines_sessions_and_settings() -> None:
    rack = Rack(CONFIGURATION.changed(pipelines=4, sample_rate=0.25), clients=3, servers=2)
    writes: list[TableWrite] = []
    rack.refuse = observing(writes.append)
    rack.start()
    sessions = [write.session for write in writes if isinstance(write, CloneSession)]
    assert sessions == [1, 2, 3, 101, 102, CPU_PORT]
    ports = rack.switch.rows(PORTS, 3).items()
    assert {port: params["pipeline"] for port, (_, params) in ports} == {
        1: 1,
        2: 2,
        3: 3,
        101: 1,
        102: 2,
    }
    settings = rack.switch.default(SETTINGS, 2)
    assert settings == {"sample_below": 16_384, "hot_threshold": 3, "epoch": 1, "open": 1}
    assert rack.control.statistics()["incarnation"] == rack.switch.incarnation() == 2


def test_first_start_serves_without_a_recovery() -> None:
    rack = make_rack().start()
    assert rack.recoveries == []
    assert rack.get(1, KEYS[0]) == b"first " + KEYS[0][:4]


def test_hot_key_is_written_and_read_in_the_switch() -> None:
    rack = make_rack().start()
    make_hot(rack, KEYS[0])
    assert rack.cached() == {KEYS[0]}
    assert rack.put(2, KEYS[0], b"new").cache_hit
    assert rack.get(1, KEYS[0]) == b"new"
    assert rack.violations() == []


@pytest.mark.parametrize("pipelines", [1, 2, 4])
def test_entry_is_validated_after_all_pipelines_have_the_key(pipelines: int) -> None:
    rack = make_rack(pipelines=pipelines).start()
    trace: list[str] = []
    rack.lost = observing(lambda hop: note(hop.message))

    def note(message: Message) -> None:
        if message.op in ABOUT_ENTRIES and message.key == KEYS[0]:
            trace.append(message.op.name)
            known = [KEYS[0] in rack.switch.lookup(each) for each in range(pipelines)]
            assert all(known) if message.op is Op.VALIDATE else not any(known)

    make_hot(rack, KEYS[0])
    assert trace == ["FILL", "VALIDATE"]


def test_preload_skips_keys_without_a_cacheable_record() -> None:
    rack = make_rack()
    rack.store(KEYS[1], bytes(200))
    unknown = key_of(99)
    rack.start(preload=(KEYS[0], KEYS[1], unknown, KEYS[2]))
    assert rack.cached() == {KEYS[0], KEYS[2]}
    assert rack.control.statistics()["not_fetched"] == 2


def test_preload_beyond_the_capacity_keeps_the_first_keys() -> None:
    rack = make_rack().start(preload=tuple(KEYS[:20]))
    assert rack.cached() == set(KEYS[:8])
    assert rack.control.statistics()["without_room"] == 12


def test_key_of_another_length_cannot_be_preloaded() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        make_rack().start().handle(Preload((b"short",)))


def offer(rack: Rack, key: bytes) -> Status:
    """The controller's reply to an offer."""
    before = len(rack.sent)
    shim = rack.shims[rack.topology.owner(key).index]
    shim.offered.clear()
    shim._offer(key)
    rack.run(5 * MILLISECOND)
    replies = [hop.message for hop in rack.sent[before:] if hop.op is Op.OFFER_REPLY]
    return replies[0].status


def test_offer_of_a_cached_or_pending_key_is_answered_ok() -> None:
    rack = make_rack().start()
    assert offer(rack, KEYS[0]) is Status.OK
    assert rack.cached() == {KEYS[0]}
    assert offer(rack, KEYS[0]) is Status.OK
    statistics = rack.control.statistics()
    assert (statistics["offers"], statistics["insertions"]) == (2, 1)


def test_offers_beyond_the_queue_limit_are_rejected() -> None:
    rack = make_rack(max_in_flight=1, max_waiting=1).start()
    rack.refuse = inserted  # and FILL is not answered
    rack.lost = lambda hop: hop.op is Op.FILL
    answers = [offer(rack, key) for key in KEYS[:4]]
    assert answers == [Status.OK, Status.OK, Status.REJECTED, Status.REJECTED]
    assert rack.control.statistics()["offers_rejected"] == 2


def test_offers_are_rejected_while_the_switch_is_closed() -> None:
    rack = make_rack().start()
    rack.shims[0].up = rack.shims[1].up = True
    rack.disk_fails = True  # the new incarnation cannot be saved
    rack.crash_switch()
    rack.run(20 * MILLISECOND)
    assert offer(rack, KEYS[0]) is Status.REJECTED
    assert rack.run_operation(1, Op.GET, KEYS[0]).reply is None
    rack.disk_fails = False
    rack.run_until(rack.control.ready)
    assert offer(rack, KEYS[0]) is Status.OK
    assert rack.noted().count("nothing can be saved") == 1


def test_entry_is_free_after_a_refused_lookup_write() -> None:
    rack = make_rack(cache_entries=1).start()
    rack.refuse = inserted
    assert offer(rack, KEYS[0]) is Status.OK
    rack.run(10 * MILLISECOND)
    assert rack.control.statistics()["not_inserted"] == 1
    rack.refuse = lambda _: False
    assert offer(rack, KEYS[1]) is Status.OK
    assert rack.cached() == {KEYS[1]}


def test_entry_is_not_reused_if_its_deletion_is_refused() -> None:
    rack = make_rack(cache_entries=1, hot_threshold=2).start()
    make_hot(rack, KEYS[0])
    rack.refuse = lambda write: isinstance(write, DeleteEntry)
    rack.run(SECOND)
    make_hot(rack, KEYS[1])
    rack.run(SECOND)
    statistics = rack.control.statistics()
    assert (statistics["cached"], statistics["free_entries"]) == (0, 0)
    assert statistics["entries_set_aside"] == 1


def test_entry_with_a_later_generation_is_set_aside() -> None:
    rack = make_rack(cache_entries=2).start()
    rack.switch.ask_about(Op.FILL, KEYS[0], 0, 1 << 30)
    assert offer(rack, KEYS[0]) is Status.OK
    rack.run(10 * MILLISECOND)
    assert rack.control.statistics()["entries_set_aside"] == 1
    assert "entry set aside" in rack.noted()
    assert offer(rack, KEYS[0]) is Status.OK
    assert rack.cached() == {KEYS[0]}


@pytest.mark.parametrize("seed", range(10))
def test_preload_completes_on_an_impaired_network(seed: int) -> None:
    rack = make_rack(seed, cache_entries=32, pipelines=2, max_in_flight=8)
    rack.net, rack.channel = replace(IMPAIRED), replace(IMPAIRED)
    rack.start(preload=tuple(KEYS[:32]))
    lost = rack.control.statistics().get("not_fetched", 0)
    assert len(rack.cached()) == 32 - lost
    assert lost <= 2
    rack.net, rack.channel = replace(UNIMPAIRED), replace(UNIMPAIRED)
    assert rack.control.statistics()["in_flight"] == 0
    for key in KEYS[:32]:
        assert rack.put(1, key, b"new").cache_hit == (key in rack.cached())


def test_late_copies_of_controller_messages_have_no_effect() -> None:
    # The key is evicted and admitted again; then messages of its first generation arrive.
    rack = make_rack(cache_entries=1, hot_threshold=2).start()
    make_hot(rack, KEYS[0])
    make_hot(rack, KEYS[0])
    rack.run(SECOND)
    make_hot(rack, KEYS[1])
    rack.run(SECOND)
    make_hot(rack, KEYS[0])
    assert rack.cached() == {KEYS[0]}
    rack.put(1, KEYS[0], b"in the switch")
    late_copies = [hop for hop in rack.sent if hop.op in ABOUT_ENTRIES]
    assert {hop.op for hop in late_copies} == set(ABOUT_ENTRIES)
    stamps = [hop.message.stamp for hop in late_copies]
    current = max(stamp.generation for stamp in stamps if stamp)
    for hop, stamp in zip(late_copies, stamps, strict=True):
        if (stamp and stamp.generation != current) or hop.op is Op.FILL:
            rack.deliver(hop)
    assert rack.get(2, KEYS[0]) == b"in the switch"
    assert rack.put(1, KEYS[0], b"again").cache_hit


def test_preload_skips_and_reports_a_server_that_is_down() -> None:
    rack = make_rack(tries=4)
    rack.shims[0].up = False
    rack.start(preload=tuple(KEYS[:8]))
    others = {key for key in KEYS[:8] if rack.topology.owner(key).index == 1}
    assert rack.cached() == others
    silent = [note for note in rack.notes if note.what == "no answer"]
    assert [note.fields for note in silent] == [{"from": "server 0", "to": "FETCH"}]
