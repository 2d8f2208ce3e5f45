"""Switch, server and client nodes of the engine together on loopback, through their Python API."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from netkv._engine import ClientNode, ControlError, Histogram, ServerNode, Switch, SwitchNode
from netkv.live.ports import free_ports
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, client_ip, server_ip
from tests.live.local_rack import (
    CLIENT_PORT,
    LocalRack,
    SchemeName,
    bundle_of,
    kv_frame,
    local_rack,
)
from tests.live.server_nodes import server_config, start_server
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from netkv._engine import TableEntry

SCHEMES: list[SchemeName] = ["nocache", "netcache"]


def assert_consistent(sample: dict[str, Any]) -> None:
    wrong = {name: sample[name] for name in ("stale_reads", "phantom_reads", "errors", "malformed")}
    assert not any(wrong.values()), wrong


# A whole rack


@pytest.mark.parametrize("scheme", SCHEMES)
def test_operations_are_answered_correctly_and_none_is_lost(
    scheme: SchemeName,
) -> None:
    workload = {"writes": 0.2, "deletes": 0.05, "value_size": {"min": 16, "max": 128}}
    with local_rack(scheme, keys=2000, workload=workload) as rack:
        if scheme == "netcache":
            rack.cache(rack.hottest(50))
        sample = rack.run_until(completed=1000)
        assert sample["writes"] > 0.15 * sample["completed"]
        assert_consistent(sample)
        assert_consistent(rack.finish("drain"))
        verified = rack.finish("verify")
        assert verified["verified"] > 100
        assert verified["acked_writes_lost"] == 0
        assert verified["unread"] == 0


def test_cache_hits_are_not_served_by_servers() -> None:
    with local_rack("netcache", keys=10_000) as rack:
        rack.cache(rack.hottest(500))
        before = rack.server.statistics()["servers"]
        sample = rack.run_until(reads=10_000)
        after = rack.server.statistics()["servers"]
        later = rack.client.sample()
        served = sum(after[i]["reads"] - before[i]["reads"] for i in after)
        ratio = sample["hits"] / sample["reads"]
        # Zipf 0.99: the 500 hottest of 10,000 keys get about 69% of the requests.
        assert 0.64 < ratio < 0.74
        # The sums differ by the 64 outstanding requests and by those between the two samples.
        missed = sample["reads"] - sample["hits"]
        missed_later = later["reads"] - later["hits"]
        retries = sample["retries"] + later["retries"]
        assert missed - 64 <= served <= missed + missed_later + 64 + retries
        assert_consistent(sample)


def test_popularity_shift_ends_the_cache_hits() -> None:
    with local_rack("netcache", keys=10_000) as rack:
        rack.cache(rack.hottest(200))
        hot = rack.hottest(1)
        rack.do(do="shift", kind="hot-out", keys=200, top=10_000)
        assert rack.hottest(1) != hot
        sample = rack.run_until(reads=1000)
        assert sample["hits"] < 0.05 * sample["reads"]


def test_periodic_shifts_happen_only_while_measuring() -> None:
    shift = {"kind": "hot-in", "keys": 10, "top": 100, "every": 0.1}
    with local_rack("nocache", workload={"shift": shift}) as rack:
        first = rack.hottest(1)
        rack.run(0.3, "warmup")
        assert rack.hottest(1) == first
        rack.do(do="phase", name="measure")
        until(lambda: rack.hottest(1) != first, "another key is the hottest")


def _threads() -> dict[str, tuple[int, float]]:
    """Voluntary context switches and seconds on a core of each thread of this process."""
    threads = {}
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has just ended
            status = (task / "status").read_text()
            found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)
            assert found is not None
            on_core_ns = int((task / "schedstat").read_text().split()[0])
            threads[task.name] = int(found[1]), on_core_ns / 1e9
    return threads


def _check_rate(rack: LocalRack, rate: int) -> None:
    """The load generator reaches the rate and does not exceed it.

    If other work on the machine delays requests, the generator sends more afterwards.
    """
    total = rack.run_until(completed=2 * rate)
    while total["completed"] / total["interval_s"] < 0.9 * rate:
        more = rack.run(0.5)
        total = {name: total[name] + more[name] for name in ("completed", "interval_s")}
        assert total["interval_s"] < PATIENCE_S
    assert total["completed"] / total["interval_s"] < 1.2 * rate


def test_open_loop_keeps_its_rate_and_sleeps_between_requests() -> None:
    workload = {"arrivals": {"rate": 2000}}
    with local_rack("nocache", workload=workload) as rack:
        _check_rate(rack, 2000)
        rack.do(do="rate", value=500)
        before = _threads()
        _check_rate(rack, 500)
        for thread, (sleeps, seconds) in _threads().items():
            slept, worked = sleeps - before[thread][0], seconds - before[thread][1]
            # A thread that polls without a pause uses all of its time slices and never sleeps.
            assert slept >= 10 * worked - 1


def test_an_idle_rack_sleeps() -> None:
    with local_rack("nocache"):
        before = sum(sleeps for sleeps, _ in _threads().values())
        time.sleep(1.0)
        # No frame arrives, so threads wake up only a few times.
        assert sum(sleeps for sleeps, _ in _threads().values()) - before < 100


def test_server_of_limited_rate_drops_the_excess() -> None:
    workload = {"zipf": 0.0, "arrivals": {"rate": 2000}}
    # A full queue is served within a retry time-out, so no request is queued twice.
    limits = {"service_rate": 500, "queue_limit": 16}
    with local_rack("nocache", servers=2, workload=workload, **limits) as rack:
        rack.run(0.5, "warmup")
        before = rack.server.statistics()["servers"]
        sample = rack.run(2.0)
        after = rack.server.statistics()["servers"]
        for server in before:
            served = after[server]["served"] - before[server]["served"]
            # The rate is lower only if other work on the machine delays the server.
            assert 250 < served / sample["interval_s"] < 550
            assert after[server]["dropped"] > before[server]["dropped"]
        assert 0 < sample["completed"] / sample["interval_s"] <= 1050


def test_samples_hold_a_histogram_that_python_can_merge() -> None:
    with local_rack("nocache") as rack:
        merged = Histogram()
        completed = 0
        sample: dict[str, Any] = {}
        for _ in range(3):
            while not (sample := rack.run(0.2))["completed"]:
                pass
            completed += sample["completed"]
            merged.add(Histogram(sample["latency"]))
        assert len(merged) == completed
        p99 = sample["latency_ns"]["p99"]
        assert 0 < sample["latency_ns"]["p50"] <= p99 <= sample["latency_ns"]["max"]


def test_requests_to_a_paused_switch_are_retried_or_counted_lost() -> None:
    with local_rack("nocache", deadline_s=0.4) as rack:
        rack.run_until(completed=1)
        rack.node.pause()
        rack.run_until(lost=1, retries=1)
        rack.node.resume()
        assert_consistent(rack.run_until(completed=100))


# Invalid input


def test_malformed_frames_at_every_port_are_counted() -> None:
    rng = random.Random(7)
    rack = LocalRack("netcache", keys=1000)
    switch_client, client, switch_server, server = rack.udp
    rack.start()
    rack.cache(rack.hottest(10))
    # The attacker uses the addresses of the stopped nodes.
    hot = rack.hottest(1)[0]
    rack.client.stop()
    rack.server.stop()
    real = [
        kv_frame(
            source=client_ip(1),
            destination=rng.choice([SERVICE_IP, CONTROLLER_IP, server_ip(1)]),
            op=op,
            sender=1,
            request=rng.getrandbits(32),
            key=hot if rng.random() < 0.5 else rng.randbytes(16),
            cache_metadata=rng.choice([None, (1, 1, 0xFF), (rng.getrandbits(32), 5, 3)]),
            value=rng.randbytes(rng.choice([0, 16, 100, 128, 1024])),
        )
        for op in (0x00, 0x02, 0x04, 0x10, 0x12, 0x20, 0x22, 0x24, 0x26, 0x30, 0x32, 0x7F)
        for _ in range(8)
    ]
    sent = rack.node.statistics()["received"]
    for own, peer in ((client, switch_client), (server, switch_server)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            attacker.bind(("127.0.0.1", own))
            attacker.connect(("127.0.0.1", peer))
            for number in range(50_000):
                attacker.send(_malformed(rng, real))
                sent += 1
                if number % 200 == 199:
                    _settle(rack, sent)
    _settle(rack, sent)
    statistics = rack.node.statistics()
    assert statistics["malformed"] > 1000
    drops = rack.switch.read_counter(rack.names.id_of("counters", "reasons"))
    assert sum(packets for _, packets, _ in drops) > 10_000
    rack.client = ClientNode(json.dumps(rack.client_config))
    rack.server = ServerNode(json.dumps(rack.server_config))
    rack.server.start()
    rack.client.start()
    try:
        sample = rack.run_until(completed=100)
        assert sample["malformed"] == 0
    finally:
        rack.stop()


def _malformed(rng: random.Random, real: list[bytes]) -> bytes:
    """Random bytes, or a frame that is cut or has some changed bytes."""
    frame = bytearray(rng.choice(real))
    choice = rng.random()
    if choice < 0.3:
        return rng.randbytes(rng.randrange(0, 200))
    if choice < 0.6:
        return bytes(frame[: rng.randrange(len(frame))])
    for _ in range(rng.randrange(1, 5)):
        frame[rng.randrange(len(frame))] = rng.getrandbits(8)
    return bytes(frame)


def _settle(rack: LocalRack, sent: int) -> None:
    """Wait until the switch has received `sent` frames, so that no socket buffer overflows."""
    until(lambda: rack.node.statistics()["received"] >= sent, "all are received", every_s=0.001)


def test_malformed_frames_at_servers_and_clients_are_counted() -> None:
    rng = random.Random(11)
    rack = LocalRack("netcache", keys=1000)
    _, client, _, server = rack.udp
    rack.node.stop()
    rack.server.start()
    rack.client.start()
    real = [
        kv_frame(
            source=SERVICE_IP,
            destination=server_ip(number % 5),
            op=number,
            sender=1,
            request=number,
            key=rng.randbytes(16),
            value=rng.randbytes(64),
        )
        for number in range(0x40)
    ]
    found = 0

    def client_found_enough() -> bool:
        nonlocal found
        found += rack.client.sample()["malformed"]
        return bool(found > 1000)

    def servers_found_enough() -> bool:
        statistics = rack.server.statistics()
        return bool(statistics["received"] > 5000 and statistics["malformed"] > 1000)

    for own, peer, enough in (
        (rack.udp[0], client, client_found_enough),
        (rack.udp[2], server, servers_found_enough),
    ):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
            attacker.bind(("127.0.0.1", own))
            attacker.connect(("127.0.0.1", peer))
            # A busy node drops frames if its socket buffer is full, so more are sent.
            until(partial(_send_some, attacker, rng, real, enough), "enough frames are counted")
    servers, sample = rack.server.statistics(), rack.client.sample()
    rack.stop()
    assert servers["failed"] is None
    assert sample["failed"] is None


def _send_some(
    attacker: socket.socket, rng: random.Random, real: list[bytes], enough: Callable[[], bool]
) -> bool:
    """Sends 200 malformed frames; returns whether the node has counted enough."""
    for _ in range(200):
        attacker.send(_malformed(rng, real))
    return enough()


def test_a_busy_port_is_named_in_the_error() -> None:
    switch = Switch(bundle_of("nocache"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        (peer,) = free_ports(1)
        with pytest.raises(OSError, match=rf"switch port 3 cannot use 127.0.0.1:{port}: .* in use"):
            SwitchNode(switch, [(3, f"127.0.0.1:{port}", f"127.0.0.1:{peer}")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"partitions": [0, 9]}, "names server 9, but there are 4"),
        ({"role": "netcash"}, "'netcash' is not a role of servers"),
        ({"service_rate": 0}, "'service_rate' is 0; it must be above 0"),
        ({"value_size": 8}, "values of 8 to 8 bytes are not possible"),
        ({"threads": 4}, "unknown field `threads`"),
    ],
)
def test_wrong_server_configuration_is_refused_with_a_reason(
    change: dict[str, Any], message: str
) -> None:
    bind, peer = (f"127.0.0.1:{port}" for port in free_ports(2))
    config = server_config(bind, peer, partitions=[0, 1], servers=4, keys=100, value_size=128)
    with pytest.raises(ValueError, match=message):
        ServerNode(json.dumps(config | change))


def test_invalid_client_commands_are_explained() -> None:
    rack = LocalRack("nocache")
    try:
        with pytest.raises(ValueError, match="unknown variant `pahse`"):
            rack.client.command('{"do": "pahse"}')
        with pytest.raises(ValueError, match="a shift of 99999999 keys needs"):
            rack.do(do="shift", kind="hot-in", keys=99_999_999)
    finally:
        rack.stop()


def test_failing_back_end_stops_the_server_without_an_answer() -> None:
    class Broken:
        def __init__(self) -> None:
            self.loaded = False

        def execute(self, batch: list[tuple[str, bytes, bytes | None]]) -> list[bytes | None]:
            if self.loaded and any(kind == "put" for kind, _, _ in batch):
                raise OSError("disk full")
            self.loaded |= any(
                key == b"netkv:data-set:1" for kind, key, _ in batch if kind == "put"
            )
            return [None] * len(batch)

    with local_rack("nocache", store=Broken(), workload={"writes": 1.0}, keys=100) as rack:
        rack.do(do="phase", name="measure")
        failed = until(lambda: rack.server.statistics()["failed"], "the server stops")
        assert rack.client.sample()["completed"] == 0
        assert "disk full" in failed
        assert failed.startswith("The server node has stopped")


# The control interface


def written(entries: list[TableEntry]) -> list[str]:
    """The entries, sorted, without the time since their last use."""
    return sorted(repr({**entry, "elapsed_ns": 0}) for entry in entries)


def test_table_entries_are_read_back_as_written() -> None:
    rack = LocalRack("netcache")
    try:
        rack._fill_tables()
        owner = rack.names.table("owner")
        entries = rack.switch.read_entries(owner)
        assert len(entries) == 4
        first = entries[0]
        assert first["priority"] == 1
        assert first["matches"][0][1] == "range"
        rack.switch.delete_entry(owner, first["matches"], first["priority"])
        with pytest.raises(ControlError, match="no such entry") as caught:
            rack.switch.delete_entry(owner, first["matches"], first["priority"])
        assert caught.value.code == "NOT_FOUND"
        rack.switch.insert_entry(owner, first["matches"], first["action"], first["priority"])
        assert written(rack.switch.read_entries(owner)) == written(entries)
        with pytest.raises(ControlError, match="has 32 bits, but the value given needs 33") as wide:
            rack.switch.insert_entry(
                owner, [(1, "range", b"\x00", b"\x01\x00\x00\x00\x00")], first["action"], 1
            )
        assert wide.value.code == "OUT_OF_RANGE"
    finally:
        rack.stop()


def test_trace_shows_the_steps_of_a_frame() -> None:
    rack = LocalRack("nocache")
    try:
        rack._fill_tables()
        frame = kv_frame(0, bytes(16), 1, client_ip(1), SERVICE_IP, sender=1)
        frames, document, text = rack.switch.trace(CLIENT_PORT, frame)
        assert frames == rack.switch.process(CLIENT_PORT, frame)
        assert document["events"]
        assert "received on port 1" in text
    finally:
        rack.stop()


# Durability


def test_acknowledged_writes_survive_kill_9_of_the_servers(tmp_path: Path) -> None:
    rack = LocalRack("netcache", keys=500, workload={"writes": 0.5}, deadline_s=20.0)
    rack.server.stop()
    rack._fill_tables()
    rack.node.start()
    rack.client.start()
    process = start_server(rack.server_config, tmp_path / "db")
    try:
        rack.cache(rack.hottest(20))
        rack.run_until(writes=100)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        process = start_server(rack.server_config, tmp_path / "db")
        assert_consistent(rack.run_until(completed=1000))
        assert_consistent(rack.finish("drain"))
        verified = rack.finish("verify")
        assert verified["verified"] > 100
        assert verified["acked_writes_lost"] == 0
    finally:
        process.kill()
        process.communicate()
        rack.stop()


def test_wrong_impairment_of_a_link_is_refused_with_a_reason() -> None:
    ports = free_ports(2)
    node = SwitchNode(
        Switch(bundle_of("nocache")), [(3, f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}")]
    )
    node.impair(3, "to", '{"loss": 0.1, "delay": 0.001}')
    for port, direction, impairment, message in [
        (4, "to", "{}", "no switch port 4; the ports are: 3"),
        (3, "up", "{}", "'up' is not a direction"),
        (3, "to", '{"loss": 3}', "'loss' is 3"),
        (3, "to", '{"lose": 0.3}', "unknown field `lose`"),
        (3, "to", "loss", "not an impairment of a link"),
    ]:
        with pytest.raises(ValueError, match=message):
            node.impair(port, direction, impairment)
    node.stop()
