"""A switch that dies in a scenario and recovers: what the result says of it, in both modes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario
from netkv.schemes import registry

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from keeper import Keeper, keeper_scheme  # found by the line above

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
    monkeypatch.setitem(registry._SCHEMES, "keeper", keeper_scheme(found))
    return found


async def result_of(*changes: str) -> RunResult:
    result = await run_scenario(loader.loads(TEXT, "recovers.yaml", changes))
    assert result.ok, result.thresholds
    assert result.summary[0].recovery_time is not None
    return result.runs[0]


@pytest.mark.parametrize("mode", ["live", "sim"])
async def test_recovery_is_in_the_result_with_its_phases(mode: str, made: list[Keeper]) -> None:
    # A process takes its time to start on a busy machine.
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


async def test_a_controller_may_die_between_two_actions_in_a_simulated_scenario(
    made: list[Keeper],
) -> None:
    events = "[{at: 1, kill: switch}, {at: 2, kill: controller, after_actions: 4}, "
    events += "{at: 2.5, start: switch}, {at: 3, start: controller}]"
    scenario = loader.loads(TEXT, "f", ["mode=sim", f"events={events}", "expect=[]"])
    (run,) = (await run_scenario(scenario)).runs
    killed = [event for event in run.events if event.kind == "killed"]
    assert [event.node for event in killed] == ["switch", "controller"]
    assert killed[1].time == pytest.approx(2.5, abs=0.01), "when the switch came back"
    assert len(made) == 2
    assert made[1].found == b"1", "the dead one did not come to save again"
    assert run.acked_writes_lost == 0
