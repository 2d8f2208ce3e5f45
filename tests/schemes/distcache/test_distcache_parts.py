"""Parts of DistCache's control plane: tables of switches, service of upper switches, answers to
RESTARTED, and what the whole does with events."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from netkv.control.base import (
    SECOND,
    Action,
    DeleteEntry,
    InsertEntry,
    ModifyEntry,
    PacketIn,
    Preload,
    Range,
    SendFrame,
    SetDefault,
    Started,
    SwitchLost,
    SwitchRestarted,
    TableWritten,
    Timer,
    TopologyChanged,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.kits.write_through.digests import HotKey
from netkv.kits.write_through.entries import Candidate, Record, State
from netkv.model.messages import CacheMetadata, Datagram, Load, Message, Op, decode, encode
from netkv.model.network import spine_leaf
from netkv.model.topology import CONTROLLER_IP, Topology, server_ip
from netkv.schemes.distcache import SCHEME
from netkv.schemes.distcache.control_plane import DistCache
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.distcache.restarts import WINDOW, Restarts
from netkv.schemes.distcache.service import UpperService
from netkv.schemes.distcache.switches import Role, Switch, upper_number
from tests.lab.racks import spec
from tests.schemes.distcache.programs.layers import key
from tests.schemes.netcache.netcache_rack import encode_hot_key

NETWORK = spine_leaf(2, 2, clients=2, servers=4, client_switches=2)
EDGES = ("edge-0", "edge-1")
OPTIONS = DistCacheOptions(cache_entries=4, cache_rows=4)

# ------------------------------------------------------------------------------ switches


def test_keys_are_spread_evenly_and_independently_over_both_layers() -> None:
    """A hot leaf's keys have their upper copies in all spines, so both choices help."""
    owners = NETWORK.switches[0].topology
    keys = [(i * 0x9E3779B97F4A7C15).to_bytes(16) for i in range(8000)]
    pairs = [(upper_number(key, 2), owners.owner(key).index // 2) for key in keys]
    for pair in itertools.product(range(2), range(2)):
        assert 0.22 < pairs.count(pair) / len(pairs) < 0.28


def switch_of(name: str, **changes: float) -> Switch:
    plan = NETWORK.switch(name)
    tier = plan.tier
    role = Role(tier, None if tier == "clients" else 1, reports_load=True)
    writes = itertools.count(1)
    options = DistCacheOptions(**OPTIONS.model_dump() | changes)
    return Switch(name, plan.topology, role, options, writes.__next__)


def defaults(switch: Switch) -> dict[str, dict[str, int]]:
    return {
        write.table.removeprefix("NetkvIngress."): dict(write.params)
        for write in switch.tables()
        if isinstance(write, SetDefault)
    }


def uppers(writes: Iterable[Action]) -> list[tuple[str, dict[str, int]]]:
    """Actions of the entries for upper copies, in their order."""
    return [
        (write.action.rpartition(".")[2], dict(write.params))
        for write in writes
        if isinstance(write, (InsertEntry, ModifyEntry)) and write.table.endswith("copy.switches")
    ]


def test_spine_knows_its_own_range_and_the_way_to_the_others() -> None:
    spine = switch_of("spine-1")
    port = NETWORK.switch("spine-1").topology.first_layer[0]
    assert uppers(spine.tables()) == [("towards", {"port": port, "number": 0}), ("here", {})]


def test_leaf_knows_the_way_to_all_spines_whatever_their_state() -> None:
    leaf = switch_of("leaf-0")
    assert [action for action, _ in uppers(leaf.tables())] == ["towards", "towards"]


def test_ranges_of_upper_copies_cover_all_hashes_once() -> None:
    ranges = [
        write.match["hash"]
        for write in switch_of("leaf-0").tables()
        if isinstance(write, InsertEntry) and write.table.endswith("copy.switches")
    ]
    assert all(isinstance(it, Range) for it in ranges)
    bounds = [(it.low, it.high) for it in ranges if isinstance(it, Range)]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == (1 << 32) - 1
    assert all(low == high + 1 for (_, high), (low, _) in itertools.pairwise(bounds))


def test_layers_and_numbers_of_switches_are_in_their_loads() -> None:
    for name, layer in (("leaf-0", 0), ("spine-0", 1)):
        assert defaults(switch_of(name))["load.settings"] == {"layer": layer, "number": 1}
    plan = NETWORK.switch("leaf-0")
    silent = Role("servers", 0, reports_load=False)
    writes = itertools.count(1)
    switch = Switch("leaf-0", plan.topology, silent, OPTIONS, writes.__next__)
    assert "load.settings" not in defaults(switch)


@pytest.mark.parametrize(("half_life", "units"), [(0.1, 97), (0.002, 1)])
def test_half_life_is_at_least_a_unit_of_the_program(half_life: float, units: int) -> None:
    edge = switch_of("edge-0", load_half_life=half_life)
    assert defaults(edge) == {"choice.settings": {"half_life": units}}


def test_leaf_counts_reads_and_a_switch_without_cache_none() -> None:
    below = defaults(switch_of("leaf-0", sample_rate=0.25))["sampling.settings"]["sample_below"]
    assert below == 65536 // 4
    plan = NETWORK.switch("spine-0")
    writes = itertools.count(1)
    bare = Switch("spine-0", plan.topology, Role("between"), OPTIONS, writes.__next__)
    assert defaults(bare)["sampling.settings"]["sample_below"] == 0


def test_edge_sends_reads_only_to_upper_switches_in_service() -> None:
    edge = switch_of("edge-0")
    assert list(edge.set_service(0, True, _nothing)) == [], "it does not run yet"
    assert [action for action, _ in uppers(edge.restarted())] == ["towards", "NoAction"]
    (change,) = edge.set_service(0, False, _nothing)
    assert isinstance(change, ModifyEntry)
    assert uppers([change]) == [("NoAction", {})]
    edge.lost()
    assert list(edge.set_service(1, True, _nothing)) == []
    assert [action for action, _ in uppers(edge.restarted())] == ["NoAction", "towards"]


def test_changed_way_to_a_spine_changes_its_entry_and_no_other() -> None:
    leaf = switch_of("leaf-0")
    list(leaf.restarted())
    topology = NETWORK.switch("leaf-0").topology
    first, second = topology.first_layer
    changed = replace(topology, first_layer=(first, first))
    assert uppers(leaf.change(changed)) == [("towards", {"port": first, "number": 1})]
    assert uppers(leaf.change(changed)) == []
    assert uppers(leaf.change(topology)) == [("towards", {"port": second, "number": 1})]


def test_refused_writes_of_a_switch_are_counted() -> None:
    edge = switch_of("edge-0")
    list(edge.restarted())
    answers: list[bool] = []

    def done(_now: int, ok: bool) -> tuple[Action, ...]:
        answers.append(ok)
        return ()

    (change,) = edge.set_service(0, True, done)
    assert isinstance(change, ModifyEntry)
    list(edge.on_written(0, TableWritten(change.write, False, "full", switch="edge-0")))
    assert (answers, edge.refused) == ([False], 1)


def _nothing(_now: int, _ok: bool) -> tuple[Action, ...]:
    return ()


# ------------------------------------------------------------------------------- service


class Service:
    """Two switches of clients that run, and what follows an exclusion."""

    def __init__(self) -> None:
        self.edges = [switch_of(name) for name in EDGES]
        for edge in self.edges:
            list(edge.restarted())
        self.service = UpperService(self.edges)
        for edge in self.edges:
            list(self.service.client_started(0, edge.name))
        self.done: list[str] = []

    def then(self, name: str) -> Callable[[int], Iterable[Action]]:
        def excluded(_now: int) -> tuple[Action, ...]:
            self.done.append(name)
            return ()

        return excluded

    def exclude(self, name: str, number: int = 0) -> list[TableWritten]:
        """The answers that the switches of clients owe."""
        actions = list(self.service.exclude(0, number, self.then(name)))
        return [
            TableWritten(action.write, True, switch=action.switch)
            for action in actions
            if isinstance(action, ModifyEntry)
        ]

    def answer(self, written: TableWritten) -> None:
        (edge,) = (edge for edge in self.edges if edge.name == written.switch)
        list(edge.on_written(0, written))


def test_exclusion_ends_when_every_switch_of_clients_has_confirmed() -> None:
    it = Service()
    first, second = it.exclude("lost")
    it.answer(first)
    assert it.done == []
    it.answer(second)
    assert it.done == ["lost"]


def test_refused_exclusion_does_not_end() -> None:
    """The old entry is still there: servers wait for the switch itself."""
    it = Service()
    first, second = it.exclude("lost")
    it.answer(replace(first, ok=False))
    it.answer(second)
    assert it.done == []


def test_stopped_switch_of_clients_is_waited_for_until_it_starts() -> None:
    """It may only be out of the controller's reach."""
    it = Service()
    first, _ = it.exclude("lost")
    it.answer(first)
    it.edges[1].lost()
    assert it.done == []
    assert not it.service.settled
    list(it.service.client_started(0, it.edges[1].name))
    assert it.done == ["lost"]
    assert it.service.settled


def test_exclusion_without_running_switches_of_clients_waits_for_them() -> None:
    it = Service()
    for edge in it.edges:
        edge.lost()
    assert it.exclude("lost") == []
    for edge in it.edges:
        assert it.done == []
        list(it.service.client_started(0, edge.name))
    assert it.done == ["lost"]


def test_service_is_unsettled_until_every_switch_of_clients_has_started() -> None:
    edges = [switch_of(name) for name in EDGES]
    service = UpperService(edges)
    for edge in edges:
        assert not service.settled
        list(service.client_started(0, edge.name))
    assert service.settled


def test_switch_that_serves_again_ends_its_exclusion() -> None:
    """What would follow the exclusion is about entries that are gone with the earlier state."""
    it = Service()
    first, second = it.exclude("lost")
    list(it.service.include(0))
    it.answer(first)
    it.answer(second)
    assert it.done == []


def test_later_exclusion_replaces_an_earlier_one() -> None:
    it = Service()
    early = it.exclude("first")
    late = it.exclude("second")
    for written in early:
        it.answer(written)
    assert it.done == []
    for written in late:
        it.answer(written)
    assert it.done == ["second"]


def test_exclusions_of_two_switches_are_independent() -> None:
    it = Service()
    zero, one = it.exclude("zero"), it.exclude("one", 1)
    for written in one:
        it.answer(written)
    assert it.done == ["one"]
    for written in zero:
        it.answer(written)
    assert it.done == ["one", "zero"]


# ------------------------------------------------------------------------------ restarts


class FakeCache:
    """The records of a cache, and those that are to be installed again."""

    def __init__(self, *records: Record) -> None:
        self.records = {record.generation: record for record in records}
        self.installed: list[int] = []

    def install_again(self, record: Record) -> None:
        record.state = State.INSTALLING
        self.installed.append(record.generation)


def record(generation: int, state: State = State.CACHED) -> Record:
    return Record(bytes(16), generation, 0, Candidate(bytes(16)), state)


def restarted(request: int = 7, server: int = 1) -> Datagram:
    message = Message(Op.RESTARTED, bytes(16), request, 0x8000 + server)
    return Datagram(server_ip(server), CONTROLLER_IP, message)


def ask(restarts: Restarts, cache: FakeCache, request: int = 7) -> list[SendFrame]:
    copies = [(cache, record) for record in cache.records.values()]
    restarts.on_restarted(restarted(request), "leaf-0", copies)  # type: ignore[arg-type]
    return list(restarts.answers())


def test_server_without_copies_is_answered_at_once() -> None:
    (answer,) = ask(Restarts(), FakeCache())
    datagram = decode(answer.frame)
    assert (answer.switch, datagram.destination) == ("leaf-0", server_ip(1))
    assert (datagram.message.op, datagram.message.request) == (Op.RESTARTED_REPLY, 7)


def test_answer_waits_for_every_copy() -> None:
    restarts, cache = Restarts(), FakeCache(record(1), record(2), record(3, State.DELETING))
    assert ask(restarts, cache) == []
    assert cache.installed == [1, 2]
    cache.records[1].state = State.CACHED
    del cache.records[3]
    assert list(restarts.answers()) == []
    del cache.records[2]  # INSTALL has failed, and the copy was evicted.
    assert len(list(restarts.answers())) == 1
    assert list(restarts.answers()) == []


def test_copy_that_is_not_in_the_switch_yet_is_not_waited_for() -> None:
    """ADMIT and INSTALL of it will reach the server that runs now."""
    cache = FakeCache(record(1, State.ADMITTING), record(2, State.INSERTING))
    assert len(ask(Restarts(), cache)) == 1
    assert cache.installed == []


def test_copies_of_restarted_install_nothing_twice() -> None:
    restarts, cache = Restarts(), FakeCache(record(1))
    for _ in range(3):
        assert ask(restarts, cache) == []
    assert cache.installed == [1]
    cache.records[1].state = State.CACHED
    assert len(list(restarts.answers())) == 1
    assert len(ask(restarts, cache)) == 1, "the answer was lost"
    assert cache.installed == [1]
    assert ask(restarts, cache, request=8) == []
    assert cache.installed == [1, 1], "another start"


def test_number_of_remembered_starts_is_limited() -> None:
    restarts, cache = Restarts(), FakeCache()
    for request in range(WINDOW + 10):
        assert len(ask(restarts, cache, request)) == 1
    assert len(restarts._answered) == WINDOW


# ---------------------------------------------------------------------------- the whole


class Whole:
    """The control plane with switches that confirm every write, and servers that agree."""

    def __init__(self) -> None:
        self.control = DistCache(NETWORK, OPTIONS, CacheParameters())
        self.actions: list[Action] = []
        self.now = SECOND
        self.handle(Started())
        for plan in NETWORK.switches:
            self.handle(SwitchRestarted(plan.name))

    def handle(self, event: object, *, answer: bool = True) -> list[Action]:
        """Handle an event, and the answers to what follows."""
        events, all_actions = [event], []
        while events:
            self.now += 1_000_000
            for action in self.control.handle(self.now, events.pop(0)):  # type: ignore[arg-type]
                all_actions.append(action)
                write, switch = getattr(action, "write", None), getattr(action, "switch", "")
                if answer and write is not None:
                    events.append(TableWritten(write, True, switch=switch))
                elif answer and isinstance(action, SendFrame):
                    message = decode(action.frame).message
                    if message.op in (Op.ADMIT, Op.INSTALL, Op.EVICTED, Op.EPOCH):
                        reply = message.reply(length=16, cache_metadata=message.cache_metadata)
                        frame = encode(reply, server_ip(0), CONTROLLER_IP)
                        events.append(PacketIn(1, frame, action.switch))
        self.actions += all_actions
        return all_actions

    def sent(self, actions: Iterable[Action], op: Op) -> list[tuple[str, bool]]:
        """The switches to which messages went, and whether they are about upper copies."""
        return [
            (action.switch, message.upper)
            for action in actions
            if isinstance(action, SendFrame) and (message := decode(action.frame).message).op == op
        ]


def test_preloaded_key_is_cached_in_both_layers() -> None:
    """Messages about both copies go by the leaf of the server; entries go to each switch."""
    it = Whole()
    actions = it.handle(Preload((key(1, 0),)))
    assert sorted(it.sent(actions, Op.INSTALL)) == [("leaf-0", False), ("leaf-0", True)]
    entries = [it.switch for it in actions if isinstance(it, InsertEntry)]
    assert sorted(entries) == ["leaf-0", "spine-1"]
    assert it.control.ready()
    assert it.control.cached_keys() == [key(1, 0)]
    assert it.control.statistics()["cached"] == 2


def test_preload_of_a_key_with_a_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a key has 16 bytes"):
        Whole().handle(Preload((b"short",)))


def test_hot_key_is_offered_to_both_layers_by_its_leaf_only() -> None:
    it = Whole()
    hot = replace(encode_hot_key(HotKey(key(0, 1), 50, 1)), switch="leaf-0")
    assert it.sent(it.handle(hot), Op.ADMIT) == []
    assert it.control.statistics()["hot_keys_elsewhere"] == 1
    actions = it.handle(replace(hot, switch="leaf-1"))
    assert sorted(it.sent(actions, Op.ADMIT)) == [("leaf-1", False), ("leaf-1", True)]


def test_outgrown_copy_is_evicted_in_its_layer_only() -> None:
    it = Whole()
    wanted = key(0, 0)
    it.handle(Preload((wanted,)))
    for upper, switch in ((True, "spine-0"), (False, "leaf-0")):
        before = it.control.statistics()["cached"]
        message = Message(Op.OUTGROWN, wanted, 5, 0x8000, upper=upper)
        frame = encode(message, server_ip(0), CONTROLLER_IP)
        actions = it.handle(PacketIn(1, frame, "leaf-0"))
        reply = next(action for action in actions if isinstance(action, SendFrame))
        assert reply.switch == "leaf-0"
        assert decode(reply.frame).message.upper is upper
        deleted = [action.switch for action in actions if isinstance(action, DeleteEntry)]
        assert deleted == [switch]
        assert it.sent(actions, Op.EVICTED) == [("leaf-0", upper)]
        assert it.control.statistics()["cached"] == before - 1


def test_lost_spine_is_excluded_before_its_copies_are_evicted() -> None:
    it = Whole()
    it.handle(Preload((key(0, 0), key(0, 1), key(1, 0))))
    first = it.handle(SwitchLost("spine-0"), answer=False)
    assert it.sent(first, Op.EVICTED) == []
    changes = [action for action in first if isinstance(action, ModifyEntry)]
    assert sorted(change.switch for change in changes) == ["edge-0", "edge-1"]
    actions = it.handle(TableWritten(changes[0].write, True, switch=changes[0].switch))
    assert it.sent(actions, Op.EVICTED) == []
    actions = it.handle(TableWritten(changes[1].write, True, switch=changes[1].switch))
    assert sorted(it.sent(actions, Op.EVICTED)) == [("leaf-0", True), ("leaf-1", True)]


def test_restarted_spine_gets_its_keys_under_new_generations() -> None:
    it = Whole()
    it.handle(Preload((key(0, 0),)))

    def generations() -> list[int]:
        return [
            action.params["generation"]
            for action in it.actions
            if isinstance(action, InsertEntry) and "generation" in action.params
        ]

    before = set(generations())
    it.handle(SwitchRestarted("spine-0"))
    assert it.control.ready()
    assert len(set(generations()) - before) == 1
    assert it.control.statistics()["cached"] == 2


def test_message_for_nobody_and_broken_frames_are_counted() -> None:
    it = Whole()
    stray = encode(Message(Op.GET_REPLY, bytes(16), 1, 3, load=Load(0, 0, 1)), 1, CONTROLLER_IP)
    it.handle(PacketIn(1, stray, "leaf-0"))
    it.handle(PacketIn(1, b"broken", "leaf-0"))
    late = Message(Op.INSTALL_REPLY, bytes(16), 9999, cache_metadata=CacheMetadata(1))
    it.handle(PacketIn(1, encode(late, 1, CONTROLLER_IP), "leaf-0"))
    counts = it.control.statistics()
    assert (counts["stray_replies"], counts["malformed_frames"]) == (2, 1)


def test_restarted_server_gets_install_for_its_own_keys_only() -> None:
    it = Whole()
    mine, other = key(0, 0), key(0, 1)
    it.handle(Preload((mine, other)))
    owner: Topology = NETWORK.switches[0].topology
    message = Message(Op.RESTARTED, bytes(16), 3, 0x8000)
    frame = encode(message, owner.owner(mine).ip, CONTROLLER_IP)
    actions = it.handle(PacketIn(1, frame, "leaf-0"))
    installs = [
        decode(action.frame).message
        for action in actions
        if isinstance(action, SendFrame) and decode(action.frame).message.op == Op.INSTALL
    ]
    assert [(message.key, message.upper) for message in installs] == [(mine, True)]
    assert it.sent(actions, Op.RESTARTED_REPLY) == [("leaf-0", False)]


def test_topology_change_changes_the_way_to_a_spine() -> None:
    it = Whole()
    topology = NETWORK.switch("leaf-0").topology
    first, second = topology.first_layer
    rerouted = replace(topology, first_layer=(second, second))
    actions = it.handle(TopologyChanged(rerouted, "leaf-0"))
    assert uppers(actions) == [("towards", {"port": second, "number": 0})]
    assert uppers(it.handle(TopologyChanged(topology, "leaf-0"))) == [
        ("towards", {"port": first, "number": 0})
    ]


def test_epochs_begin_in_every_switch_with_a_cache() -> None:
    it = Whole()
    epochs = it.sent(it.actions, Op.EPOCH)
    assert {switch for switch, _ in epochs} == {"spine-0", "spine-1", "leaf-0", "leaf-1"}
    ends = it.control.deadline()
    assert ends is not None
    it.now = ends
    again = it.sent(it.handle(Timer()), Op.EPOCH)
    assert {switch for switch, _ in again} <= {switch for switch, _ in epochs}
    assert again


def test_control_plane_has_the_options_of_its_rack() -> None:
    rack = spec("distcache", load_half_life=0.5, cache_rows=16)
    assert SCHEME.network_control_plane is not None
    control = SCHEME.network_control_plane(rack, NETWORK)
    assert isinstance(control, DistCache)
    assert (control.options.load_half_life_ns, control.options.cache_rows) == (SECOND // 2, 16)
