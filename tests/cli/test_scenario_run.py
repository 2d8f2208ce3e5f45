"""`netkv scenario run` with live racks: its output, its stored runs and its processes."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from netkv.runs import Store
from netkv.scenarios.results import CANCELLED
from tests.cli.commands import Netkv, start_netkv
from tests.waiting import PATIENCE_S, until


def test_run_prints_the_documented_json_and_is_stored(netkv: Netkv, short_scenario: Path) -> None:
    result = netkv("scenario", "run", str(short_scenario), "--json", "--seed", "7")
    assert result.status == 0, result.err
    document = result.document
    assert (document["scenario"], document["mode"], document["seed"]) == ("short", "live", 7)
    nocache, netcache = document["runs"]
    for run in (nocache, netcache):
        assert run["throughput_ops"] > 0
        assert {"mean", "p50", "p95", "p99", "p999"} <= set(run["latency_us"])
        assert len(run["server_load"]) == 2
        assert run["acked_writes_lost"] == run["stale_reads"] == 0
    assert document["thresholds"] == [
        {
            "expr": "netcache.acked_writes_lost == 0",
            "ok": True,
            "value": 0.0,
            "detail": document["thresholds"][0]["detail"],
        }
    ]
    assert "measuring" in result.err, "progress goes to stderr"
    with Store() as store:
        stored = store.record(netcache["id"])
        assert stored.throughput_ops == netcache["throughput_ops"]
        assert stored.provenance.program == "netcache.p4"
        assert len(stored.series["time"]) >= 2
        assert len({head.group for head in store.heads()}) == 1


def test_missed_threshold_prints_comparison_and_exits_1(netkv: Netkv, short_scenario: Path) -> None:
    text = short_scenario.read_text().replace(
        "netcache.acked_writes_lost == 0", "netcache.throughput_ops > 1000000000"
    )
    short_scenario.write_text(text)
    result = netkv("scenario", "run", str(short_scenario), "--scheme", "netcache")
    assert result.status == 1, result.err
    assert "MISSED" in result.out
    assert "netcache" in result.out
    assert "nocache" not in result.out
    assert "netkv serve" in result.err


def run_with_samples(count: int) -> str | None:
    """The id of a run in progress that has at least `count` samples."""
    with Store() as store:
        runs = [head.id for head in store.running()]
        return next((run for run in runs if len(store.samples(run)[0]) >= count), None)


def nodes_of(pid: int) -> list[int]:
    """The nodes that the process started, found by the NETKV_HOME that they inherited."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        home = f"NETKV_HOME={os.environ['NETKV_HOME']}".encode()
        if b"netkv.live.node" in command and home in environment and int(entry.name) != pid:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("number", "status", "stored", "reason"),
    [
        (signal.SIGINT, 130, "cancelled", CANCELLED),
        (signal.SIGTERM, 130, "cancelled", CANCELLED),
        (signal.SIGKILL, -9, "failed", "ended before the run was finished"),
    ],
)
@pytest.mark.usefixtures("home")
def test_interrupted_run_is_stored_and_leaves_no_processes(
    short_scenario: Path, number: signal.Signals, status: int, stored: str, reason: str
) -> None:
    with start_netkv(
        "scenario", "run", str(short_scenario), "--set", "duration=60", "--json"
    ) as run:
        run_id = until(partial(run_with_samples, 3), "a run has three samples", every_s=0.2)
        nodes = nodes_of(run.pid)
        assert nodes
        run.send_signal(number)
        out, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == status, err
    assert out == ""
    assert "Traceback" not in err
    with Store() as store:
        head = store.head(run_id)
    if status == 130:
        assert "Interrupted.\n" in err
        assert f"Run {run_id} was cancelled; it is stored with its samples so far.\n" in err
        assert "1 of 2 runs did not begin.\n" in err
        assert f"Stored as {head.group}: 'netkv runs compare {head.group}'" in err
    assert head.status == stored
    assert reason in (head.reason or "")
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in nodes), "no node is left")
