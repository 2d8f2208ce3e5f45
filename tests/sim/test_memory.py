"""The memory of a simulated run depends on its rack and its keys, not on its duration."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from netkv import schemes
from netkv.bench.simulated_memory import MemoryGrowth
from netkv.bench.simulated_rack import Case


def growth(**options: object) -> MemoryGrowth:
    """Memory of a rack with writes only, in a separate process."""
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
@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.card is None]
)
def test_writes_of_the_same_keys_add_no_memory(scheme: str) -> None:
    run = growth(scheme=scheme, keys=2_000, zipf=0.0, operations=30_000)
    operations = run.twice.operations - run.once.operations
    assert run.once.written_keys > 1_900, "nearly all keys are written before the second half"
    added = (run.twice.memory_mb - run.once.memory_mb) * 2**20
    assert added < 2**21 + 4 * operations, f"{added} bytes for {operations} writes"


@pytest.mark.slow
def test_a_written_key_takes_less_than_100_bytes() -> None:
    run = growth(scheme="nocache", keys=10**10, zipf=0.0, operations=200_000)
    keys = run.twice.written_keys - run.once.written_keys
    assert run.once.written_keys > 150_000, "so many are at rest before any is settled"
    added = (run.twice.memory_mb - run.once.memory_mb) * 2**20
    assert added < 100 * keys, f"{added} bytes for {keys} keys"
