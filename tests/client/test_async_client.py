"""`AsyncClient` with live labs: every scheme, faults, concurrent tasks and several programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netkv.client import (
    AsyncClient,
    ClientError,
    NotConnected,
    OperationTimeout,
    Rejected,
    place,
)
from netkv.labs import daemon
from netkv.live import state
from netkv.model.topology import owner_index
from tests.labs import BringUp
from tests.waiting import PATIENCE_S, until_async

KEYS: list[bytes | str] = [
    "k",
    "k" * 15,
    "sixteen bytes ke",
    "k" * 17,
    b"\0\xff",
    "netkv:mine",
    "ключ",
]
SCHEMES = ["nocache", "netcache", "farreach"]
PROGRAM = ("-m", "tests.client.external_program")


def owned_by(server: int, servers: int) -> str:
    """A key that this server owns (rule 1 of `netkv.client.keys`)."""
    keys = (f"key {number}" for number in range(1000))
    return next(
        key
        for key in keys
        if owner_index(key.encode().ljust(15, b"\0") + bytes([0xF0 | len(key)]), servers) == server
    )


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_values_of_any_key_and_length_are_read_back(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme)
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        assert (rack.scheme, rack.lab) == (scheme, "lab")
        for key in KEYS:
            assert await rack.get(key) is None
            await rack.put(key, b"value of " + repr(key).encode())
        assert await rack.multiget([*KEYS, "absent"]) == [
            *(b"value of " + repr(key).encode() for key in KEYS),
            None,
        ]
        for key in KEYS:
            assert await rack.delete(key) is None
        assert await rack.multiget(KEYS) == [None] * len(KEYS)
        assert await rack.multiget([]) == []


@pytest.mark.parametrize("scheme", ["netcache", "farreach"])
async def test_cached_values_of_any_length_are_read_back(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme, preload=False)
    lengths = [0, 1, 15, 16, 17, 127, 128, 129, 1024, 0, 64, 0]
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        values: dict[str, bytes] = {}

        async def are_cached() -> bool:
            # All of them: a key leaves the cache while its value is too long for it, perhaps only
            # when this has asked for another one already.
            for key, value in values.items():
                assert set(await rack.multiget([key] * 20)) == {value}
            cache = {"do": "cached", "node": "switch", "offset": 0, "limit": 0}
            found = await asyncio.to_thread(daemon.request, "lab", cache)
            return bool(found["total"] == len(values))

        for length in (0, 1, 128):
            key = f"{length} bytes when it comes into the cache"[:15]
            values[key] = expected = b"*" * length
            await rack.put(key, expected)
            await until_async(are_cached, "the keys are cached")
            for number, other in enumerate(lengths):
                value = bytes([number]) * other
                await rack.put(key, value)
                assert set(await rack.multiget([key] * 20)) == {value}, f"{other} bytes"
            await rack.put(key, expected)
            await until_async(are_cached, "the keys are cached")
        await rack.delete("0 bytes when it")
        for _ in range(50):
            assert await rack.get("0 bytes when it") is None


async def test_concurrent_reads_and_cancelled_tasks(bring_up: BringUp) -> None:
    bring_up("netcache")
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        keys = [f"key {number}" for number in range(1000)]
        await asyncio.gather(*(rack.put(key, key) for key in keys))
        values = await asyncio.gather(*(rack.get(key) for key in keys))
        assert values == [key.encode() for key in keys]
        assert await rack.multiget(keys) == values
        tasks = [asyncio.create_task(rack.get(key)) for key in keys]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(it, asyncio.CancelledError) for it in ended[:2]] == [True, False]
        assert ended[1::2] == values[1::2]
        assert not rack._waiting, "cancelled operations are removed"
        assert await rack.get(keys[0]) == b"key 0"


async def test_reads_of_programs_and_their_hits_are_counted(bring_up: BringUp) -> None:
    """The hit ratio of a lab includes them (`netkv.live.rates`)."""
    bring_up("netcache")
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        await rack.put("hot", b"value")

        async def a_switch_has_answered() -> bool:
            await rack.get("hot")
            return rack.statistics()["hits"] > 0

        await until_async(a_switch_has_answered, "the switch answers a read")
        before = rack.statistics()
        assert await rack.get("hot") == b"value"
        assert await rack.get("absent") is None
        now = rack.statistics()
        assert now["reads"] - before["reads"] == 2
        assert now["hits"] - before["hits"] <= 1


async def test_acknowledged_write_survives_a_kill_of_farreachs_switch(
    bring_up: BringUp,
) -> None:
    bring_up("farreach", snapshot_period=0)
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        await rack.put("hot", b"first")

        async def only_the_switch_has_it() -> bool:
            await rack.put("hot", b"only in the switch")
            return rack.statistics()["preserved"] > 0

        await until_async(only_the_switch_has_it, "only the switch has the value")
        await asyncio.to_thread(daemon.request, "lab", {"do": "kill", "node": "switch"})
        sent = rack.statistics()["sent"]
        reading = asyncio.create_task(rack.get("hot"))
        await until_async(lambda: rack.statistics()["sent"] > sent, "the read is sent")
        await asyncio.to_thread(daemon.request, "lab", {"do": "start", "node": "switch"})
        assert await reading == b"only in the switch"

        async def released() -> bool:
            return rack.statistics()["preserved"] == 0

        await until_async(released, "the server has the value")
        assert await rack.get("hot") == b"only in the switch"


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_timeout_names_keys_of_a_killed_server_only(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme, servers=2)
    lost, kept = owned_by(0, 2), owned_by(1, 2)
    async with await AsyncClient.connect(timeout=0.5) as rack:
        await rack.put(kept, b"kept")
        await asyncio.to_thread(daemon.request, "lab", {"do": "kill", "node": "servers-0"})
        for operation in (rack.get(lost), rack.put(lost, b"x"), rack.delete(lost)):
            with pytest.raises(OperationTimeout) as timeout:
                await operation
            assert str(timeout.value) == f"No answer within 0.5 s about {lost!r} (server 0)."
        with pytest.raises(TimeoutError, match="server 0") as missing:
            await rack.multiget([kept, lost])
        assert isinstance(missing.value, OperationTimeout)
        assert missing.value.missing == f"{lost!r} (server 0)"
        assert await rack.get(kept) == b"kept"


@pytest.mark.parametrize("scheme", ["netcache", "farreach"])
async def test_place_of_a_killed_program_is_freed(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme, external_clients=2)
    programs = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, *PROGRAM, own, other),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for own, other in (("one", "two"), ("two", "one"))
    ]
    try:
        for program, line in zip(
            programs, ("one has read two\n", "two has read one\n"), strict=True
        ):
            assert program.stdout is not None
            assert (await program.stdout.readline()).decode() == line
        with pytest.raises(NotConnected, match=r"All 2 places .* are taken.*lab\.external_clients"):
            await AsyncClient.connect()
        os.kill(programs[0].pid, signal.SIGKILL)
        await programs[0].wait()
        async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
            assert await rack.multiget(["one", "two"]) == [b"by one", b"by two"]
            await rack.put("one", "by another")
            assert await rack.get("one") == b"by another"
    finally:
        for program in programs:
            if program.returncode is None:
                program.kill()
            await program.communicate()


async def test_clients_at_every_pipeline_see_the_writes_of_others(
    bring_up: BringUp,
) -> None:
    bring_up("farreach", pipelines=4, external_clients=8)
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(await AsyncClient.connect(timeout=PATIENCE_S))
            for _ in range(8)
        ]
        for number, writer in enumerate(clients):
            value = f"of {number}".encode()
            await writer.put("shared", value)
            for reader in clients:
                assert set(await reader.multiget(["shared"] * 10)) == {value}


async def test_error_without_a_lab_or_a_place_has_advice(home: Path, bring_up: BringUp) -> None:
    with pytest.raises(NotConnected, match="No lab 'lab' is up: 'netkv up lab' brings it up"):
        await AsyncClient.connect()
    bring_up("nocache", name="other", external_clients=0)
    with pytest.raises(NotConnected, match="Labs that are up: other"):
        await AsyncClient.connect("lab")
    for lab in (None, "other", state.labs() / "other"):
        with pytest.raises(
            NotConnected, match=r"has no places for programs.*lab\.external_clients"
        ):
            await AsyncClient.connect(lab)
    with pytest.raises(NotConnected, match="is not the directory of a lab"):
        await AsyncClient.connect(home)
    with pytest.raises(Rejected, match="A time-out of 301 s"):
        await AsyncClient.connect("other", timeout=301)


async def test_closed_client_ends_waiting_and_later_operations(
    bring_up: BringUp,
) -> None:
    bring_up("nocache", server_processes=1)
    await asyncio.to_thread(daemon.request, "lab", {"do": "kill", "node": "servers-0"})
    rack = await AsyncClient.connect()
    waiting = asyncio.create_task(rack.get("key"))
    await until_async(lambda: bool(rack._waiting), "the read is under way")
    await rack.close()
    await rack.close()
    for operation in (waiting, rack.get("key")):
        with pytest.raises(NotConnected, match="was closed"):
            await operation
    async with await AsyncClient.connect() as again:
        with pytest.raises(ClientError, match="takes a list of keys, not one"):
            await again.multiget("key")


async def test_two_clients_of_a_program_have_two_places(bring_up: BringUp) -> None:
    bring_up("netcache")
    async with await AsyncClient.connect() as one, await AsyncClient.connect("lab") as two:
        await one.put("key", b"of one")
        assert await two.get("key") == b"of one"
    assert len(place.find("lab").external_clients) == 4
