"""`netkv up` and `netkv down` with live labs, also after crashes of nodes and supervisors."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.labs import daemon
from netkv.live import state
from netkv.live.ports import free_ports
from netkv.model.hardware import RedisSpec
from netkv.model.spec import WorkloadSpec
from netkv.processes import identity
from netkv.schemes.spec import LabSpec, RackSpec
from tests.waiting import until

SPEC = RackSpec(
    scheme="netcache",
    lab=LabSpec(servers=4, server_processes=2, cache_entries=50),
    workload=WorkloadSpec(keys=1000),
)


def wait_for_state(name: str, wanted: str) -> daemon.LabStatus:
    def found() -> daemon.LabStatus | None:
        status = daemon.status(name)
        return status if status.state == wanted else None

    return until(found, f"the lab is {wanted}")


def test_second_up_is_no_error_and_reports_the_lab() -> None:
    first = daemon.up("lab", SPEC)
    try:
        assert not first.already
        assert first.state == "ready"
        assert set(first.nodes) == {"switch", "servers-0", "servers-1", "client"}
        again = daemon.up("lab", SPEC)
        assert again.already
        assert again.nodes == first.nodes
        with pytest.raises(UsageError, match="is up with other settings"):
            daemon.up("lab", SPEC.model_copy(update={"scheme": "nocache"}))
    finally:
        daemon.down("lab")


def test_waiting_for_a_lab_shows_how_full_its_caches_are() -> None:
    lab = SPEC.lab.model_copy(update={"cache_entries": 20_000, "preload": True})
    load = SPEC.workload.model_copy(update={"keys": 100_000})
    waited: list[tuple[str, float | None]] = []
    daemon.up(
        "full",
        SPEC.model_copy(update={"lab": lab, "workload": load}),
        on_wait=lambda what, fraction: waited.append((what, fraction)),
    )
    daemon.down("full")
    assert waited[0] == ("starting", None)
    filled = [fraction for what, fraction in waited if what == "filling the cache"]
    assert filled == sorted(filled, key=lambda each: each or 0)
    assert any(fraction and fraction < 1 for fraction in filled)


def test_down_leaves_no_process_socket_or_file(home: Path) -> None:
    status = daemon.up("lab", SPEC)
    assert daemon.down("lab")
    assert list((home / "labs").iterdir()) == []
    for node in status.nodes.values():
        assert identity(node["pid"]) is None
    assert not daemon.down("lab")
    with pytest.raises(UsageError, match="There is no lab 'lab'"):
        daemon.status("lab")


def test_two_labs_run_at_the_same_time() -> None:
    try:
        one = daemon.up("one", SPEC)
        two = daemon.up("two", SPEC.model_copy(update={"scheme": "nocache"}))
        assert {lab.name for lab in daemon.all_labs()} == {"one", "two"}
        assert not {n["pid"] for n in one.nodes.values()} & {n["pid"] for n in two.nodes.values()}
    finally:
        daemon.down("one")
        daemon.down("two")


@pytest.mark.parametrize("then", ["down", "up"])
def test_next_command_cleans_up_after_a_killed_supervisor(home: Path, then: str) -> None:
    status = daemon.up("lab", SPEC)
    lab = state.load("lab")
    assert lab is not None
    assert lab.supervisor is not None
    os.kill(lab.supervisor.pid, signal.SIGKILL)
    nodes = [node["pid"] for node in status.nodes.values()]
    until(lambda: not any(map(identity, nodes)), "the nodes end with their supervisor")
    assert daemon.status("lab").state == "dead"
    if then == "up":
        assert not daemon.up("lab", SPEC).already
    assert daemon.down("lab")
    assert list((home / "labs").iterdir()) == []


@pytest.mark.parametrize("node", ["switch", "servers-1", "client"])
def test_failed_node_is_reported_and_can_be_started(node: str) -> None:
    try:
        status = daemon.up("lab", SPEC)
        os.kill(status.nodes[node]["pid"], signal.SIGKILL)
        failed = wait_for_state("lab", "failed")
        assert f"'{node}' was killed by signal 9" in failed.text
        assert not failed.nodes[node]["running"]
        daemon.request("lab", {"do": "start", "node": node})
        again = wait_for_state("lab", "ready")
        assert again.nodes[node]["running"]
        assert again.nodes[node]["pid"] != status.nodes[node]["pid"]
    finally:
        daemon.down("lab")


def test_state_that_could_not_be_written_is_written_later(home: Path) -> None:
    """As on a full disk: the lab goes on, and its file follows when it can be written again."""
    draft = home / "labs" / "lab" / "lab.json.new"
    try:
        daemon.up("lab", SPEC)
        draft.mkdir()
        daemon.request("lab", {"do": "kill", "node": "servers-1"})
        daemon.request("lab", {"do": "start", "node": "servers-1"})
        assert not daemon.status("lab").nodes["servers-1"]["running"]
        draft.rmdir()
        until(lambda: daemon.status("lab").nodes["servers-1"]["running"], "its file is up to date")
    finally:
        daemon.down("lab")


def loaded_sample() -> dict[str, Any] | None:
    """A sample in which every server has served requests; None if there is none yet."""
    for sample in daemon.request("lab", {"do": "samples", "after": 0})["samples"]:
        if sample["throughput"] and all(sample["server_load"]):
            return dict(sample)
    return None


def test_load_can_be_sent_through_a_lab() -> None:
    try:
        daemon.up("lab", SPEC)
        daemon.request("lab", {"do": "client", "command": {"do": "phase", "name": "measure"}})
        sample = until(loaded_sample, "every server serves requests")
        assert len(sample["server_load"]) == 4
    finally:
        daemon.down("lab")


def test_wrong_requests_are_refused_with_a_reason() -> None:
    try:
        daemon.up("lab", SPEC)
        with pytest.raises(NetkvError, match="no node 'servers-9'"):
            daemon.request("lab", {"do": "kill", "node": "servers-9"})
        with pytest.raises(NetkvError, match="does not know the request"):
            daemon.request("lab", {"do": "dance"})
        with pytest.raises(NetkvError, match="running already"):
            daemon.request("lab", {"do": "start", "node": "switch"})
    finally:
        daemon.down("lab")


def test_failed_up_reports_the_reason_and_cleans_up(home: Path) -> None:
    (home / "labs").mkdir(parents=True)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    unreachable = LabSpec(servers=1, backend="redis", redis=RedisSpec(addresses=(address,)))
    with pytest.raises(NetkvError, match=f"did not come up: .*{address}"):
        daemon.up("lab", SPEC.model_copy(update={"lab": unreachable}))
    assert list((home / "labs").iterdir()) == []
    local = LabSpec(servers=1, backend="rocksdb")
    assert daemon.up("lab", SPEC.model_copy(update={"lab": local})).state == "ready"
    assert daemon.down("lab")


def test_lab_file_has_name_and_scheme(home: Path) -> None:
    daemon.up("lab", SPEC)
    document = json.loads((home / "labs/lab/lab.json").read_text())
    daemon.down("lab")
    assert document["name"] == "lab"
    assert document["spec"]["scheme"] == "netcache"


def test_processes_use_the_cores_that_the_lab_names() -> None:
    core = min(os.sched_getaffinity(0))
    lab = SPEC.lab.model_copy(update={"cores": {"switch": [core], "server": [core]}})
    status = daemon.up("lab", SPEC.model_copy(update={"lab": lab}))
    try:
        for node, process in status.nodes.items():
            if not process["pid"]:
                continue
            threads = os.listdir(f"/proc/{process['pid']}/task")
            used = {core for thread in threads for core in os.sched_getaffinity(int(thread))}
            pinned = node == "switch" or node.startswith("servers-")
            assert used == ({core} if pinned else os.sched_getaffinity(0)), node
    finally:
        daemon.down("lab")


def test_a_core_that_does_not_exist_is_refused() -> None:
    lab = SPEC.lab.model_copy(update={"cores": {"client": [4711]}})
    with pytest.raises(NetkvError, match=r"'client' are to use core 4711, which this machine"):
        daemon.up("lab", SPEC.model_copy(update={"lab": lab}))
