"""A lab whose load generator is idle, or whose nodes do not run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from netkv.labs import daemon
from tests.lab.racks import spec
from tests.waiting import until_async


@pytest.fixture
def lab() -> Iterator[str]:
    daemon.up("lab", spec("netcache", external_clients=1, hot_threshold=3))
    yield "lab"
    daemon.down("lab")


async def newest(lab: str) -> dict[str, Any] | None:
    found = await asyncio.to_thread(daemon.request, lab, {"do": "samples", "after": -1})
    samples: list[dict[str, Any]] = found["samples"]
    return samples[-1] if samples else None


def fault(**event: str) -> dict[str, Any]:
    return {"do": "fault", "event": event, "duration": None}


async def test_nothing_is_said_about_operations_that_nobody_has_done(lab: str) -> None:
    first = await until_async(lambda: newest(lab), "the lab is sampled")
    assert first["linearizable"] is None
    assert first["hit_ratio"] is None


@pytest.mark.parametrize("node", ["switch", "servers-0", "controller"])
async def test_lab_with_a_killed_node_is_not_ready(lab: str, node: str) -> None:
    await asyncio.to_thread(daemon.request, lab, fault(kill=node))
    found = await asyncio.to_thread(daemon.status, lab)
    assert (found.state, found.text) == ("degraded", f"The node '{node}' does not run.")
    await asyncio.to_thread(daemon.request, lab, fault(start=node))
    assert (await asyncio.to_thread(daemon.status, lab)).state == "ready"
