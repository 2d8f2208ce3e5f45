"""`netkv gateway` as a process with live labs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

import netkv as netkv_package
from netkv import schemes
from netkv.client import AsyncClient, keys
from netkv.labs import daemon
from netkv.live import state
from tests.gateway.serving_redis import GATEWAY, gateway
from tests.labs import BringUp
from tests.waiting import PATIENCE_S, until

SERVERS = 4
# Labs with FPGA cards have a process for each server, and are slow: tests/fpga/test_live_cards.py.
SCHEMES = [each.name for each in schemes.all_schemes() if each.card is None]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_redis_clients_use_a_rack(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme)
    options = ("--timeout", "10", "--mset", "separate")
    with gateway(*options) as running, redis.Redis(port=running.port) as client:
        assert client.info()["netkv_scheme"] == scheme
        names = [f"key {number}" for number in range(200)]
        with client.pipeline(transaction=False) as pipeline:
            for number, name in enumerate(names):
                pipeline.set(name, f"value {number}").get(name)
            replies = pipeline.execute()
        values = [f"value {number}".encode() for number in range(200)]
        assert replies[1::2] == values
        assert client.mget([*names, "absent"]) == [*values, None]
        assert client.delete(*names[:50], "absent") == 50
        assert client.mget(names) == [None] * 50 + values[50:]
        client.set("empty", b"")
        assert client.get("empty") == b""
        assert client.mset({"key 0": "new", "key 150": "new"})
        assert client.mget("key 0", "key 150") == [b"new", b"new"]
        assert (client.type("key 0"), client.strlen("key 0")) == (b"string", 3)
        assert (client.ttl("key 0"), client.pttl("absent")) == (-1, -2)
        assert client.dbsize() == 152
        with pytest.raises(redis.ResponseError, match="1,024 bytes"):
            client.set("large", b"v" * 1025)
        errors = client.info()["total_error_replies"]
        done = subprocess.run(
            [
                *("redis-benchmark", "-p", str(running.port), "-t", "get,set,mset", "-n", "1000"),
                *("-c", "10", "-P", "8", "-r", "100", "-d", "100", "--csv"),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        assert '"SET"' in done.stdout
        assert '"GET"' in done.stdout
        assert '"MSET (10 keys)"' in done.stdout
        assert client.get("key:000000000001") is not None
        assert client.info()["total_error_replies"] == errors
        running.process.send_signal(signal.SIGTERM)
        assert running.ended()[0] == 0


KEYS = [
    *(b"user", b"key 1", b"key of 15 bytes", b"key of 16 bytes.", b"key of 16 bytes\xff"),
    *(b"a key of more than 16 bytes", b"\0\r\n\t", b"\xff" * 64),
]


@pytest.mark.parametrize("scheme", ["nocache", "netmc"])
async def test_gateway_and_client_library_share_records(scheme: str, bring_up: BringUp) -> None:
    """Each reads what the other has written, with the keys of both encodings."""
    bring_up(scheme)
    options = ("--timeout", "10")
    with gateway(*options) as running, redis.Redis(port=running.port) as client:
        async with await AsyncClient.connect(timeout=10) as library:
            for number, key in enumerate(KEYS):
                client.set(key, b"of the gateway %d" % number)
                assert await library.get(key) == b"of the gateway %d" % number
                await library.put(key, b"of the library %d" % number)
            values = [b"of the library %d" % number for number in range(len(KEYS))]
            assert client.mget(KEYS) == values
            assert client.delete(*KEYS) == len(KEYS)
            assert await library.multiget(KEYS) == [None] * len(KEYS)
        with pytest.raises(redis.ResponseError, match=r"key has .* bytes, not 256"):
            client.get(b"k" * 256)


# With FarReach, the switch has the last writes and answers reads of a killed server's keys.
@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "farreach"])
def test_killed_server_is_an_error_for_its_keys_only(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme)
    encoding = keys.of_scheme(schemes.get(scheme))
    names = [f"key {number}" for number in range(60)]
    owners = {name: encoding.server(encoding.name(name), SERVERS) for name in names}
    with gateway("--timeout", "1") as running, redis.Redis(port=running.port) as client:
        for name in names:
            client.set(name, name)
        _supervisor({"do": "kill", "node": "servers-1"})
        replies = _read_all(client, names)
        failed = {name for name, reply in replies.items() if isinstance(reply, Exception)}
        killed = {owners[name] for name in failed}
        assert 0 < len(killed) < SERVERS
        assert failed == {name for name in names if owners[name] in killed}
        for name, reply in replies.items():
            if name in failed:
                assert f"{name!r}" in str(reply)
                assert f"(server {owners[name]})" in str(reply)
                assert str(reply).startswith("TIMEOUT No answer within 1 s")
            else:
                assert reply == name.encode()
        lost = sorted(failed)[0]
        with pytest.raises(redis.ResponseError, match=lost):
            client.mget(names)
        with pytest.raises(redis.ResponseError, match=lost):
            client.set(lost, "2")
        _supervisor({"do": "start", "node": "servers-1"})
        until(
            lambda: not any(isinstance(it, Exception) for it in _read_all(client, names).values()),
            "every key can be read again",
        )
        client.set(lost, "3")
        assert client.get(lost) == b"3"


def _read_all(client: redis.Redis, names: list[str]) -> dict[str, object]:
    with client.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.get(name)
        return dict(zip(names, pipeline.execute(raise_on_error=False), strict=True))


def _supervisor(message: dict[str, object]) -> None:
    daemon.request("lab", message)


def test_gateway_ends_with_its_lab(bring_up: BringUp) -> None:
    bring_up("nocache")
    with gateway("--lab", "lab") as running, redis.Redis(port=running.port) as client:
        assert client.ping()
        daemon.down("lab")
        status, err = running.ended()
    assert status == 1
    assert "The lab 'lab' is not up any more, so the gateway has ended." in err


def test_place_of_an_interrupted_gateway_is_freed(bring_up: BringUp) -> None:
    bring_up("nocache")
    for _ in range(5):  # there are 4 places
        with gateway() as running:
            running.process.send_signal(signal.SIGINT)
            status, err = running.ended()
            assert status == 0
            assert f"redis-cli -h 127.0.0.1 -p {running.port}" in err
            assert "Traceback" not in err


def test_gateway_without_a_lab_reports_the_command(home: Path) -> None:
    status, err = _fails()
    assert status == 1
    assert err.startswith("error: No lab 'lab' is up: 'netkv up lab' brings it up.")
    assert not home.exists()


def test_non_loopback_address_needs_allow_remote(bring_up: BringUp) -> None:
    bring_up("nocache")
    status, err = _fails("--host", "0.0.0.0")
    assert status == 2
    assert "--allow-remote" in err
    with gateway("--host", "0.0.0.0", "--allow-remote") as running:
        with redis.Redis(port=running.port) as client:
            assert client.ping()
        running.process.terminate()
        assert "no password" in running.ended()[1]


def test_port_in_use_is_refused(bring_up: BringUp) -> None:
    bring_up("nocache")
    with gateway() as running:
        status, err = _fails("--port", str(running.port))
    assert status == 1
    assert f"Port {running.port} on 127.0.0.1 cannot be used: Address already in use." in err
    assert "--port 0" in err


def _fails(*options: str) -> tuple[int, str]:
    done = subprocess.run(
        [*GATEWAY, *options], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_documented_loop_over_schemes_runs(home: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/use/gateway.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    (script,) = (block for block in blocks if "for scheme" in block)
    netkv = tmp_path / "bin" / "netkv"
    netkv.parent.mkdir()
    netkv.write_text(f'#!/bin/sh\nexec {sys.executable} -m netkv "$@"\n')
    netkv.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{netkv.parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(Path(netkv_package.__file__).parents[1]), *sys.path]),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    for line in ("netkv_scheme:netcache", "netkv_scheme:farreach"):
        assert line in done.stdout
    assert done.stdout.count('"SET"') == done.stdout.count('"GET"') == 2
    assert state.names() == []
    assert home.exists()


def test_benchmark_beside_a_redis_server(bring_up: BringUp) -> None:
    bring_up("netcache")
    done = subprocess.run(
        [*GATEWAY[:3], "bench", "gateway", "--seconds", "0.3", "--entries", "100", "--json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    document = json.loads(done.stdout)
    loads = ["get", "set", "get-pipelined", "set-pipelined"]
    for executor, program in (("gateway", "netcache"), ("redis", "redis")):
        rows = [row for row in document["results"] if row["executor"] == executor]
        assert [row["path"] for row in rows] == loads
        assert all(row["program"] == program and row["pps"] > 0 for row in rows)
    assert len(document["ratios"]) == 8
    assert all(0 < ratio < 20 for ratio in document["ratios"].values())
