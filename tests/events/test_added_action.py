"""A file in the folder of actions is all that an event needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ACTION = '''
"""A node is started again at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from netkv.events.action import Action, ChangedRack, DrawnFault, Further, NodeName, less
from netkv.events.state import RackState
from netkv.model.nodes import Switch, check_names


class Reboot(Action):
    """A node is started again at once."""

    NAME = "reboot"
    NODE_AT = ("reboot",)
    TARGET = "node"
    BEGINNING = "switch"
    FURTHER: ClassVar[Mapping[str, Further]] = {
        "times": Further(Switch, "the reboot of a switch ('reboot: switch')")
    }
    DRAWN = (
        DrawnFault(
            "reboot",
            lambda choice: choice.of(Switch),
            lambda _rng, node, _storage: (Reboot(reboot=node, times=2), None),
        ),
    )

    reboot: NodeName
    """Kill a node, and start it again at once."""
    times: Annotated[int, Field(ge=1, le=10)] | None = None
    """How often a switch is killed."""

    @property
    def parts(self):
        return []

    def check(self, state: RackState, where: str) -> None:
        check_names([self.reboot], state.nodes, where, "reboot")

    async def carry_out(self, rack: ChangedRack) -> None:
        for _ in range(self.times or 1):
            await rack.node(self.reboot).kill()
            await rack.node(self.reboot).start()

    def simpler(self, end):
        for fewer in less(self.times or 1, 1):
            yield self.model_copy(update={"times": fewer}), end
'''

SCRIPT = '''
import asyncio
import json
import sys

from netkv.events import actions

actions.__path__.append(sys.argv[1])

from netkv.api.app import openapi
from netkv.api.models.labs import FaultRequest
from netkv.errors import OptionsError
from netkv.events.case import Fault
from netkv.events.event import TimelineEvent, action_of
from netkv.events.random_faults import random_schedule
from netkv.model.hardware import TopologySpec
from netkv.scenarios import loader, reference
from netkv.scenarios.runner import run_scenario
from netkv.schemes.spec import LabSpec
from netkv.soak.case_generator import generate
from netkv.soak.run import play
from netkv.soak.shrink import candidates

SCENARIO = """
name: rebooted
schemes: [netcache]
mode: sim
lab: {servers: 2, service_rate: 500, cache_entries: 20}
workload: {keys: 100, arrivals: {outstanding: 4}}
warmup: 0
duration: 3
events:
  - {at: 1, reboot: EVENT}
"""


def scenario(event):
    return loader.loads(SCENARIO.replace("EVENT", event), "rebooted.yaml")


def refused(event):
    try:
        scenario(event)
    except OptionsError as error:
        return str(error)


(run,) = asyncio.run(run_scenario(scenario("switch, times: 2"))).runs
request = FaultRequest.model_validate_json('{"reboot": "switch", "times": 3}')
injected = action_of(request.model_dump(mode="json", exclude_none=True))
event = TimelineEvent(at=0.1, reboot="leaf-1", times=4)
case = generate("distnocache", 1).model_copy(update={"faults": (Fault(begin=event),)})
case = case.with_lab({"topology": TopologySpec(kind="spine-leaf", layers=2, switches=2)})
simpler = [fault.begin for it in candidates(case) for fault in it.faults]
document = {
    "events": [[it.kind, it.node, it.text] for it in run.events if it.time >= 1],
    "verified": run.acked_writes_lost,
    "unknown node": refused("swich"),
    "misplaced": refused("servers-0, times: 2"),
    "injected": injected.describe(),
    "request": sorted(openapi()["components"]["schemas"]["FaultRequest"]["properties"]),
    "reference": [row for row in reference.markdown().splitlines() if "events.N.reboot" in row],
    "form": reference.schema()["$defs"]["TimelineEvent"]["properties"],
    "simpler": [event.describe() for event in simpler],
    "times": sorted({event.action.times for event in simpler}),
    "drawn": [
        it.describe() for it in random_schedule(1, 9, LabSpec(), ["reboot"], every=1, last=1)
    ],
    "soak": play(generate("netcache", 1, ["reboot"])).faults,
}
print(json.dumps(document))
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a process with a further file in the folder of actions says."""
    directory: Path = tmp_path_factory.mktemp("actions")
    (directory / "reboot.py").write_text(ACTION)
    command = [sys.executable, "-c", SCRIPT, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_scenario_with_it_runs_in_the_simulator(found: Any) -> None:
    kinds = [kind for kind, node, _ in found["events"] if node == "switch"]
    assert found["events"][0] == ["fault", "switch", "reboot switch"]
    assert (kinds.count("killed"), kinds.count("started")) == (2, 2)
    assert found["verified"] == 0


def test_wrong_events_with_it_are_refused(found: Any) -> None:
    assert "rebooted.yaml:10" in found["unknown node"]
    assert "Did you mean 'switch'?" in found["unknown node"]
    assert "'times' belongs to the reboot of a switch" in found["misplaced"]


def test_api_takes_it_as_a_fault(found: Any) -> None:
    assert found["injected"] == "reboot switch"
    assert {"reboot", "times", "kill"} <= set(found["request"])


def test_reference_and_form_describe_it(found: Any) -> None:
    (row,) = found["reference"]
    assert "Kill a node, and start it again at once." in row
    form = found["form"]
    assert form["reboot"]["beginning"] == "switch"
    assert form["times"]["of"] == {"action": "reboot", "node": "switch"}
    assert form["times"]["description"] == "How often a switch is killed."


def test_search_for_bugs_draws_and_shrinks_it(found: Any) -> None:
    assert found["times"] == [1, 2, 3, 4]
    assert {"reboot leaf-1", "reboot switch", "reboot leaf-0"} <= set(found["simpler"])
    assert set(found["drawn"]) == {"reboot switch"}
    assert found["soak"] > 0
