"""After a crash of the switch or the controller, no acknowledged write is lost."""

from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, SECOND, PacketIn, Preload
from netkv.control.messages import Bit, Datagram, Message, Op, Stamp, encode
from netkv.control.topology import CONTROLLER_IP
from netkv.schemes.farreach.checkpoint_format import Client, State, from_bytes, to_bytes
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.farreach.record import Record
from tests.schemes.farreach.farreach_load import KEYS, SMALL, Load
from tests.schemes.farreach.farreach_rack import ROUGH, Rack

OPTIONS = FarReachParameters(
    capacity=8,
    sample_rate=1.0,
    hot_threshold=3,
    epoch=100 * MILLISECOND,
    snapshot_period=SECOND,
    collect_patience=SECOND,
    drawn=8,
    tries=4,
)
KEY = KEYS[0]


def rack(seed: int = 0, **options: object) -> Rack:
    it = Rack(replace(OPTIONS, **options), seed)  # type: ignore[arg-type]
    for key in KEYS:
        it.store(key, b"first " + key[:4])
    return it.start(preload=tuple(KEYS[:4]))


def saved(it: Rack) -> State:
    assert it.disk is not None
    return from_bytes(it.disk)


def recovered(it: Rack) -> Rack:
    it.run_until(it.control.ready)
    return it


def stored(it: Rack, key: bytes = KEY) -> Record:
    return it.shims[it.topology.owner(key).index].store[key]


def restart_with(state: State, *preserved: Record) -> Rack:
    """A rack with a saved state of the controller and preserved records of clients 1, 2, …"""
    it = Rack(OPTIONS)
    it.disk = to_bytes(replace(state, clients=tuple(Client(p.ip) for p in it.processes.values())))
    for process, record in zip(it.processes.values(), preserved, strict=False):
        process.preserved[record.key] = (record, 0)
        process.incarnation = state.incarnation
        it.judge.passed(record.key, record.value, (record.incarnation, record.number))
    it.replace_controller()
    return recovered(it)


def record(
    number: int, value: bytes = b"", *, deleted: bool = False, incarnation: int = 2
) -> Record:
    bits = Bit.DELETED if deleted else Bit(0)
    return Record(KEY, incarnation, number, int(bits | Bit.DIRTY), value or b"write %d" % number)


# -------------------------------------------------------------------------------- what comes back


def test_acknowledged_write_survives_a_switch_crash() -> None:
    it = rack()
    it.put(1, KEY, b"acknowledged")
    it.crash_switch()
    recovered(it)
    assert it.get(2, KEY) == b"acknowledged"
    assert stored(it).value == b"acknowledged"
    assert it.complaints() == []


def test_newest_record_of_all_clients_and_the_snapshot_wins() -> None:
    # two clients with 7 and 9 and a snapshot with 8
    state = State(2, snapshot=1, records=(record(8),))
    it = restart_with(state, record(7), record(9))
    assert stored(it)[1:3] == (2, 9)
    assert it.get(1, KEY) == b"write 9"
    assert it.recoveries[0].counts["restored"] == 1


def test_snapshot_wins_over_older_records_of_clients() -> None:
    it = restart_with(State(2, snapshot=1, records=(record(9),)), record(7), record(8))
    assert it.get(1, KEY) == b"write 9"


def test_records_at_the_wrap_of_numbers_are_told_apart() -> None:
    it = restart_with(State(2), record(0xFFFFFFFF, b"older"), record(3, b"newer"))
    assert it.get(1, KEY) == b"newer"


def test_record_of_a_later_incarnation_wins_at_any_number() -> None:
    it = restart_with(State(3), record(900, b"older"), record(1, b"newer", incarnation=3))
    assert it.get(1, KEY) == b"newer"


def test_preserved_delete_replays_as_a_delete() -> None:
    it = restart_with(State(2, snapshot=1, records=(record(5),)), record(6, deleted=True))
    assert stored(it).deleted
    assert it.get(1, KEY) is None


def test_older_record_does_not_undo_what_the_server_has() -> None:
    it = Rack(OPTIONS)
    it.shims[it.topology.owner(KEY).index].store[KEY] = record(12, b"at the server")
    it.judge.written[KEY, b"at the server"] = (2, 12)
    it.disk = to_bytes(State(2, snapshot=1, records=(record(8),)))
    it.replace_controller()
    recovered(it)
    assert it.get(1, KEY) == b"at the server"


def test_keys_of_the_snapshot_are_cached_again() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    it.run(1500 * MILLISECOND)
    it.crash_switch()
    recovered(it)
    assert it.cached() == set(KEYS[:4])
    assert it.get(1, KEYS[1]) == b"first " + KEYS[1][:4]
    assert it.put(2, KEY, b"w").cache_hit


def test_recovery_tells_its_times_and_what_it_moved() -> None:
    it = rack()
    it.run(1500 * MILLISECOND)
    it.put(1, KEY, b"v")
    it.put(2, KEYS[1], b"w")
    began = it.now
    it.crash_switch()
    recovered(it)
    (told,) = it.recoveries
    assert [name for name, _ in told.phases] == ["collect", "update servers", "re-admit"]
    assert all(seconds > 0 for _, seconds in told.phases)
    assert told.seconds <= (it.now - began) / SECOND
    assert told.counts == {
        "snapshot_records": 4,
        "preserved_records": 2,
        "restored": 2,
        "clients": 2,
        "clients_lost": 0,
        "keys_readmitted": 4,
    }


def test_hundreds_of_preserved_records_are_collected_in_any_order() -> None:
    it = Rack(OPTIONS, clients=3)
    it.channel, it.net = replace(ROUGH), replace(ROUGH)
    many = [Record(key, 2, 1 + number, 0, b"%d" % number) for number, key in enumerate(LOTS)]
    for number, process in enumerate(it.processes.values()):
        mine = many[number::3]
        process.preserved = {each.key: (each, 0) for each in mine}
    it.disk = to_bytes(State(2, clients=tuple(Client(p.ip) for p in it.processes.values())))
    it.replace_controller()
    recovered(it)
    assert it.recoveries[0].counts["preserved_records"] == len(LOTS)
    stores = [shim.store for shim in it.shims.values()]
    assert {key: each for store in stores for key, each in store.items()} == {
        each.key: each for each in many
    }


LOTS = [bytes([number % 256, number // 256, *bytes(14)]) for number in range(400)]

# ----------------------------------------------------------------------- incarnations


def test_every_start_has_an_unused_incarnation_and_skips_one() -> None:
    it = rack()
    assert it.control.statistics()["incarnation"] == 2
    for incarnation in (4, 6):
        it.crash_switch()
        recovered(it)
        assert (
            it.control.statistics()["incarnation"]
            == it.switch.pipelines[0].incarnation
            == incarnation
        )
    it.kill_controller()
    it.replace_controller()
    recovered(it)
    assert it.control.statistics()["incarnation"] == 8


def test_incarnation_is_saved_before_the_switch_has_it() -> None:
    it = rack()
    it.save_time = 100 * MILLISECOND
    incarnations: list[int] = []

    def look(write: object) -> bool:
        if getattr(write, "table", "") == "NetkvEgress.incarnation.current":
            incarnations.append(write.params["incarnation"])  # type: ignore[attr-defined]
            assert saved(it).incarnation == incarnations[-1]
        return False

    it.refuse = look
    it.crash_switch()
    recovered(it)
    assert incarnations == [4]


def test_incarnation_rises_periodically_and_clients_are_told() -> None:
    it = rack(incarnation_length=SECOND)
    load = Load(it)
    it.run(5500 * MILLISECOND)
    load.on = False
    assert it.control.statistics()["incarnation"] == 2 + 5
    assert all(process.incarnation >= 6 for process in it.processes.values())
    assert saved(it).incarnation == 7
    assert [process.unknown for process in it.processes.values()] == [0, 0]
    assert it.complaints() == []


def test_incarnation_rises_above_any_that_a_server_knows() -> None:
    # As if the saved state had been lost, but not the servers' records.
    it = Rack(OPTIONS)
    for key in KEYS[:2]:
        it.shims[it.topology.owner(key).index].store[key] = Record(key, 40, 7, 0, b"old")
        it.judge.written[key, b"old"] = (40, 7)
    it.start(preload=tuple(KEYS[:2]))
    it.run(SECOND)
    assert it.control.statistics()["incarnation"] == 42
    assert "a later incarnation is known" in [note.what for note in it.notes]
    it.put(1, KEYS[9], b"not lost")
    assert it.get(2, KEYS[9]) == b"not lost"


# ----------------------------------------------------------------------------------- who is asked


def test_client_is_saved_before_its_hello_is_answered() -> None:
    it = Rack(OPTIONS)
    it.save_time = 200 * MILLISECOND
    it.replace_controller()
    recovered(it)
    known: list[bool] = []

    def look(datagram: Datagram) -> bool:
        if datagram.message.op is Op.HELLO_REPLY:
            clients = [client.address for client in saved(it).clients]
            known.append(datagram.destination in clients)
        return False

    it.lost = look
    for process in it.processes.values():
        process.hello()
    it.run_until(lambda: all(process.incarnation for process in it.processes.values()))
    assert known
    assert all(known)


def test_client_that_left_is_asked_no_more() -> None:
    it = rack()
    it.processes[2].bye()
    it.processes[2].up = True
    it.run(50 * MILLISECOND)
    it.processes[2].up = False
    assert it.control.statistics()["clients"] == 1
    it.put(1, KEY, b"v")
    it.crash_switch()
    recovered(it)
    assert it.recoveries[0].counts["clients"] == 1
    assert it.recoveries[0].counts["clients_lost"] == 0


def test_late_copy_of_bye_does_not_send_off_the_next_process() -> None:
    it = rack()
    late: list[Datagram] = []

    def lost(datagram: Datagram) -> bool:
        is_bye = datagram.message.op is Op.BYE
        late.extend([datagram] * is_bye)
        return is_bye

    it.lost = lost
    it.processes[2].bye()
    it.run(10 * MILLISECOND)
    it.processes[2].up = False
    it.lost = lambda _: False
    it.processes[2] = it.new_process(2, first_request=1 << 20)
    it.processes[2].hello()
    it.run(50 * MILLISECOND)
    it._at_switch(2, late[0])
    it.run(50 * MILLISECOND)
    assert it.control.statistics()["clients"] == 2


def test_dead_client_is_given_up_and_not_waited_for_again_until_it_is_back() -> None:
    it = rack()
    it.put(1, KEY, b"kept by 1")
    it.put(2, KEYS[1], b"kept by 2, and lost with it")
    it.processes[2].up = False
    it.crash_switch()
    recovered(it)
    assert it.recoveries[0].counts["clients_lost"] == 1
    assert it.recoveries[0].phases[0][1] >= 1.0
    assert "client given up" in [note.what for note in it.notes]
    assert it.get(1, KEY) == b"kept by 1"
    it.crash_switch()
    recovered(it)
    assert it.recoveries[1].counts["clients_lost"] == 0
    assert it.recoveries[1].phases[0][1] < 0.5
    it.kill_controller()
    it.replace_controller()
    recovered(it)
    assert it.recoveries[2].phases[0][1] < 0.5, "that it is gone is saved"
    it.processes[2] = it.new_process(2, first_request=1 << 20)
    it.processes[2].hello()
    it.run(100 * MILLISECOND)
    assert it.control.statistics()["clients"] == 2


def test_what_was_lost_with_a_client_does_not_come_back_when_others_have_seen_that_it_was() -> None:
    it = rack()
    it.put(1, KEY, b"seen by all")
    it.run(1500 * MILLISECOND)
    it.put(2, KEY, b"lost")
    cut = it.processes[2]
    cut.up = False
    it.crash_switch()
    recovered(it)
    assert it.get(1, KEY) == b"seen by all"
    cut.up = True  # its link was cut, no more
    cut.hello()
    it.run(500 * MILLISECOND)
    assert KEY in cut.preserved
    it.crash_switch()
    recovered(it)
    assert it.get(1, KEY) == b"seen by all"


def test_cut_of_the_control_channel_gives_no_client_up() -> None:
    it = rack()
    it.put(1, KEY, b"with client 1")
    it.crash_switch()
    it.channel.loss = 1.0
    it.run(20 * SECOND)
    assert not it.recoveries
    it.channel.loss = 0.0
    recovered(it)
    assert it.recoveries[0].counts["clients_lost"] == 0
    assert it.get(2, KEY) == b"with client 1"
    assert it.complaints() == []


def test_recovery_waits_for_a_server_that_is_down_and_says_so_once() -> None:
    it = rack()
    it.put(1, KEY, b"for a dead server")
    shim = it.shims[it.topology.owner(KEY).index]
    shim.up = False
    it.crash_switch()
    it.run(15 * SECOND)
    assert not it.recoveries
    assert it.do(1, Op.GET, KEYS[1]).reply is None, "nobody is served before"
    named = [note.fields for note in it.notes if note.what == "no answer"]
    assert named.count({"from": f"server {shim.host.index}", "to": "RESTORE"}) == 1
    shim.up = True
    recovered(it)
    assert it.get(1, KEY) == b"for a dead server"


def test_clients_get_the_incarnation_before_the_switch_opens() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    opened: list[int] = []

    def look(write: object) -> bool:
        if getattr(write, "params", {}).get("open"):
            opened.append(1)
            assert all(process.incarnation == 4 for process in it.processes.values())
        return False

    it.refuse = look
    it.crash_switch()
    recovered(it)
    assert opened
    assert [process.frozen for process in it.processes.values()] == [[], []]
    assert all(KEY not in process.preserved for process in it.processes.values())


def test_client_that_does_not_hear_it_does_not_keep_the_switch_closed() -> None:
    it = rack()
    it.lost = lambda datagram: datagram.message.op is Op.RECOVERED and datagram.destination % 2 == 1
    it.crash_switch()
    recovered(it)
    assert it.get(2, KEY) == b"first " + KEY[:4]
    it.lost = lambda _: False
    it.run(5 * SECOND)
    assert it.processes[1].incarnation == 4


# --------------------------------------------------------------------------------- who dies, when


def test_controller_that_finds_nothing_saved_begins_anew() -> None:
    it = Rack(OPTIONS)
    it.replace_controller()
    recovered(it)
    assert it.recoveries == []
    assert it.control.statistics()["incarnation"] == 2


@pytest.mark.parametrize("data", [b"", b"not ours", bytes(1000), "cut", "flipped"])
def test_torn_or_foreign_save_is_refused_with_a_sentence(data: bytes | str) -> None:
    whole = to_bytes(State(8, snapshot=3, records=(record(1),)))
    it = Rack(OPTIONS)
    made = {"cut": whole[:-1], "flipped": whole[:-1] + bytes([whole[-1] ^ 1])}
    it.disk = made[data] if isinstance(data, str) else data
    it.replace_controller()
    recovered(it)
    (refusal,) = [note for note in it.notes if note.what == "saved state is refused"]
    assert str(refusal.fields["because"]).endswith(".")
    assert it.control.statistics()["incarnation"] == 2


def test_controller_that_dies_after_saving_and_before_releasing_loses_nothing() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    it.lost = lambda datagram: datagram.message.op is Op.RELEASE
    it.run(1500 * MILLISECOND)
    assert saved(it).snapshot
    assert KEY in it.processes[1].preserved
    it.kill_controller()
    it.lost = lambda _: False
    it.replace_controller()
    recovered(it)
    assert it.get(2, KEY) == b"v"
    it.run(5 * SECOND)
    assert KEY not in it.processes[1].preserved
    assert it.complaints() == []


def test_nothing_is_released_before_it_is_saved() -> None:
    it = rack()
    it.put(1, KEY, b"v")
    it.save_time = 10 * SECOND
    it.run(2 * SECOND)
    assert Op.RELEASE not in {message.op for message in it.sent}
    it.kill_controller()  # what it has taken is not saved
    it.disk = to_bytes(State(2, clients=tuple(Client(p.ip) for p in it.processes.values())))
    it.save_time = MILLISECOND
    it.replace_controller()
    recovered(it)
    assert it.get(2, KEY) == b"v"


def test_controller_that_dies_in_the_middle_of_a_release_loses_nothing() -> None:
    it = rack(capacity=100)
    it.tell(Preload(tuple(KEYS)))
    it.run(100 * MILLISECOND)
    for key in KEYS:
        it.put(1, key, b"v")
    it.lost = lambda datagram: (
        datagram.message.op is Op.RELEASE
        and datagram.message.stamp is not None
        and datagram.message.stamp.number >> 16 == 0
        and datagram.destination & 1 == 1
    )
    it.run(2 * SECOND)
    it.kill_controller()
    it.lost = lambda _: False
    it.replace_controller()
    recovered(it)
    assert all(it.get(2, key) == b"v" for key in KEYS)
    assert it.complaints() == []


def eventful_run(it: Rack) -> None:
    """Writes, a snapshot, more writes, a crash of the switch."""
    for number, key in enumerate(KEYS[:3]):
        it.processes[1 + number % 2].begin(Op.PUT, key, b"one %d" % number)
    it.run(25 * MILLISECOND)
    it.processes[1].begin(Op.PUT, KEY, b"two")
    it.processes[2].begin(Op.DELETE, KEYS[1])
    it.run(5 * MILLISECOND)
    it.crash_switch()
    it.run(30 * MILLISECOND)


LIFE = replace(OPTIONS, snapshot_period=20 * MILLISECOND, max_bulk=2)


def test_controller_that_dies_between_any_two_steps_loses_nothing() -> None:
    def fresh() -> Rack:
        it = Rack(LIFE)
        for key in KEYS:
            it.store(key, b"first " + key[:4])
        return it.start(preload=tuple(KEYS[:3]))

    whole = fresh()
    first = whole.steps
    eventful_run(whole)
    assert whole.recoveries
    assert whole.control.statistics()["snapshots"] >= 2
    assert whole.steps - first > 100
    for step in range(whole.steps - first):
        it = fresh()
        it.steps_left = step
        eventful_run(it)
        if not it.dead:
            it.kill_controller()
        it.run(10 * MILLISECOND)
        it.replace_controller()
        # The next controller dies, too, at some step.
        it.steps_left = step * 7 % 120
        it.run(40 * MILLISECOND)
        it.replace_controller()
        recovered(it)
        it.run(SECOND)
        assert it.complaints() == [], f"after {step} steps"
        numbers = it.control.statistics()
        assert numbers["in_flight"] == 0


def test_switch_that_crashes_again_and_again_in_a_recovery_loses_nothing() -> None:
    for pause in range(0, 4000, 250):
        it = rack()
        it.put(1, KEY, b"v")
        it.put(2, KEYS[1], b"w")
        for _ in range(3):
            it.crash_switch()
            it.run(pause * 1000)
        recovered(it)
        assert it.get(2, KEY) == b"v"
        assert it.get(1, KEYS[1]) == b"w"
        assert it.complaints() == []


def test_record_that_an_eviction_has_taken_out_survives_with_the_controller_alone() -> None:
    it = rack()
    it.put(1, KEY, b"on its way to a dead server")
    shim = it.shims[it.topology.owner(KEY).index]
    shim.up = False
    entry = it.control._index.of_key(KEY)
    assert entry is not None
    it.control._eviction.begin(entry)
    it.run(20 * MILLISECOND)
    it.processes[1].preserved.clear()  # as if its process had died, and another come
    shim.up = True
    it.crash_switch()
    recovered(it)
    assert it.get(2, KEY) == b"on its way to a dead server"


@pytest.mark.parametrize("seed", range(6))
def test_users_notice_no_loss_whoever_crashes(seed: int) -> None:
    options = replace(SMALL, hot_threshold=8, pipelines=(1, 2, 4)[seed % 3])
    it = Rack(options, seed, clients=3, servers=3)
    if seed % 2:
        it.net, it.channel = replace(ROUGH), replace(ROUGH)
    it.switch.count_from((1 << 32) - 20)
    it.start(preload=tuple(KEYS[:4]))
    load = Load(it)
    for _ in range(12):
        it.run(it.random.randrange(250 * MILLISECOND))
        if it.random.random() < 0.5:
            it.crash_switch(it.random.randrange(20 * MILLISECOND))
        else:
            it.steps_left = it.random.randrange(300)
            it.run(it.random.randrange(150 * MILLISECOND))
            it.kill_controller()
            it.replace_controller()
    it.run_until(it.control.ready)
    load.on = False
    it.run(2 * SECOND)
    assert it.complaints() == []
    assert it.judge.writes > 50


def test_stray_messages_of_clients_do_no_harm() -> None:
    it = rack()
    for op in (Op.COLLECT_REPLY, Op.RELEASE_REPLY, Op.RECOVERED_REPLY, Op.HELLO, Op.BYE):
        message = Message(op, bytes(16), 9, 0xFFFF, stamp=Stamp(1))
        for source in (0x0A010001, 0x0A020001, 0):
            it.tell(PacketIn(1, encode(message, source, CONTROLLER_IP)))
    it.run(SECOND)
    assert it.put(1, KEY, b"v").cache_hit
