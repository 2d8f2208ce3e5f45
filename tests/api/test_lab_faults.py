"""Faults of labs through the API: they begin, end and are refused, in labs and in racks of runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netkv.live import state
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from tests.api.live_lab import Api, sampled, state_of
from tests.api.prometheus import metrics, of
from tests.waiting import until, until_async


def of_fault(api: Api, lab: str, number: int) -> list[dict[str, Any]]:
    """The changes with which a fault begins and ends."""
    changes = [event["change"] for event in api.get(lab)["events"] if event["change"]]
    return [each for each in changes if number in (each["begins"], *each["ends"])]


def test_fault_ends_when_its_node_is_started(api: Api, lab: str) -> None:
    (fault,) = api.post(f"{lab}/faults", {"stop": "servers-1"})
    api.post(f"{lab}/nodes/servers-1/start", {})
    assert api.get(lab)["faults"] == []
    begun, ended = of_fault(api, lab, fault["id"])
    assert (begun["action"], ended["action"]) == ("stop", "start")


@pytest.mark.usefixtures("load")
def test_killed_switch_heals_by_itself(api: Api, lab: str) -> None:
    faults = api.post(f"{lab}/faults", {"kill": "switch", "duration": 1})
    (fault,) = [each for each in faults if each["node"] == "switch"]
    assert fault["text"] == "kill switch"
    assert fault["end"] == pytest.approx(fault["begin"] + 1)
    assert fault["heal"] == [{"start": "switch"}]
    until(lambda: state_of(api, lab, "switch"), "the switch was started again")
    until(lambda: not api.get(lab)["faults"], "no fault is in force")
    assert until(lambda: of_fault(api, lab, fault["id"])[1:], "its end is an event")
    assert of_fault(api, lab, fault["id"]) == [
        {
            "cause": "user",
            "action": "kill",
            "what": "kill switch",
            "begins": fault["id"],
            "ends": [],
            "target": "node",
        },
        {
            "cause": "duration",
            "action": "start",
            "what": "start switch",
            "begins": None,
            "ends": [fault["id"]],
            "target": "node",
        },
    ]
    until(lambda: api.get(lab)["nodes"][3]["running"], "the lab works")

    def answered() -> bool:
        newest = api.get(f"{lab}/samples", after=-1)["samples"]
        return any(each["hits_per_s"] for each in newest)

    until(answered, "the switch answers again")


@pytest.mark.usefixtures("load")
def test_lossy_link_loses_frames_until_it_heals(api: Api, lab: str) -> None:
    def lost() -> int:
        return int(api.get(f"{lab}/nodes/switch")["statistics"]["links_lost"])

    assert lost() == 0
    link = {"node": "client", "loss": 0.5, "direction": "to"}
    api.post(f"{lab}/faults", {"link": link, "duration": 600})
    until(lost, "frames are lost")
    (fault,) = api.get(lab)["faults"]
    assert (fault["action"], fault["node"]) == ("link", "client")
    assert fault["text"] == "link to client: loss 0.5"
    # A later fault in the other direction does not heal the first one.
    api.post(f"{lab}/faults", {"link": {"node": "client", "loss": 0.1, "direction": "from"}})
    assert len(api.get(lab)["faults"]) == 2
    assert api.post(f"{lab}/faults", {"link": {"node": "client"}}) == []
    final = lost()
    sampled_before = sampled(api, lab)[-1]["number"]
    until(
        lambda: api.get(f"{lab}/samples", after=sampled_before)["samples"], "a further sample comes"
    )
    assert lost() == final


@pytest.mark.usefixtures("load")
def test_corrupted_frames_are_counted_in_the_metrics(api: Api, lab: str) -> None:
    def corrupted() -> float:
        found = metrics(api).get("netkv_lab_corrupted_frames_total", [(labels, 0.0)])
        return of(found, **labels)

    labels = {"lab": lab.rpartition("/")[2], "node": "switch"}
    until(lambda: "netkv_lab_corrupted_frames_total" in metrics(api), "the lab has counts")
    before = corrupted()
    api.post(f"{lab}/faults", {"link": {"node": "client", "corrupt": 0.5}})
    until(lambda: corrupted() > before, "frames are corrupted")
    assert api.post(f"{lab}/faults", {"link": {"node": "client"}}) == []


def test_slow_fault_of_servers_ends_after_its_duration(api: Api, lab: str) -> None:
    faults = api.post(f"{lab}/faults", {"slow": {"node": "servers-0", "factor": 3}, "duration": 1})
    assert faults[0]["text"] == "slow servers-0: factor 3"
    until(lambda: not api.get(lab)["faults"], "no fault is in force")


@pytest.mark.parametrize(
    ("fault", "status", "field", "text"),
    [
        ({"kill": "switch-7"}, 404, None, "There is no node 'switch-7'"),
        ({"link": {"node": "nowhere", "loss": 1}}, 404, None, "There is no node 'nowhere'"),
        ({"link": {"node": "switch", "loss": 1}}, 422, "link.node", "named by the node"),
        ({"start": "switch"}, 422, "start", "is running already"),
        ({"heal": "controller"}, 422, "heal", "is not cut"),
        ({"crash": "client"}, 422, "crash", "keep no records"),
        ({"shift": {"kind": "hot-in"}, "duration": 1}, 422, "duration", "no fault that can be"),
        ({"kill": "switch", "stop": "switch"}, 422, "stop", "exactly one of"),
        ({"link": {"node": "client", "loss": 2}}, 422, "link.loss", "less than or equal to 1"),
        ({}, 422, "", "exactly one of"),
    ],
)
def test_impossible_fault_is_refused_with_the_reason(
    api: Api, lab: str, fault: dict[str, Any], status: int, field: str | None, text: str
) -> None:
    problem = api.post(f"{lab}/faults", fault, status)
    assert text in problem["detail"]
    if field is not None and status == 422 and fault.keys() != {"kill", "stop"}:
        assert problem["errors"][0]["field"] == field
    assert api.get(lab)["faults"] == []


RUN = """\
name: small
schemes: [netcache]
lab: {servers: 4, service_rate: 5000, cache_entries: 50}
workload: {keys: 1000, arrivals: {outstanding: 8}}
warmup: 0
duration: 6
"""


async def test_fault_is_injected_into_a_live_run(api: Api) -> None:
    """The rack of a run is a lab, whose samples are those of the run; a fault becomes an event."""
    running = asyncio.create_task(run_scenario(loader.loads(RUN, "small.yaml")))

    def sampled() -> Any:
        for each in api.get():
            if each["kind"] == "run" and each["state"] == "ready":
                samples = api.get(f"/{each['name']}/samples", after=-1)["samples"]
                return each["name"] if samples and samples[0]["phase"] == "measure" else None
        return None

    name = await until_async(lambda: asyncio.to_thread(sampled), "the run is measured")
    path = f"/{name}"
    run = (await asyncio.to_thread(api.get, path))["run"]
    fault = {"kill": "switch", "duration": 0.5}
    assert await asyncio.to_thread(api.post, f"{path}/faults", fault)
    text = await asyncio.to_thread(api.ask, "DELETE", path, 409)
    assert "belongs to a run" in text["detail"]
    text = await asyncio.to_thread(api.post, f"{path}/load", {"running": False}, 409)
    assert "belongs to a run" in text["detail"]
    (result,) = (await running).runs
    assert (result.status, result.id) == ("done", run)
    begun, healed = (event.change for event in result.events if event.change is not None)
    assert (begun.action, begun.ends) == ("kill", ())
    assert (healed.action, healed.ends) == ("start", (begun.begins,))
    assert name not in state.names()
