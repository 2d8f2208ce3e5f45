"""Labs on the real p4c and simple_switch_grpc, where they are on PATH."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netkv import schemes
from netkv.lab.bmv2 import toolchain
from netkv.lab.rack import LiveRack
from tests.lab.racks import finish, sampled, serves, spec
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not any(map(shutil.which, toolchain.COMPILERS)) or not shutil.which(toolchain.SWITCH),
        reason="there is no p4c, or no simple_switch_grpc, on PATH",
    ),
]


@pytest.mark.parametrize("scheme", [each.name for each in schemes.all_schemes()])
async def test_scheme_serves_requests_on_real_bmv2(tmp_path: Path, scheme: str) -> None:
    rack = LiveRack(spec(scheme, target="bmv2"), tmp_path / "rack")
    try:
        await rack.start()
        await serves(rack)
        if rack.scheme.caches:
            await sampled(rack, "the switch answers reads", lambda it: it.client.hits > 0)
        await finish(rack, "drain")
        checked = await finish(rack, "verify")
        counts = checked.client_statistics
        assert (counts["acked_writes_lost"], counts["stale_reads"]) == (0, 0)
        assert rack.failed is None
    finally:
        await rack.stop()


async def test_new_controller_sets_a_real_bmv2_up_again(tmp_path: Path) -> None:
    """Groups of the previous program are deleted: nothing arrives twice."""
    rack = LiveRack(spec(target="bmv2"), tmp_path / "rack")
    try:
        await rack.start()
        await serves(rack)
        await rack.controller.kill()
        await rack.controller.start()
        await sampled(rack, "the switch answers reads", lambda it: it.client.hits > 0)
        assert rack.failed is None
    finally:
        await rack.stop()


def test_quickstart_is_correct_on_real_bmv2() -> None:
    """All thresholds except that of the throughput, for which the machine would have to be idle."""
    netkv = str(Path(sys.executable).parent / "netkv")
    done = subprocess.run(
        [netkv, "scenario", "run", "quickstart", "--target", "bmv2", "--json"],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )
    result = json.loads(done.stdout)
    missed = {each["expr"] for each in result["thresholds"] if not each["ok"]}
    assert missed <= {"netcache.throughput_ops >= 2 * nocache.throughput_ops"}
    assert result["target"] == "bmv2"
