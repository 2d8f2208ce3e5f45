"""A crash of the switch or the controller loses no acknowledged write."""

from dataclasses import replace
from typing import Any

import pytest

from netkv.control.base import MILLISECOND, SECOND, PacketIn, Preload
from netkv.kits.write_back.record import Record
from netkv.model.messages import Bit, Message, Op, Stamp, encode
from netkv.model.topology import CONTROLLER_IP
from netkv.schemes.farreach.checkpoint_format import Client, State, from_bytes, to_bytes
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load, stocked_rack
from tests.schemes.farreach.farreach_rack import DEFAULTS, IMPAIRED, Rack
from tests.schemes.scripted_rack import Hop

CONFIGURATION = DEFAULTS.changed(
    cache_entries=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=0.1,
    snapshot_period=1.0,
    collect_patience=SECOND,
    drawn=8,
    tries=4,
)
KEY = KEYS[0]


def make_rack(seed: int = 0, **options: Any) -> Rack:
    return stocked_rack(CONFIGURATION, seed, **options).start(preload=tuple(KEYS[:4]))


def saved(rack: Rack) -> State:
    assert rack.disk is not None
    return from_bytes(rack.disk)


def recovered(rack: Rack) -> Rack:
    rack.run_until(rack.control.ready)
    return rack


def stored(rack: Rack, key: bytes = KEY) -> Record:
    return rack.shims[rack.topology.owner(key).index].store[key]


def restart_with(state: State, *preserved: Record) -> Rack:
    """A rack with a saved state of the controller and preserved records of clients 1, 2, …"""
    rack = Rack(CONFIGURATION)
    rack.disk = to_bytes(
        replace(state, clients=tuple(Client(p.ip) for p in rack.processes.values()))
    )
    for process, record in zip(rack.processes.values(), preserved, strict=False):
        process.preserved[record.key] = (record, 0)
        process.incarnation = state.incarnation
        rack.checker.record_sequence(record.key, record.value, (record.incarnation, record.number))
    rack.replace_controller()
    return recovered(rack)


def record(
    number: int, value: bytes = b"", *, deleted: bool = False, incarnation: int = 2
) -> Record:
    bits = Bit.DELETED if deleted else Bit(0)
    return Record(KEY, incarnation, number, int(bits | Bit.DIRTY), value or b"write %d" % number)


# ------------------------------------------------------------------------- recovered records


def test_acknowledged_write_survives_a_switch_crash() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"acknowledged")
    rack.crash_switch()
    recovered(rack)
    assert rack.get(2, KEY) == b"acknowledged"
    assert stored(rack).value == b"acknowledged"
    assert rack.violations() == []


def test_newest_record_of_all_clients_and_the_snapshot_wins() -> None:
    # Clients have records 7 and 9, the snapshot has record 8.
    state = State(2, snapshot=1, records=(record(8),))
    rack = restart_with(state, record(7), record(9))
    assert stored(rack)[1:3] == (2, 9)
    assert rack.get(1, KEY) == b"write 9"
    assert rack.recoveries[0].counts["restored"] == 1


def test_snapshot_wins_over_older_records_of_clients() -> None:
    rack = restart_with(State(2, snapshot=1, records=(record(9),)), record(7), record(8))
    assert rack.get(1, KEY) == b"write 9"


def test_records_are_ordered_when_numbers_wrap() -> None:
    rack = restart_with(State(2), record(0xFFFFFFFF, b"older"), record(3, b"newer"))
    assert rack.get(1, KEY) == b"newer"


def test_record_of_a_later_incarnation_wins_at_any_number() -> None:
    rack = restart_with(State(3), record(900, b"older"), record(1, b"newer", incarnation=3))
    assert rack.get(1, KEY) == b"newer"


def test_preserved_delete_replays_as_a_delete() -> None:
    rack = restart_with(State(2, snapshot=1, records=(record(5),)), record(6, deleted=True))
    assert stored(rack).deleted
    assert rack.get(1, KEY) is None


def test_older_record_does_not_replace_the_servers_record() -> None:
    rack = Rack(CONFIGURATION)
    rack.shims[rack.topology.owner(KEY).index].store[KEY] = record(12, b"at the server")
    rack.checker.written[KEY, b"at the server"] = (2, 12)
    rack.disk = to_bytes(State(2, snapshot=1, records=(record(8),)))
    rack.replace_controller()
    recovered(rack)
    assert rack.get(1, KEY) == b"at the server"


def test_keys_of_the_snapshot_are_cached_again() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    rack.run(1500 * MILLISECOND)
    rack.crash_switch()
    recovered(rack)
    assert rack.cached() == set(KEYS[:4])
    assert rack.get(1, KEYS[1]) == b"first " + KEYS[1][:4]
    assert rack.put(2, KEY, b"w").cache_hit


def test_recovery_reports_its_phases_and_counts() -> None:
    rack = make_rack()
    rack.run(1500 * MILLISECOND)
    rack.put(1, KEY, b"v")
    rack.put(2, KEYS[1], b"w")
    began = rack.now
    rack.crash_switch()
    recovered(rack)
    (reported,) = rack.recoveries
    assert [name for name, _ in reported.phases] == ["collect", "update servers", "re-admit"]
    assert all(seconds > 0 for _, seconds in reported.phases)
    assert reported.seconds <= (rack.now - began) / SECOND
    assert reported.counts == {
        "snapshot_records": 4,
        "preserved_records": 2,
        "restored": 2,
        "clients": 2,
        "clients_lost": 0,
        "keys_readmitted": 4,
    }


def test_hundreds_of_records_are_collected_on_a_bad_network() -> None:
    rack = Rack(CONFIGURATION, clients=3)
    rack.channel, rack.net = replace(IMPAIRED), replace(IMPAIRED)
    many = [Record(key, 2, 1 + number, 0, b"%d" % number) for number, key in enumerate(MANY_KEYS)]
    for number, process in enumerate(rack.processes.values()):
        mine = many[number::3]
        process.preserved = {each.key: (each, 0) for each in mine}
    rack.disk = to_bytes(State(2, clients=tuple(Client(p.ip) for p in rack.processes.values())))
    rack.replace_controller()
    recovered(rack)
    assert rack.recoveries[0].counts["preserved_records"] == len(MANY_KEYS)
    stores = [shim.store for shim in rack.shims.values()]
    assert {key: each for store in stores for key, each in store.items()} == {
        each.key: each for each in many
    }


MANY_KEYS = [bytes([number % 256, number // 256, *bytes(14)]) for number in range(400)]

# ----------------------------------------------------------------------- incarnations


def test_every_start_increases_the_incarnation_by_two() -> None:
    rack = make_rack()
    assert rack.control.statistics()["incarnation"] == 2
    for incarnation in (4, 6):
        rack.crash_switch()
        recovered(rack)
        assert rack.control.statistics()["incarnation"] == rack.switch.incarnation() == incarnation
    rack.kill_controller()
    rack.replace_controller()
    recovered(rack)
    assert rack.control.statistics()["incarnation"] == 8


def test_incarnation_is_saved_before_the_switch_has_it() -> None:
    rack = make_rack()
    rack.save_time = 100 * MILLISECOND
    incarnations: list[int] = []

    def look(write: object) -> bool:
        if getattr(write, "table", "") == "NetkvEgress.incarnation.current":
            incarnations.append(write.params["incarnation"])  # type: ignore[attr-defined]
            assert saved(rack).incarnation == incarnations[-1]
        return False

    rack.refuse = look
    rack.crash_switch()
    recovered(rack)
    assert incarnations == [4]


def test_incarnation_rises_periodically_also_at_clients() -> None:
    rack = make_rack(incarnation_length=SECOND)
    load = Load(rack)
    rack.run(5500 * MILLISECOND)
    load.running = False
    assert rack.control.statistics()["incarnation"] == 2 + 5
    assert all(process.incarnation >= 6 for process in rack.processes.values())
    assert saved(rack).incarnation == 7
    assert [process.unknown for process in rack.processes.values()] == [0, 0]
    assert rack.violations() == []


def test_incarnation_rises_above_any_that_a_server_knows() -> None:
    # As if the saved state had been lost, but not the servers' records.
    rack = Rack(CONFIGURATION)
    for key in KEYS[:2]:
        rack.shims[rack.topology.owner(key).index].store[key] = Record(key, 40, 7, 0, b"old")
        rack.checker.written[key, b"old"] = (40, 7)
    rack.start(preload=tuple(KEYS[:2]))
    rack.run(SECOND)
    assert rack.control.statistics()["incarnation"] == 42
    assert "a later incarnation is known" in rack.noted()
    rack.put(1, KEYS[9], b"not lost")
    assert rack.get(2, KEYS[9]) == b"not lost"


# ----------------------------------------------------------------------- registered clients


def test_client_is_saved_before_its_hello_is_answered() -> None:
    rack = Rack(CONFIGURATION)
    rack.save_time = 200 * MILLISECOND
    rack.replace_controller()
    recovered(rack)
    known: list[bool] = []

    def look(hop: Hop) -> bool:
        if hop.op is Op.HELLO_REPLY:
            clients = [client.address for client in saved(rack).clients]
            known.append(hop.datagram.destination in clients)
        return False

    rack.lost = look
    for process in rack.processes.values():
        process.hello()
    rack.run_until(lambda: all(process.incarnation for process in rack.processes.values()))
    assert known
    assert all(known)


def test_deregistered_client_is_not_collected() -> None:
    rack = make_rack()
    rack.processes[2].bye()
    rack.processes[2].up = True
    rack.run(50 * MILLISECOND)
    rack.processes[2].up = False
    assert rack.control.statistics()["clients"] == 1
    rack.put(1, KEY, b"v")
    rack.crash_switch()
    recovered(rack)
    assert rack.recoveries[0].counts["clients"] == 1
    assert rack.recoveries[0].counts["clients_lost"] == 0


def test_late_bye_does_not_deregister_the_next_process() -> None:
    rack = make_rack()
    late: list[Hop] = []

    def lost(hop: Hop) -> bool:
        is_bye = hop.op is Op.BYE
        late.extend([hop] * is_bye)
        return is_bye

    rack.lost = lost
    rack.processes[2].bye()
    rack.run(10 * MILLISECOND)
    rack.processes[2].up = False
    rack.lost = lambda _: False
    rack.processes[2] = rack.new_process(2, first_request=1 << 20)
    rack.processes[2].hello()
    rack.run(50 * MILLISECOND)
    rack.deliver(late[0])
    rack.run(50 * MILLISECOND)
    assert rack.control.statistics()["clients"] == 2


def test_dead_client_is_given_up_until_it_registers_again() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"kept by 1")
    rack.put(2, KEYS[1], b"kept by 2, and lost with it")
    rack.processes[2].up = False
    rack.crash_switch()
    recovered(rack)
    assert rack.recoveries[0].counts["clients_lost"] == 1
    assert rack.recoveries[0].phases[0][1] >= 1.0
    assert "client given up" in rack.noted()
    assert rack.get(1, KEY) == b"kept by 1"
    rack.crash_switch()
    recovered(rack)
    assert rack.recoveries[1].counts["clients_lost"] == 0
    assert rack.recoveries[1].phases[0][1] < 0.5
    rack.kill_controller()
    rack.replace_controller()
    recovered(rack)
    assert rack.recoveries[2].phases[0][1] < 0.5, "the saved state has that the client is gone"
    rack.processes[2] = rack.new_process(2, first_request=1 << 20)
    rack.processes[2].hello()
    rack.run(100 * MILLISECOND)
    assert rack.control.statistics()["clients"] == 2


def test_lost_write_of_a_given_up_client_does_not_return() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"seen by all")
    rack.run(1500 * MILLISECOND)
    rack.put(2, KEY, b"lost")
    cut = rack.processes[2]
    cut.up = False
    rack.crash_switch()
    recovered(rack)
    assert rack.get(1, KEY) == b"seen by all"
    cut.up = True  # only its link was cut
    cut.hello()
    rack.run(500 * MILLISECOND)
    assert KEY in cut.preserved
    rack.crash_switch()
    recovered(rack)
    assert rack.get(1, KEY) == b"seen by all"


def test_no_client_is_given_up_while_the_channel_is_cut() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"with client 1")
    rack.crash_switch()
    rack.channel.loss = 1.0
    rack.run(20 * SECOND)
    assert not rack.recoveries
    rack.channel.loss = 0.0
    recovered(rack)
    assert rack.recoveries[0].counts["clients_lost"] == 0
    assert rack.get(2, KEY) == b"with client 1"
    assert rack.violations() == []


def test_recovery_waits_for_a_server_and_reports_it_once() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"for a dead server")
    shim = rack.shims[rack.topology.owner(KEY).index]
    shim.up = False
    rack.crash_switch()
    rack.run(15 * SECOND)
    assert not rack.recoveries
    assert rack.run_operation(1, Op.GET, KEYS[1]).reply is None, "the switch is still closed"
    named = [note.fields for note in rack.notes if note.what == "no answer"]
    assert named.count({"from": f"server {shim.host.index}", "to": "RESTORE"}) == 1
    shim.up = True
    recovered(rack)
    assert rack.get(1, KEY) == b"for a dead server"


def test_clients_get_the_incarnation_before_the_switch_opens() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    opened: list[int] = []

    def look(write: object) -> bool:
        if getattr(write, "params", {}).get("open"):
            opened.append(1)
            assert all(process.incarnation == 4 for process in rack.processes.values())
        return False

    rack.refuse = look
    rack.crash_switch()
    recovered(rack)
    assert opened
    assert [process.frozen for process in rack.processes.values()] == [[], []]
    assert all(KEY not in process.preserved for process in rack.processes.values())


def test_unanswered_recovered_does_not_keep_the_switch_closed() -> None:
    rack = make_rack()
    rack.lost = lambda hop: hop.op is Op.RECOVERED and hop.datagram.destination % 2 == 1
    rack.crash_switch()
    recovered(rack)
    assert rack.get(2, KEY) == b"first " + KEY[:4]
    rack.lost = lambda _: False
    rack.run(5 * SECOND)
    assert rack.processes[1].incarnation == 4


# ---------------------------------------------------------------------------------- crashes


def test_controller_without_saved_state_starts_afresh() -> None:
    rack = Rack(CONFIGURATION)
    rack.replace_controller()
    recovered(rack)
    assert rack.recoveries == []
    assert rack.control.statistics()["incarnation"] == 2


@pytest.mark.parametrize("data", [b"", b"not ours", bytes(1000), "cut", "flipped"])
def test_damaged_saved_state_is_refused_with_a_reason(data: bytes | str) -> None:
    whole = to_bytes(State(8, snapshot=3, records=(record(1),)))
    rack = Rack(CONFIGURATION)
    damaged = {"cut": whole[:-1], "flipped": whole[:-1] + bytes([whole[-1] ^ 1])}
    rack.disk = damaged[data] if isinstance(data, str) else data
    rack.replace_controller()
    recovered(rack)
    (refusal,) = [note for note in rack.notes if note.what == "saved state is refused"]
    assert str(refusal.fields["because"]).endswith(".")
    assert rack.control.statistics()["incarnation"] == 2


def test_controller_crash_before_release_loses_nothing() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    rack.lost = lambda hop: hop.op is Op.RELEASE
    rack.run(1500 * MILLISECOND)
    assert saved(rack).snapshot
    assert KEY in rack.processes[1].preserved
    rack.kill_controller()
    rack.lost = lambda _: False
    rack.replace_controller()
    recovered(rack)
    assert rack.get(2, KEY) == b"v"
    rack.run(5 * SECOND)
    assert KEY not in rack.processes[1].preserved
    assert rack.violations() == []


def test_nothing_is_released_before_it_is_saved() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"v")
    rack.save_time = 10 * SECOND
    rack.run(2 * SECOND)
    assert Op.RELEASE not in {hop.op for hop in rack.sent}
    rack.kill_controller()  # its snapshot is not saved
    rack.disk = to_bytes(State(2, clients=tuple(Client(p.ip) for p in rack.processes.values())))
    rack.save_time = MILLISECOND
    rack.replace_controller()
    recovered(rack)
    assert rack.get(2, KEY) == b"v"


def test_controller_crash_during_a_release_loses_nothing() -> None:
    rack = make_rack(cache_entries=100)
    rack.handle(Preload(tuple(KEYS)))
    rack.run(100 * MILLISECOND)
    for key in KEYS:
        rack.put(1, key, b"v")
    rack.lost = lambda hop: (
        hop.op is Op.RELEASE
        and hop.message.stamp is not None
        and hop.message.stamp.number >> 16 == 0
        and hop.datagram.destination & 1 == 1
    )
    rack.run(2 * SECOND)
    rack.kill_controller()
    rack.lost = lambda _: False
    rack.replace_controller()
    recovered(rack)
    assert all(rack.get(2, key) == b"v" for key in KEYS)
    assert rack.violations() == []


def write_and_crash(rack: Rack) -> None:
    """Writes, a snapshot, more writes, a crash of the switch."""
    for number, key in enumerate(KEYS[:3]):
        rack.processes[1 + number % 2].begin(Op.PUT, key, b"one %d" % number)
    rack.run(25 * MILLISECOND)
    rack.processes[1].begin(Op.PUT, KEY, b"two")
    rack.processes[2].begin(Op.DELETE, KEYS[1])
    rack.run(5 * MILLISECOND)
    rack.crash_switch()
    rack.run(30 * MILLISECOND)


FAST_SNAPSHOTS = CONFIGURATION.changed(snapshot_period=0.02, max_bulk=2)


def test_controller_crash_at_any_step_loses_nothing() -> None:
    def fresh() -> Rack:
        return stocked_rack(FAST_SNAPSHOTS).start(preload=tuple(KEYS[:3]))

    whole = fresh()
    first = whole.steps
    write_and_crash(whole)
    assert whole.recoveries
    assert whole.control.statistics()["snapshots"] >= 2
    assert whole.steps - first > 100
    for step in range(whole.steps - first):
        rack = fresh()
        rack.steps_left = step
        write_and_crash(rack)
        if not rack.controller_down:
            rack.kill_controller()
        rack.run(10 * MILLISECOND)
        rack.replace_controller()
        # The next controller is killed at some step, too.
        rack.steps_left = step * 7 % 120
        rack.run(40 * MILLISECOND)
        rack.replace_controller()
        recovered(rack)
        rack.run(SECOND)
        assert rack.violations() == [], f"after {step} steps"
        numbers = rack.control.statistics()
        assert numbers["in_flight"] == 0


def test_repeated_switch_crashes_in_a_recovery_lose_nothing() -> None:
    for pause in range(0, 4000, 250):
        rack = make_rack()
        rack.put(1, KEY, b"v")
        rack.put(2, KEYS[1], b"w")
        for _ in range(3):
            rack.crash_switch()
            rack.run(pause * 1000)
        recovered(rack)
        assert rack.get(2, KEY) == b"v"
        assert rack.get(1, KEYS[1]) == b"w"
        assert rack.violations() == []


def test_evicted_record_survives_in_the_controller_alone() -> None:
    rack = make_rack()
    rack.put(1, KEY, b"for a dead server")
    shim = rack.shims[rack.topology.owner(KEY).index]
    shim.up = False
    entry = rack.control._index.of_key(KEY)
    assert entry is not None
    rack.control._eviction.begin(entry)
    rack.run(20 * MILLISECOND)
    rack.processes[1].preserved.clear()  # as if its process had been replaced
    shim.up = True
    rack.crash_switch()
    recovered(rack)
    assert rack.get(2, KEY) == b"for a dead server"


@pytest.mark.parametrize("seed", range(6))
def test_random_crashes_lose_no_acknowledged_write(seed: int) -> None:
    configuration = SMALL.changed(hot_threshold=8, pipelines=(1, 2, 4)[seed % 3])
    rack = Rack(configuration, seed, clients=3, servers=3)
    if seed % 2:
        rack.net, rack.channel = replace(IMPAIRED), replace(IMPAIRED)
    rack.switch.count_from((1 << 32) - 20)
    rack.start(preload=tuple(KEYS[:4]))
    load = Load(rack)
    for _ in range(12):
        rack.run(rack.random.randrange(250 * MILLISECOND))
        if rack.random.random() < 0.5:
            rack.crash_switch(rack.random.randrange(20 * MILLISECOND))
        else:
            rack.steps_left = rack.random.randrange(300)
            rack.run(rack.random.randrange(150 * MILLISECOND))
            rack.kill_controller()
            rack.replace_controller()
    rack.run_until(rack.control.ready)
    load.running = False
    rack.run(2 * SECOND)
    assert rack.violations() == []
    assert rack.checker.writes > 50


def test_stray_messages_of_clients_have_no_effect() -> None:
    rack = make_rack()
    for op in (Op.COLLECT_REPLY, Op.RELEASE_REPLY, Op.RECOVERED_REPLY, Op.HELLO, Op.BYE):
        message = Message(op, bytes(16), 9, 0xFFFF, stamp=Stamp(1))
        for source in (0x0A010001, 0x0A020001, 0):
            rack.handle(PacketIn(1, encode(message, source, CONTROLLER_IP)))
    rack.run(SECOND)
    assert rack.put(1, KEY, b"v").cache_hit
