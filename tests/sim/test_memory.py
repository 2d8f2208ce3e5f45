"""The memory of a simulated run depends on its rack and its keys, not on its duration."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from netkv import schemes
from netkv.bench.simulated_memory import MemoryGrowth
from netkv.sim.timing import Case

FULL_WINDOWS = 8 * 2**20
"""The servers' deduplication windows of all clients are full after some 260,000 requests."""


def growth(**options: object) -> MemoryGrowth:
    """Memory of a rack, with writes only if nothing else is said, in a separate process."""
    usual = {"servers": 2, "writes": 1.0, "cache_entries": 100, "window": 100, "seconds": 0.01}
    case = Case.model_validate({**usual, **options})
    done = subprocess.run(
        [sys.executable, "-m", "netkv.bench.simulated_memory"],
        input=json.dumps(case.model_dump(mode="json")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return MemoryGrowth.model_validate_json(done.stdout)


# Cards: tests/fpga/test_live_cards.py, tests/fpga/test_cards_in_time.py.
@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.card is None]
)
def test_writes_of_the_same_keys_add_no_memory(scheme: str) -> None:
    """A run ten times as long takes no more memory."""
    run = growth(scheme=scheme, keys=2_000, zipf=0.0, operations=30_000)
    operations = run.whole.operations - run.first.operations
    assert operations > 250_000
    assert run.first.written_keys > 1_800, "nearly all keys are written in the first part"
    added = (run.whole.memory_mb - run.first.memory_mb) * 2**20
    assert added < FULL_WINDOWS + 4 * operations, f"{added} bytes for {operations} writes"


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.recovery_phases]
)
def test_recoveries_add_no_memory(scheme: str) -> None:
    """Each tenth of the run has a crash; a recovery of 16 virtual seconds took 4.9 GB once."""
    run = growth(scheme=scheme, keys=2_000, zipf=0.0, operations=30_000, crash=True)
    operations = run.whole.operations - run.first.operations
    assert operations > 250_000
    added = (run.whole.memory_mb - run.first.memory_mb) * 2**20
    assert added < FULL_WINDOWS + 4 * operations, f"{added} bytes in nine recoveries"


@pytest.mark.slow
def test_reads_add_no_memory() -> None:
    """Requests that take no place in a store: a run ten times as long."""
    run = growth(scheme="netcache", keys=100_000_000, writes=0.0, operations=20_000)
    operations = run.whole.operations - run.first.operations
    added = (run.whole.memory_mb - run.first.memory_mb) * 2**20
    assert added < FULL_WINDOWS + 4 * operations, f"{added} bytes for {operations} reads"


@pytest.mark.slow
def test_a_written_key_takes_less_than_100_bytes() -> None:
    run = growth(scheme="nocache", keys=10**10, zipf=0.0, operations=100_000)
    keys = run.whole.written_keys - run.first.written_keys
    assert run.first.written_keys > 80_000, "more than keep an idle history"
    added = (run.whole.memory_mb - run.first.memory_mb) * 2**20
    assert added < 100 * keys, f"{added} bytes for {keys} keys"
