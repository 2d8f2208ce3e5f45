"""Recovery of a killed switch in the result of a scenario, live and simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.runs import Store, StoreSink
from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario
from netkv.schemes import registry
from tests.lab.keeper import Keeper, keeper_scheme

TEXT = """\
name: recovers
schemes: [keeper]
lab: {servers: 2, service_rate: 500}
workload: {keys: 500, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0.5
duration: 4
events:
  - {at: 1, kill: switch}
  - {at: 2, start: switch}
expect:
  - keeper.recovery_time <= 1
  - keeper.recovery_time_restore <= keeper.recovery_time
  - keeper.acked_writes_lost == 0
  - keeper.control_plane_mib_per_s > 0
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Keeper]:
    found: list[Keeper] = []
    monkeypatch.setitem(registry.catalogue().schemes, "keeper", keeper_scheme(found))
    return found


async def result_of(*changes: str) -> RunResult:
    result = await run_scenario(loader.loads(TEXT, "recovers.yaml", changes))
    assert result.ok, result.thresholds
    assert result.summary[0].recovery_time is not None
    return result.runs[0]


@pytest.mark.live
@pytest.mark.parametrize("mode", ["live", "sim"])
async def test_recovery_is_in_the_result_with_its_phases(mode: str, made: list[Keeper]) -> None:
    # A process may start slowly on a busy machine.
    duration = 10 if mode == "live" else 4
    run = await result_of(f"mode={mode}", f"duration={duration}")
    (found,) = run.recoveries
    assert 2 < found.at < duration
    assert found.switch == "switch"
    assert [phase.name for phase in found.phases] == ["collect", "restore"]
    assert sum(phase.seconds for phase in found.phases) == pytest.approx(found.seconds)
    assert found.counts == {"records": 2}
    (event,) = [event for event in run.events if event.kind == "recovered"]
    assert event.time == found.at
    assert event.recovery is not None
    assert event.recovery.phases == found.phases
    assert run.control_plane_mib_per_s > 0
    assert run.control_plane_mib_per_s_by_switch == {
        "switch": pytest.approx(run.control_plane_mib_per_s)
    }
    rates = run.series["control_plane_mib_per_s"]
    assert [sum(each.values()) for each in run.series["control_plane_mib_per_s_by_switch"]] == (
        pytest.approx(rates)
    )
    assert made


CUT = "[{at: 1, kill: switch}, {at: 2, start: switch}, {at: 2.001, kill: SECOND}"
"""The recovery begins at 2 s and takes at least 5 ms."""


@pytest.mark.parametrize(
    ("second", "further", "outcome", "missed"),
    [
        ("switch", ", {at: 3, start: switch}]", "switch killed), recovered by the next", None),
        ("controller", "]", "controller killed), not recovered by the end", "not recovered by"),
    ],
)
async def test_an_interrupted_recovery_is_in_the_result(
    second: str, further: str, outcome: str, missed: str | None, made: list[Keeper]
) -> None:
    events = CUT.replace("SECOND", second) + further
    expect = "expect=['keeper.recovery_time <= 1']"
    scenario = loader.loads(TEXT, "f", ["mode=sim", f"events={events}", expect])
    result = await run_scenario(scenario)
    (run,) = result.runs
    (found,) = run.unfinished_recoveries
    assert found.text == f"switch: begun at 2.0 s, interrupted at 2.0 s ({outcome}"
    assert found.recovered == (missed is None)
    (verdict,) = result.thresholds
    assert verdict.ok == (missed is None)
    assert (missed or "") in verdict.detail
    assert result.summary[0].not_recovered == (missed is not None)
    assert made


async def test_events_of_the_bring_up_have_their_times(made: list[Keeper], tmp_path: Path) -> None:
    """The store has the same times, although they are known only when the bring-up ends."""
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        scenario = loader.loads(TEXT, "f", ["mode=sim", "expect=[]"])
        with StoreSink(store) as sink:
            (run,) = (await run_scenario(scenario, sink=sink)).runs
        stored = store.record(run.id)
    (ready,) = [event for event in run.events if event.kind == "ready"]
    assert ready.time == -0.5, "the warm-up begins when the rack is ready"
    assert [(event.time, event.text) for event in stored.events] == [
        (event.time, event.text) for event in run.events
    ]
    assert all(event.time < 4 + 10 for event in stored.events)
    assert made


async def test_simulated_controller_is_killed_between_two_actions(
    made: list[Keeper],
) -> None:
    events = "[{at: 1, kill: switch}, {at: 2, kill: controller, after_actions: 4}, "
    events += "{at: 2.5, start: switch}, {at: 3, start: controller}]"
    scenario = loader.loads(TEXT, "f", ["mode=sim", f"events={events}", "expect=[]"])
    (run,) = (await run_scenario(scenario)).runs
    killed = [event for event in run.events if event.kind == "killed"]
    assert [event.node for event in killed] == ["switch", "controller"]
    assert killed[1].time == pytest.approx(2.5, abs=0.01), "when the switch has restarted"
    assert len(made) == 2
    assert made[1].found == b"1", "the killed controller saved no further state"
    assert run.acked_writes_lost == 0
