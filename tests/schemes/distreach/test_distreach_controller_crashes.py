"""The controller of DistReach fails after any of its actions, and its successor continues.

Switches keep what they have, so a successor finds them in any state between two actions. After
each such failure all acknowledged writes must be readable, and nothing may be stuck.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from netkv.control.base import MILLISECOND, SECOND, Preload, Recovered
from netkv.model.messages import Op
from tests.schemes.distreach import control_mutants, program_mutants
from tests.schemes.distreach.distreach_rack import Rack, System
from tests.schemes.distreach.distreach_traps import KEY, KEYS, evict, ready_rack
from tests.schemes.farreach.farreach_load import Load
from tests.schemes.virtual_rack import Network

pytestmark = pytest.mark.slow

CACHED = tuple(KEYS[:3])
NEW = KEYS[5]
"""A key that is not cached."""

Scenario = Callable[[Rack], None]
"""Begins something that the controller has to carry out, and runs for some time. The controller
may be killed meanwhile."""


def prepared(layers: int, system: type[System] = System) -> Rack:
    """A rack with dirty records of cached keys: a value, and a deletion."""
    rack = ready_rack(system, layers=layers, preload=CACHED)
    for key in CACHED:
        rack.put(1, key, b"dirty " + key[:2])
    rack.delete(2, CACHED[1])
    rack.put(1, NEW, b"at the server")
    return rack


def write_and_run(rack: Rack) -> None:
    """Clients write all keys while the controller works."""
    for number in range(4):
        for client, key in ((1, KEY), (2, CACHED[2]), (1, NEW)):
            value = b"%d of client %d" % (number, client)
            rack.processes[client].begin(Op.PUT, key, value, timeout=SECOND)
        rack.run(2 * MILLISECOND)
    rack.run(20 * MILLISECOND)


def admission(rack: Rack) -> None:
    rack.handle(Preload((NEW,)))
    write_and_run(rack)


def eviction(rack: Rack) -> None:
    evict(rack, duration=0)
    write_and_run(rack)


def loss_of_the_head(rack: Rack) -> None:
    rack.crash_switch(rack.chain(KEY)[0])
    write_and_run(rack)


def loss_of_the_tail(rack: Rack) -> None:
    rack.crash_switch(rack.chain(KEY)[-1])
    write_and_run(rack)


def loss_of_all_but_the_head(rack: Rack) -> None:
    rack.crash_switch(*rack.chain(KEY)[1:])
    write_and_run(rack)


def loss_of_all_but_the_tail(rack: Rack) -> None:
    rack.crash_switch(*rack.chain(KEY)[:-1])
    write_and_run(rack)


def loss_of_a_second_switch_in_a_recovery(rack: Rack) -> None:
    rack.crash_switch(rack.chain(KEY)[-1])
    rack.run(2 * MILLISECOND)
    rack.crash_switch(rack.chain(KEY)[0])
    write_and_run(rack)


def switch_is_down_for_some_time(rack: Rack) -> None:
    middle = rack.chain(KEY)[-2]
    rack.stop_switch(middle)
    rack.run(10 * MILLISECOND)
    rack.start_switch(middle)
    write_and_run(rack)


SCENARIOS: list[tuple[Scenario, int]] = [
    (admission, 2),
    (admission, 3),
    (eviction, 2),
    (eviction, 3),
    (loss_of_the_head, 2),
    (loss_of_the_tail, 2),
    (loss_of_all_but_the_head, 3),
    (loss_of_all_but_the_tail, 3),
    (loss_of_a_second_switch_in_a_recovery, 3),
    (switch_is_down_for_some_time, 2),
]


def steps_of(scenario: Scenario, layers: int) -> int:
    """Number of events and actions of the controller in the scenario."""
    rack = prepared(layers)
    before = rack.steps
    scenario(rack)
    return rack.steps - before


def assert_consistent(rack: Rack, context: str) -> None:
    """Nothing is stuck, acknowledged writes are read, and whole chains serve the cached keys."""
    rack.recover()
    rack.run(2 * SECOND)
    assert rack.control.ready(), context
    assert rack.violations() == [], context
    numbers = rack.control.statistics()
    entries = len(rack.control._all) * rack.configuration.options.cache_entries
    assert numbers["in_flight"] == numbers["waiting"] == 0, context
    assert numbers["cached"] + numbers["free_entries"] == entries, context
    for key in rack.control.cached_keys():
        chain = rack.chain(key)
        for upper, lower in pairwise(chain):
            assert upper.lookup()[key] == lower.lookup()[key], context
        rack.put(1, key, b"last")
        assert rack.put(1, key, b"the last").cache_hit, context
        for switch in chain:
            record = switch.record(key)
            assert record is not None, context
            assert record.value == b"the last", context
    for switch in rack.switches.values():
        for key in switch.lookup() if switch.name.startswith(("spine", "leaf")) else ():
            assert key in rack.control.cached_keys(), f"{context}: {switch.name} has a key too many"


def crash_after(step: int, scenario: Scenario, layers: int, system: type[System] = System) -> None:
    """Kill the controller after a number of steps, and its successor after some of its own."""
    rack = prepared(layers, system)
    rack.steps_left = step
    scenario(rack)
    if not rack.controller_down:
        rack.kill_controller()
    if step % 2:
        # Messages under way arrive; otherwise only table writes do.
        rack.run(5 * MILLISECOND)
    rack.replace_controller()
    rack.steps_left = step * 7 % 90
    rack.run(20 * MILLISECOND)
    rack.replace_controller()
    assert_consistent(rack, f"after {step} steps")


@pytest.mark.parametrize(
    ("scenario", "layers"), SCENARIOS, ids=[f"{it.__name__}-{n}" for it, n in SCENARIOS]
)
def test_controller_crash_after_any_action_loses_nothing(scenario: Scenario, layers: int) -> None:
    """Table writes under way are carried out, messages may be lost."""
    steps = steps_of(scenario, layers)
    assert steps > 10
    for step in range(steps):
        crash_after(step, scenario, layers)


@pytest.mark.parametrize(
    "mutant",
    [
        control_mutants.MarksNothing,
        control_mutants.SkipsRestore,
        control_mutants.ChangesEntriesEarly,
    ],
)
def test_some_crash_finds_a_defect(mutant: type[System]) -> None:
    """Otherwise the test above would prove nothing."""

    def all_crashes() -> None:
        for step in range(steps_of(loss_of_the_tail, 2)):
            crash_after(step, loss_of_the_tail, 2, mutant)

    with pytest.raises(AssertionError, match="after"):
        all_crashes()


IMPAIRED = Network(loss=0.04, duplication=0.1, max_delay=2 * MILLISECOND)


def run_with_faults(seed: int, system: type[System] = System) -> Rack:
    """Random operations on impaired networks; switches and the controller fail at random times."""
    rack = ready_rack(
        system, layers=1 + seed % 3, width=1 + seed // 3 % 2, seed=seed, hot_threshold=3
    )
    rack.net = rack.channel = IMPAIRED
    load = Load(rack, KEYS[:12])
    for _ in range(40):
        rack.run(rack.random.randrange(100 * MILLISECOND))
        chain = rack.chain(rack.random.choice(KEYS))
        victim = rack.random.choice(chain)
        kept = {it.name for it in chain if it.up and not it.blank}
        if rack.random.random() < 0.4:
            rack.steps_left = rack.random.randrange(60)
            rack.run(10 * MILLISECOND)
            rack.replace_controller()
        elif rack.control.tolerates(victim.name, kept):
            rack.crash_switch(victim)
    load.running = False
    rack.net = rack.channel = Network(max_delay=MILLISECOND)
    rack.run(2 * SECOND)
    assert load.done > 100, "the load did not run"
    assert_consistent(rack, f"seed {seed}")
    return rack


@pytest.mark.parametrize("seed", range(12))
def test_random_faults_lose_nothing(seed: int) -> None:
    """Losses, copies and reordering of frames, crashes of switches and of the controller."""
    rack = run_with_faults(seed)
    assert any(isinstance(event, Recovered) for event in rack.events)


@pytest.mark.parametrize(
    "mutant", [program_mutants.UpperStoresNothing, control_mutants.KeepsIncarnation]
)
def test_some_random_run_finds_a_defect(mutant: type[System]) -> None:
    """Otherwise the test above would prove nothing."""

    def all_seeds() -> None:
        for seed in range(12):
            run_with_faults(seed, mutant)

    with pytest.raises(AssertionError):
        all_seeds()
