"""Scenarios and labs with Redis as the back end, through the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import Netkv

REDIS = ["--set", "lab.backend=redis", "--set", "lab.redis.fsync=never"]
SHARD_CRASH = """\
name: shard-crash
title: A shard is killed
schemes: [nocache, netcache]
lab: {servers: 3, cache_entries: 20, backend: redis}
workload: {keys: 500, writes: 0.5, arrivals: {outstanding: 8}}
deadline: 1
warmup: 0.3
duration: 4
events:
  - {at: 1, kill: redis-1}
  - {at: 2, start: redis-1}
expect:
  - each.acked_writes_lost == 0
  - each.linearizable == 1
  - each.stale_reads == 0
"""


def test_quickstart_on_redis(netkv: Netkv) -> None:
    changes = ["workload.keys=2000", "lab.cache_entries=200", "warmup=0.3", "duration=1"]
    sets = [word for change in changes for word in ("--set", change)]
    result = netkv("scenario", "run", "quickstart", "--json", *REDIS, *sets)
    document = result.document
    for run in document["runs"]:
        assert run["throughput_ops"] > 0
        assert all(load > 0 for load in run["server_load"])
        assert (run["acked_writes_lost"], run["stale_reads"], run["linearizable"]) == (0, 0, 1)


def test_switch_crash_over_redis_loses_no_write(netkv: Netkv) -> None:
    changes = ["workload.keys=2000", "lab.cache_entries=100", "warmup=1", "duration=8"]
    changes += [f"events.{number}.at={at}" for number, at in enumerate((3, 3.5, 5, 5.5))]
    sets = [word for change in changes for word in ("--set", change)]
    result = netkv(
        "scenario", "run", "switch-crash", "--scheme", "farreach", "--json", *REDIS, *sets
    )
    assert result.status == 0, result.err
    (run,) = result.document["runs"]
    assert (run["acked_writes_lost"], run["linearizable"]) == (0, 1)


def test_shard_is_killed_and_started_in_a_scenario(netkv: Netkv, tmp_path: Path) -> None:
    file = tmp_path / "shard-crash.yaml"
    file.write_text(SHARD_CRASH)
    result = netkv("scenario", "run", str(file), "--json")
    assert result.status == 0, result.err
    for run in result.document["runs"]:
        assert (run["acked_writes_lost"], run["linearizable"]) == (0, 1)
    file.write_text(SHARD_CRASH.replace("redis-1", "redis-3"))
    result = netkv("scenario", "run", str(file))
    assert result.status == 2
    assert "redis-3" in result.err
    assert "redis-2" in result.err, "the error names the existing nodes"


def test_nodes_of_a_lab_are_killed_and_started_by_command(netkv: Netkv) -> None:
    up = netkv(
        "up", "--scheme", "nocache", *REDIS, "--set", "lab.servers=2", "--set", "workload.keys=500"
    )
    assert up.status == 0, up.err
    try:
        assert netkv("node", "kill", "redis-1").status == 0
        (lab,) = netkv("status", "--json").document["labs"]
        assert {name for name, node in lab["nodes"].items() if not node["running"]} == {"redis-1"}
        assert "is up again" in netkv("node", "start", "redis-1").err
        (lab,) = netkv("status", "--json").document["labs"]
        assert all(node["running"] for node in lab["nodes"].values())
        wrong = netkv("node", "start", "redis-7")
        assert wrong.status != 0
        assert "There is no node 'redis-7'" in wrong.err
        assert "ready to accept connections" in netkv("logs", "--node", "redis-0").out
    finally:
        netkv("down")
