"""Server rotation: what the whole rack would do follows from the turns of its servers."""

from __future__ import annotations

import pytest

from netkv import schemes
from netkv._engine import key_of_record, owner_index
from netkv.errors import NetkvError, UsageError
from netkv.model.spec import ClosedLoop, Throttled, WorkloadSpec
from netkv.runs import Store, StoreSink
from netkv.scenarios import loader, popularity, rotation
from netkv.scenarios.results import RunResult
from netkv.scenarios.rotation import Rotation, Turn
from netkv.scenarios.runner import run_scenario
from netkv.scenarios.thresholds import metric_of
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec

TEXT = """\
name: turns
schemes: [nocache, farreach]
mode: sim
lab: {servers: 4, clients: 4, profile: farreach-testbed, cache_entries: 50, scale: 5}
workload: {keys: 100000001, placement: ycsb, writes: 0.5, arrivals: {outstanding: 64}}
deadline: 60
retry: 60
warmup: 0
duration: 4
"""


async def run(store: Store, *changes: str) -> dict[str, RunResult]:
    scenario = loader.loads(TEXT, "turns.yaml", changes)
    with StoreSink(store) as sink:
        found = await run_scenario(scenario, sink=sink)
    assert all(each.status == "done" for each in found.runs)
    return {each.scheme: each for each in found.runs}


async def test_rack_that_is_put_together_does_what_all_servers_do_at_once(store: Store) -> None:
    # All servers are kept busy by more requests than the turns need.
    at_once = await run(store, "workload.arrivals.outstanding=512")
    turns = await run(store, "workload.rotation=true")
    for scheme, whole in turns.items():
        other = at_once[scheme]
        assert whole.throughput_ops == pytest.approx(other.throughput_ops, rel=0.05)
        assert whole.requests_ops == pytest.approx(other.requests_ops, rel=0.05)
        assert whole.server_load == pytest.approx(other.server_load, rel=0.08)
        assert metric_of(whole, "busiest_server_ops") == max(whole.server_load)
        assert whole.acked_writes_lost == 0
        loads = whole.series["server_load"]
        busy = [{server for server, load in enumerate(turn) if load > 1000} for turn in loads]
        first = whole.server_load.index(max(whole.server_load))
        assert len(busy[0]) == 1
        assert all(len(pair) == 2 and busy[0] < pair for pair in busy[1:])
        assert scheme != "nocache" or busy[0] == {first}
        assert set.union(*busy) == {0, 1, 2, 3}


def test_other_servers_count_in_proportion_to_the_busiest_ones_mean() -> None:
    turns = [
        Turn(1, 1, seconds=2, completed=200, of_first=200, served_first=150),
        Turn(1, 0, seconds=2, completed=150, of_first=100, served_first=50, served_other=40),
    ]
    whole = rotation.put_together(turns)
    # The busiest server completes 100 and 50 a second, so 75; the other 25 beside its 50.
    assert whole.throughput == pytest.approx(75 + 25 * 75 / 50)
    assert whole.server_load == pytest.approx([20 * 75 / 50, 50])
    turns[1].of_first = 0
    with pytest.raises(NetkvError, match=r"Server 1, .* in its turn with server 0"):
        rotation.put_together(turns)


def test_each_turn_begins_at_its_time() -> None:
    turns = Rotation(2, 3, 6, ClosedLoop(outstanding=4))
    assert turns.next_at() == 0
    assert [turns.take(at) for at in (0, 1, 2, 4, 5)] == [
        Turn(2, 2),
        None,
        Turn(2, 0),
        Turn(2, 1),
        None,
    ]
    assert turns.next_at() is None


async def test_latency_at_a_load_is_that_of_turns_with_its_share_of_the_load(store: Store) -> None:
    throttled = ["workload.rotation=true", "duration=8", "workload.arrivals.threads=64"]
    saturated = await run(store, "workload.rotation=true")
    low = await run(store, *throttled, "workload.arrivals.rate=10000")
    high = await run(store, *throttled, "workload.arrivals.rate=1000000")
    for scheme, at_low in low.items():
        at_high, full = high[scheme], saturated[scheme]
        assert at_low.throughput_ops == pytest.approx(10_000, rel=0.05)
        assert at_high.throughput_ops == pytest.approx(full.throughput_ops, rel=0.05)
        # A server takes 83 us for a write, five times as long as the testbed's.
        low_us, high_us = at_low.latency_us.mean, at_high.latency_us.mean
        assert low_us is not None
        assert high_us is not None
        assert 200 < low_us < 500
        # At most 64 requests wait, most of them at one server.
        assert 1000 < high_us < 64 * 100


def test_rates_of_turns_add_up_to_the_wanted_rate() -> None:
    turns = Rotation(0, 2, 8, Throttled(threads=16, rate=1000))
    assert [turns.next_at(), turns.commands(turns.saturated[0])] == [
        0,
        [{"do": "turn", "first": 0, "other": 0}, {"do": "outstanding", "value": 16}],
    ]
    for at, turn in enumerate(turns.saturated):
        assert turns.take(2 * at) is turn
        turn.seconds, turn.completed, turn.of_first = 2, 200 * (at + 1), 200
    first = turns.take(4)
    # Saturated, the rack does 100 + 100 operations/s: its half has the busiest server alone.
    assert first is turns.turns[0]
    assert [turn.rate for turn in turns.turns] == pytest.approx([500, 1000])
    assert turns.commands(first)[1] == {"do": "throttle", "threads": 16, "rate": 500}


def test_owner_of_the_hottest_key_is_the_busiest_server() -> None:
    hot = key_of_record(0)
    law = popularity.of(WorkloadSpec(keys=1000))
    assert rotation.busiest([hot], law, 16) == owner_index(hot, 16)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("duration=6", r"multiple of 4, not 6"),
        ("workload.arrivals={rate: 100}", r"'rotation' .* needs 'arrivals: \{outstanding"),
        ("workload.arrivals={threads: 8, rate: 100}", r"multiple of 8, not 4"),
        ("workload.shift={kind: hot-in}", r"cannot shift while servers take turns"),
        ("lab.servers=1", r"the 1 servers have 1 turns"),
    ],
)
def test_load_without_turns_is_refused(change: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        loader.loads(
            TEXT, "turns.yaml", ["workload.placement=seed", "workload.rotation=true", change]
        )


def test_multigets_have_no_turns() -> None:
    with pytest.raises(UsageError, match=r"'workload\.rotation' must be false"):
        checks.check(schemes.get("netmc"), LabSpec(), WorkloadSpec(rotation=True))
