"""Each comparison that a module leaves out makes a case of its bench fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netkv.kits.design_mutants import places
from netkv.schemes.client_cache import mutants as client_cache_mutants
from netkv.schemes.lake import mutants as lake_mutants
from tests.fpga import bench
from tests.fpga.bench_mutants import BENCH_MUTANTS, BenchMutant, numbers

pytestmark = pytest.mark.slow


def run(module: str, cases: Sequence[str], number: int, folder: Path) -> None:
    name = f"bench_{module}"
    found = bench.load(name)
    bench.run(name, found.TOP, found.PARAMETERS[-1], folder, cases=cases, mutant=number)


@pytest.mark.parametrize("mutant", BENCH_MUTANTS, ids=lambda each: each.name)
def test_mutant_is_found(mutant: BenchMutant, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"{mutant.case}.* of bench_{mutant.module}"):
        run(mutant.module, [mutant.case], mutant.number, tmp_path)


@pytest.mark.parametrize("module", sorted({each.module for each in BENCH_MUTANTS}))
def test_cases_pass_without_a_mutant(module: str, tmp_path: Path) -> None:
    cases = sorted({each.case for each in BENCH_MUTANTS if each.module == module})
    run(module, cases, 0, tmp_path)


def test_every_mutant_of_the_rtl_is_listed_once() -> None:
    listed = [each.number for each in lake_mutants.MUTANTS]
    listed += [
        each.number for each in client_cache_mutants.MUTANTS if each.number not in set(listed)
    ]
    listed += sorted(numbers())
    assert sorted(listed) == sorted(set(listed))
    assert places() == set(listed)
