"""Clients of Redis use the gateway: redis-py, redis-cli, redis-benchmark."""

from __future__ import annotations

import subprocess

import pytest
import redis
import redis.asyncio

from netkv.bench import stores
from tests.gateway.serving_redis import Running
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(served: Running, protocol: int) -> None:
    with redis.Redis(port=served.port, protocol=protocol, client_name="me") as client:
        assert client.set("a", "1")
        assert client.get("a") == b"1"
        assert client.mget("a", "none") == [b"1", None]
        assert client.exists("a", "none") == 1
        assert client.type("a") in ("string", b"string")
        assert client.strlen("a") == 1
        assert (client.ttl("a"), client.pttl("none")) == (-1, -2)
        assert client.dbsize() >= 1
        assert client.ping()
        assert client.echo("hello") == b"hello"
        assert client.client_getname() in ("me", b"me")
        assert client.info()["netkv_scheme"] == "nocache"
        assert client.config_get("save")["save"] == ""
        assert client.command_count() == len(client.command())
        with client.pipeline(transaction=False) as pipeline:
            for number in range(500):
                pipeline.set(f"k{number}", number).get(f"k{number}")
            replies = pipeline.execute()
        assert replies[1::2] == [b"%d" % number for number in range(500)]
        assert client.delete("a", "k1", "none") == 2
        with pytest.raises(redis.ResponseError, match=r"pipeline\(transaction=False\)"):
            client.pipeline().set("k2", "no").execute()
        with pytest.raises(redis.ResponseError, match="SET with EX is not supported"):
            client.set("a", "1", ex=10)
        assert client.get("k2") == b"2"


@pytest.mark.parametrize("protocol", [2, 3])
async def test_redis_py_of_asyncio(served: Running, protocol: int) -> None:
    async with redis.asyncio.Redis(
        port=served.port, protocol=protocol, decode_responses=True
    ) as client:
        await client.set("a", "ä")
        assert await client.get("a") == "ä"
        async with client.pipeline(transaction=False) as pipeline:
            pipeline.get("a")
            pipeline.delete("a")
            pipeline.get("a")
            replies = await pipeline.execute()
        assert replies == ["ä", 1, None]


@pytest.mark.parametrize("version", ["-2", "-3"])
def test_redis_cli(served: Running, version: str) -> None:
    commands = "SET a 'b c'\nGET a\nMGET a none\nDEL a\nNOSUCH\nPING\n"
    done = subprocess.run(
        ["redis-cli", "-p", str(served.port), version, "--no-raw"],
        input=commands,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert [line for line in done.stdout.splitlines() if line] == [
        "OK",
        '"b c"',
        '1) "b c"',
        "2) (nil)",
        "(integer) 1",
        "(error) ERR unknown command 'NOSUCH', with args beginning with: ",
        "PONG",
    ]
    assert done.stderr == ""


@pytest.mark.parametrize("pipeline", [1, 16])
def test_redis_benchmark(served: Running, pipeline: int) -> None:
    keys = [f"key:{number:012}" for number in range(100)]
    with redis.Redis(port=served.port) as client:
        client.delete(*keys)
        before = client.info()
        done = subprocess.run(
            [
                *("redis-benchmark", "-p", str(served.port), "-t", "ping,set,get", "-n", "2000"),
                *("-c", "20", "-P", str(pipeline), "-r", "100", "-d", "64", "--csv"),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        after = client.info()
        assert client.exists(*keys) > 50
    header, *rows = done.stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == [
        '"PING_INLINE"',
        '"PING_MBULK"',
        '"SET"',
        '"GET"',
    ]
    assert stores.percentiles(f"{header}\n{rows[-1]}\n") is not None
    assert done.stderr == ""  # redis-benchmark warns if the server has no CONFIG
    assert after["total_error_replies"] == before["total_error_replies"]
    assert after["total_commands_processed"] - before["total_commands_processed"] >= 8000
