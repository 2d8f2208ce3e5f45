"""Labs through the API: one lab for most tests, which leave it as they have found it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import redis
import uvicorn
from prometheus_client.parser import text_string_to_metric_families

from netkv import __version__
from netkv.api import labs
from netkv.api.app import create_app
from netkv.api.labs_feed import Cursor, LabsFeed, cursors_of
from netkv.api.models.labs import LabUpdate
from netkv.api.server import HOST, bound
from netkv.client import AsyncClient
from netkv.lab import daemon, state
from netkv.runs import Store
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from tests.gateway.serving_redis import gateway
from tests.waiting import PATIENCE_S, until, until_async

OPTIONS = {
    "scheme": "netcache",
    "set": [
        "lab.servers=4",
        "lab.server_processes=2",
        "lab.cache_entries=32",
        "lab.service_rate=20000",
        "lab.external_clients=2",
        "workload.keys=1000",
    ],
}
NODES = {"switch", "servers-0", "servers-1", "client", "controller", "external-1", "external-2"}


@dataclass
class Api:
    """A server, for requests below `/api/v1/labs`."""

    url: str

    def get(self, path: str = "", **query: Any) -> Any:
        return self.ask("GET", path, 200, **query)

    def post(self, path: str, body: object, status: int = 200, **query: Any) -> Any:
        return self.ask("POST", path, status, body, **query)

    def ask(self, method: str, path: str, status: int, body: object = None, **query: Any) -> Any:
        answer = httpx.request(
            method,
            f"{self.url}/api/v1/labs{path}",
            params=query,
            json={} if body is None and method != "GET" else body,
            timeout=PATIENCE_S,
        )
        assert answer.status_code == status, answer.text
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
        return answer.json()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API over a state directory of its own; its labs are taken down at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("NETKV_STORE", raising=False)
        with Store() as store, bound(0) as listener:
            config = uvicorn.Config(create_app(store), log_level="warning")
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            until(lambda: server.started, "the server listens")
            try:
                yield Api(f"http://{HOST}:{listener.getsockname()[1]}")
            finally:
                for name in state.names():
                    daemon.down(name)
                server.should_exit = True
                thread.join()


@pytest.fixture(scope="module")
def lab(api: Api) -> str:
    """A lab that is up; its name in paths."""
    made = api.post("", {"name": "one", **OPTIONS}, 202, wait=120)
    assert made["state"] == "ready", made["text"]
    return "/one"


@pytest.fixture
def load(api: Api, lab: str) -> Iterator[None]:
    """The load generator of the lab runs."""
    api.post(f"{lab}/load", {"running": True, "outstanding": 16})
    yield
    api.post(f"{lab}/load", {"running": False})


def state_of(api: Api, lab: str, node: str) -> bool:
    return bool(api.get(f"{lab}/nodes/{node}")["node"]["running"])


def sampled(api: Api, lab: str) -> list[dict[str, Any]]:
    """The samples that the lab has, at least two with load."""

    def loaded() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = api.get(f"{lab}/samples")["samples"]
        return found if sum(each["throughput"] > 0 for each in found) > 1 else []

    return until(loaded, "the lab has samples")


# ---------------------------------------------------------------------------- topology


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


# --------------------------------------------------------------------------- creation


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


# ---------------------------------------------------------------------------- samples


@pytest.mark.usefixtures("load")
def test_sample_has_the_rates_of_the_whole_lab(api: Api, lab: str) -> None:
    sample = sampled(api, lab)[-1]
    assert len(sample["server_load"]) == 4
    assert all(sample["server_load"])
    assert 0 < sample["hit_ratio"] < 1
    assert sample["latency_us"]["p50"] <= sample["latency_us"]["p99"]
    assert sample["switches"]["switch"]["received_bytes_per_s"] > sample["throughput"]
    links = sample["links"]
    assert links.keys() == {"client", "external-1", "external-2", "servers-0", "servers-1"}
    # Each operation is a frame to the client.
    assert links["client"]["to_per_s"] == pytest.approx(sample["throughput"], rel=0.2)
    for direction, name in (("to", "sent"), ("from", "received")):
        whole = sum(each[f"{direction}_bytes_per_s"] for each in links.values())
        assert whole == pytest.approx(sample["switches"]["switch"][f"{name}_bytes_per_s"])
    assert all(sample["running"].values())


@pytest.mark.usefixtures("load")
def test_readers_of_samples_do_not_disturb_each_other(api: Api, lab: str) -> None:
    """One reader asks all the time, another one once: both get the same samples, all of them."""
    first = sampled(api, lab)[-1]["number"]
    eager: list[dict[str, Any]] = []

    def read() -> bool:
        after = eager[-1]["number"] if eager else first
        eager.extend(api.get(f"{lab}/samples", after=after)["samples"])
        return len(eager) >= 6

    until(read, "six samples have come")
    assert [each["number"] for each in eager] == list(range(first + 1, first + 1 + len(eager)))
    assert all(each["throughput"] for each in eager)
    assert api.get(f"{lab}/samples", after=first)["samples"][: len(eager)] == eager


# ------------------------------------------------------------------------------ nodes


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
            nodes = {node["name"]: node for node in api.get(lab)["nodes"]}
            rates = [each["programs"] for each in api.get(f"{lab}/samples", after=-1)["samples"]]
            return nodes["external-1"] if rates and "external-1" in rates[0] else None

        node = until(seen, "the gateway has a place")
        assert node["program"] == "gateway"
        assert node["running"]
        sent = of(metrics(api)["netkv_lab_frames_total"], node="external-1", direction="sent")
        assert sent > 0
    until(lambda: not state_of(api, lab, "external-1"), "the place is free")


# ----------------------------------------------------------------------------- faults


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
        },
        {
            "cause": "duration",
            "action": "start",
            "what": "start switch",
            "begins": None,
            "ends": [fault["id"]],
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


# ---------------------------------------------------------------- metrics and updates


def metrics(api: Api) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples of `/metrics` by their names."""
    answer = httpx.get(f"{api.url}/metrics", timeout=PATIENCE_S)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation
        assert family.type in ("gauge", "counter")
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def of(found: list[tuple[dict[str, str], float]], **labels: str) -> float:
    """The value with these labels; there is one."""
    (value,) = [value for its, value in found if labels.items() <= its.items()]
    return value


@pytest.mark.usefixtures("lab", "load")
def test_metrics_have_counters_and_gauges_of_a_lab(api: Api) -> None:
    def loaded() -> Any:
        found = metrics(api)
        reads = found.get("netkv_lab_operations_total", [])
        # Without reads in the newest sample there is no ratio.
        complete = "netkv_lab_hit_ratio" in found and reads
        return found if complete and of(reads, operation="read") else None

    first = until(loaded, "the metrics have the load")
    assert of(first["netkv_lab_state"], lab="one", state="ready") == 1
    assert of(first["netkv_lab_state"], lab="one", state="broken") == 0
    for node in NODES - {"external-1", "external-2"}:
        assert of(first["netkv_lab_node_up"], node=node, scheme="netcache") == 1
    assert 0 < of(first["netkv_lab_hit_ratio"], lab="one") < 1
    port = {"node": "switch", "port": "100", "direction": "sent"}
    assert of(first["netkv_lab_port_bytes_total"], **port) > of(
        first["netkv_lab_port_frames_total"], **port
    )
    quantiles = {labels["quantile"] for labels, _ in first["netkv_lab_latency_seconds"]}
    assert quantiles == {"0.5", "0.95", "0.99", "0.999"}

    def more() -> Any:
        found = metrics(api)
        before = of(first["netkv_lab_operations_total"], operation="read")
        return found if of(found["netkv_lab_operations_total"], operation="read") > before else None

    second = until(more, "the counters rise")
    for name in first:
        if name.endswith("_total"):
            before = {tuple(labels.items()): value for labels, value in first[name]}
            for labels, value in second[name]:
                assert value >= before.get(tuple(labels.items()), 0), (name, labels)
    assert len(second["netkv_lab_server_operations_total"]) == 4
    received = second["netkv_lab_bytes_total"]
    assert of(received, node="switch", direction="received") > 0


def test_metrics_have_runs_and_jobs(api: Api) -> None:
    found = metrics(api)
    assert {labels["status"] for labels, _ in found["netkv_runs"]} >= {"done", "failed", "running"}
    assert of(found["netkv_jobs"], state="queued") == 0


@pytest.mark.usefixtures("load")
async def test_updates_have_new_samples_only_and_wait_for_no_dead_lab(lab: str) -> None:
    """A supervisor that does not answer keeps its state on disk; the others come at once."""
    feed = LabsFeed()
    name = lab.removeprefix("/")
    mute = state.load(name)
    assert mute is not None
    with socket.socket(socket.AF_UNIX) as listener:
        mute.name = "mute"
        mute.save()
        listener.bind(str(mute.directory / "control"))
        listener.listen()
        try:
            cursors: dict[str, Cursor] = {}
            numbers: list[int] = []
            updates: dict[str, LabUpdate] = {}

            async def four() -> bool:
                nonlocal cursors, updates
                updates = {each.name: each for each in await feed.updates(cursors)}
                cursors = cursors_of(list(updates.values()), cursors)
                numbers.extend(each.number for each in updates[name].samples)
                assert not updates["mute"].answers
                assert updates["mute"].state == "ready"
                return len(numbers) >= 4

            await until_async(four, "four samples have come")
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert updates[name].running["switch"]
        finally:
            feed.close()
            shutil.rmtree(mute.directory)


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


# ------------------------------------------------------------------------------- runs


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


# ---------------------------------------------------------------------------- the end


def test_deleted_lab_leaves_no_process(api: Api) -> None:
    made = api.post("", {"name": "gone", **OPTIONS}, 202, wait=120)
    pids = [node["pid"] for node in made["nodes"] if node["pid"]]
    assert len(pids) == 5
    assert api.ask("DELETE", "/gone", 200)["was_up"]
    assert not any(map(state.identity, pids))
    assert "There is no lab" in api.ask("GET", "/gone", 404)["detail"]
