"""Labs through the API: their topology, how they come up and end, their nodes."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx
import pytest
import redis

from netkv import __version__
from netkv.api import labs
from netkv.client import AsyncClient
from netkv.labs import daemon
from netkv.live import state
from netkv.processes import identity
from tests.api.live_lab import NODES, OPTIONS, Api, state_of
from tests.api.prometheus import metrics, of
from tests.gateway.serving_redis import gateway
from tests.waiting import PATIENCE_S, until, until_async

# ---------------------------------------------------------------------------------------- topology


def test_lab_is_listed_with_its_topology(api: Api, lab: str) -> None:
    assert [(each["name"], each["state"]) for each in api.get()] == [("one", "ready")]
    found = api.get(lab)
    assert found["answers"]
    assert (found["scheme"], found["topology"], found["kind"]) == ("netcache", "rack", "lab")
    nodes = {node["name"]: node for node in found["nodes"]}
    assert nodes.keys() == NODES
    assert {name for name in NODES if nodes[name]["running"]} == {
        name for name in NODES if not name.startswith("external-")
    }
    assert nodes["servers-0"]["servers"] == [0, 2]
    rows = [nodes[name]["row"] for name in ("client", "switch", "servers-0", "controller")]
    assert rows == sorted(set(rows))
    assert nodes["switch"]["arbitration"]["primary"]
    hosts = {link["b"]: link["a_port"] for link in found["links"] if link["kind"] == "host"}
    assert hosts == {
        "client": 1,
        "external-1": 2,
        "external-2": 3,
        "servers-0": 100,
        "servers-1": 101,
    }
    assert "ready" in [event["kind"] for event in found["events"]]


def test_state_of_a_lab_is_that_of_the_command_line(api: Api, lab: str) -> None:
    status = daemon.status("one")
    nodes = {node["name"]: node for node in api.get(lab)["nodes"]}
    for name, node in status.nodes.items():
        assert nodes[name]["pid"] == node["pid"]
    assert status.controller is not None
    assert nodes["controller"]["pid"] == status.controller["pid"]
    assert nodes["switch"]["arbitration"] == status.controller["switches"]["switch"]


# ---------------------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    ("body", "field", "text"),
    [
        ({"scheme": "netcach"}, "scheme", "Did you mean 'netcache'?"),
        ({"scenario": "nope"}, "scenario", "no scenario 'nope'"),
        ({"set": ["lab.servers=4", "lab.sarvers=2"]}, "set.1", "Did you mean 'servers'?"),
        ({"target": "bmv2", "fabric": "veth"}, "fabric", "needs 'target: engine'"),
        ({"topology": "ring"}, "topology", "'rack', 'racks' or 'spine-leaf'"),
        ({"name": "../x"}, "name", "pattern"),
        ({"scenario": "../x.yaml"}, "scenario", "pattern"),
        ({"colour": "red"}, "colour", "not permitted"),
    ],
)
def test_wrong_option_of_a_lab_names_its_field(
    api: Api, body: dict[str, Any], field: str, text: str
) -> None:
    problem = api.post("", {"name": "wrong", **body}, 422)
    assert text in problem["detail"]
    assert [each["field"] for each in problem["errors"]] == [field]
    assert "wrong" not in state.names()


@pytest.mark.usefixtures("lab")
def test_second_lab_of_a_name_is_a_conflict(api: Api) -> None:
    assert "is up already" in api.post("", {"name": "one"}, 409)["detail"]


@pytest.mark.usefixtures("lab")
def test_number_of_labs_is_limited(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "MAX_LABS", 1)
    problem = api.post("", {"name": "two", **OPTIONS}, 429)
    assert "1 labs are up (one)" in problem["detail"]
    assert state.names() == ["one"]


def test_lab_that_fails_to_come_up_is_listed_until_deleted(api: Api) -> None:
    body = {
        "name": "broken",
        "scheme": "nocache",
        "set": ["lab.backend=redis", "lab.redis.addresses=['127.0.0.1:1']", "lab.servers=1"],
    }
    made = api.post("", body, 202, wait=120)
    assert made["state"] == "broken"
    assert "127.0.0.1:1" in made["text"]
    until(lambda: not labs.find("broken").alive, "its supervisor has ended")
    assert api.get("/broken")["state"] == "broken"
    assert api.ask("DELETE", "/broken", 200) == {"name": "broken", "was_up": True}
    assert "There is no lab 'broken'" in api.ask("GET", "/broken", 404)["detail"]
    assert "There is no lab 'broken'" in api.ask("DELETE", "/broken", 404)["detail"]


# ------------------------------------------------------------------------------------------- nodes


@pytest.mark.usefixtures("load")
def test_switch_has_tables_counters_and_cached_keys(api: Api, lab: str) -> None:
    def cached() -> Any:
        found = api.get(f"{lab}/nodes/switch/cached", limit=1000)
        return found if found["total"] == 32 else None

    until(cached, "the cache is full")
    api.post(f"{lab}/load", {"running": False})
    (cache,) = [
        table["name"]
        for table in api.get(f"{lab}/nodes/switch")["tables"]
        if "cache" in table["name"]
    ]

    def agreed() -> Any:
        """Keys and entries, which differ while the controller replaces records."""
        keys = cached()["keys"]
        entries = api.get(f"{lab}/nodes/switch/tables/{cache}", limit=1000)["entries"]
        same = {entry["match"]["key"] for entry in entries} == {f"0x{key}" for key in keys}
        return (keys, entries) if same else None

    keys, entries = until(agreed, "the table has the keys that the controller knows")
    assert keys == sorted(keys)
    page = api.get(f"{lab}/nodes/switch/cached", offset=30, limit=10)
    assert page == {"keys": keys[30:], "total": 32}

    details = api.get(f"{lab}/nodes/switch")
    assert details["problem"] is None
    assert details["statistics"]["received"] > 0
    assert details["controllers"][0]["cached"] == 32
    part = api.get(f"{lab}/nodes/switch/tables/{cache}", offset=2, limit=3)
    assert part["more"]
    assert part["entries"] == entries[2:5]
    (counter,) = details["counters"]
    cells = api.get(f"{lab}/nodes/switch/counters/{counter['name']}")
    assert [cell["index"] for cell in cells] == list(range(counter["size"]))

    hottest = api.get(f"{lab}/hottest", limit=5)
    assert [key["rank"] for key in hottest] == [1, 2, 3, 4, 5]
    assert all(each["cached"] == (each["key"] in keys) for each in hottest)


@pytest.mark.usefixtures("load")
def test_packets_of_a_lab_go_into_a_trace(api: Api, lab: str) -> None:
    found: list[dict[str, Any]] = []

    def both_ways() -> bool:
        found[:] = api.get(f"{lab}/nodes/switch/packets", limit=32, seconds=3)
        ports = {each["port"] for each in found}
        return len(ports & set(client_ports(api, lab))) == 1 and len(ports) > 1

    until(both_ways, "requests and replies arrive")
    assert len(found) <= 32
    body = {"packets": found[:8]}
    url = f"{api.url}/api/v1/programs/netcache/trace"
    answer = httpx.post(url, json=body, timeout=PATIENCE_S)
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["packets"]) == len(body["packets"])


def test_packets_of_an_idle_lab_are_none_and_other_nodes_have_none(api: Api, lab: str) -> None:
    until(
        lambda: not api.get(f"{lab}/nodes/switch/packets", seconds=0.2), "no request is on its way"
    )
    api.ask("GET", f"{lab}/nodes/client/packets", 404)
    api.ask("GET", f"{lab}/nodes/switch/packets", 422, limit=1000)


def client_ports(api: Api, lab: str) -> list[int]:
    """The port of the switch to which the load generator is connected."""
    links = api.get(lab)["links"]
    return [
        link["b_port"] if link["a"] == "client" else link["a_port"]
        for link in links
        if "client" in (link["a"], link["b"])
    ]


def test_details_of_hosts_are_their_counters(api: Api, lab: str) -> None:
    servers = api.get(f"{lab}/nodes/servers-0")
    assert servers["statistics"]["servers"].keys() == {"0", "2"}
    controller = api.get(f"{lab}/nodes/controller")["controllers"]
    assert [each["switches"] for each in controller] == [["switch"]]
    assert not api.get(f"{lab}/nodes/external-1")["node"]["running"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/nodes/servers-9", "Did you mean 'servers-"),
        ("/nodes/servers-9/log", "Did you mean 'servers-"),
        ("/nodes/switch/tables/nothing", "The program has no table 'nothing'"),
        ("/nodes/client/tables/nothing", "is no switch"),
        ("/nodes/external-1/cached", "is no switch"),
        ("/nodes/external-1/log", "has no log"),
    ],
)
def test_unknown_part_of_a_lab_is_not_found(api: Api, lab: str, path: str, text: str) -> None:
    assert text in api.ask("GET", lab + path, 404)["detail"]


def test_log_is_read_in_pages(api: Api, lab: str) -> None:
    whole = api.get(f"{lab}/nodes/controller/log", lines=1000)
    assert whole["start"] == 0
    assert any("is up" in line["text"] for line in whole["lines"])
    assert all(line["time"] for line in whole["lines"])
    last = api.get(f"{lab}/nodes/controller/log", lines=1, before=whole["end"])
    rest = api.get(f"{lab}/nodes/controller/log", lines=1000, before=last["start"])
    assert rest["lines"] + last["lines"] == whole["lines"]


def test_tables_are_read_without_a_controller(api: Api, lab: str) -> None:
    """The switch keeps its entries when the controller ends, and its server still answers."""
    api.post(f"{lab}/nodes/controller/kill", {})
    details = api.get(f"{lab}/nodes/switch")
    assert details["node"]["arbitration"] is None
    assert details["controllers"] == []
    route = next(table["name"] for table in details["tables"] if "route" in table["name"])
    assert api.get(f"{lab}/nodes/switch/tables/{route}")["entries"]
    api.post(f"{lab}/nodes/controller/start", {})
    until(lambda: api.get(f"{lab}/nodes/switch")["node"]["arbitration"]["primary"], "it is back")


def test_node_is_stopped_and_started(api: Api, lab: str) -> None:
    assert not api.post(f"{lab}/nodes/servers-1/stop", {})["running"]
    assert "is not running" in api.post(f"{lab}/nodes/servers-1/kill", {}, 409)["detail"]
    assert api.get(f"{lab}/nodes/servers-1")["statistics"] == {}
    assert api.post(f"{lab}/nodes/servers-1/start", {})["running"]
    assert "running already" in api.post(f"{lab}/nodes/servers-1/start", {}, 409)["detail"]
    assert "There is no node" in api.post(f"{lab}/nodes/none/stop", {}, 404)["detail"]


async def test_traffic_of_a_client_library_is_seen(api: Api, lab: str) -> None:
    async def external(number: int) -> dict[str, Any]:
        found = await asyncio.to_thread(api.get, f"{lab}/nodes/external-{number}")
        node: dict[str, Any] = found["node"]
        return node

    async with await AsyncClient.connect("one", timeout=PATIENCE_S) as rack:

        async def seen() -> bool:
            await rack.put("key", "value")
            answer = await asyncio.to_thread(api.get, f"{lab}/samples", after=-1)
            programs = [each["programs"].get("external-1") for each in answer["samples"]]
            return any(each and each["from_per_s"] and each["to_per_s"] for each in programs)

        await until_async(seen, "a sample has the frames of the client")
        assert (await external(1))["pid"] == os.getpid()
        assert not (await external(2))["running"]
    assert not (await external(1))["running"]


def test_gateway_and_its_frames_are_seen(api: Api, lab: str) -> None:
    with gateway("--lab", "one") as running, redis.Redis(port=running.port) as client:

        def seen() -> Any:
            client.set("key", "value")
            rates = [each["programs"] for each in api.get(f"{lab}/samples", after=-1)["samples"]]
            # The nodes after the samples: the gateway may have begun to send between the two.
            nodes = {node["name"]: node for node in api.get(lab)["nodes"]}
            return nodes["external-1"] if rates and "external-1" in rates[0] else None

        node = until(seen, "the gateway has a place")
        assert node["program"] == "gateway"
        assert node["running"]
        sent = of(metrics(api)["netkv_lab_frames_total"], node="external-1", direction="sent")
        assert sent > 0
    until(lambda: not state_of(api, lab, "external-1"), "the place is free")


# ------------------------------------------------------------------------------------- the machine


def test_health_reports_labs(api: Api, lab: str) -> None:
    health = httpx.get(f"{api.url}/api/v1/health", timeout=PATIENCE_S).json()
    assert (health["status"], health["store"], health["job"]) == ("ok", True, None)
    assert health["version"] == __version__
    assert health["uptime"] > 0
    assert health["labs"] == len(api.get()), lab


def test_checks_of_the_machine_are_those_of_doctor(api: Api) -> None:
    found = httpx.get(f"{api.url}/api/v1/doctor", timeout=PATIENCE_S).json()
    names = [check["name"] for check in found["checks"]]
    assert names[:2] == ["python", "engine"]
    assert found["healthy"] == all(check["status"] != "fail" for check in found["checks"])


# ----------------------------------------------------------------------------------------- the end


def test_deleted_lab_leaves_no_process(api: Api) -> None:
    made = api.post("", {"name": "gone", **OPTIONS}, 202, wait=120)
    pids = [node["pid"] for node in made["nodes"] if node["pid"]]
    assert len(pids) == 5
    assert api.ask("DELETE", "/gone", 200)["was_up"]
    assert not any(map(identity, pids))
    assert "There is no lab" in api.ask("GET", "/gone", 404)["detail"]
