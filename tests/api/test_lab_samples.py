"""Samples of labs through the API, metrics for Prometheus, and updates of the event stream."""

from __future__ import annotations

import shutil
import socket
from typing import Any

import pytest

from netkv.api.labs_feed import Cursor, LabsFeed, cursors_of
from netkv.api.models.labs import LabUpdate
from netkv.live import state
from tests.api.live_lab import NODES, Api, sampled
from tests.api.prometheus import metrics, of
from tests.waiting import until, until_async


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
