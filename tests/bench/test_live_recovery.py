"""`python -m netkv.bench.live_recovery`: all records come back; wrong arguments are explained."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from netkv.bench import live_recovery

RECORDS = 60


@pytest.mark.slow
def test_every_record_is_admitted_again() -> None:
    found = asyncio.run(live_recovery.measure("farreach", RECORDS))
    assert found.records == RECORDS
    assert found.counts["keys_readmitted"] == RECORDS
    assert set(found.phases) == {"collect", "update servers", "re-admit"}
    assert found.recovery_s > 0
    assert found.controller_cpu_s > 0


@pytest.mark.parametrize("arguments", [[], ["netcache", "10"], ["farreach", "many"]])
def test_wrong_arguments_are_explained(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "netkv.bench.live_recovery", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert ended.stderr == "error: Give a scheme (farreach) and a number of records.\n"
