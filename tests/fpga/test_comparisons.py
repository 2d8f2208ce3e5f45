"""Every comparison of the RTL has a mutant that leaves it out, or a reason why it has none."""

from __future__ import annotations

import pytest

from netkv.kits.design_mutants import edits
from tests.fpga.comparisons import COMPARISONS, Comparison, code, covers, found


def test_every_comparison_of_the_rtl_is_listed() -> None:
    missing = [
        f"{file}: {line}"
        for file, at, line in found()
        if not any(covers(each, file, at) for each in COMPARISONS)
    ]
    assert missing == []


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.file}-{each.text}")
def test_comparison_is_in_the_rtl(comparison: Comparison) -> None:
    assert comparison.text in code(comparison.file)
    assert bool(comparison.mutants) != bool(comparison.reason)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.file}-{each.text}")
def test_mutant_of_a_comparison_is_beside_it(comparison: Comparison) -> None:
    """In the same file, but for those of one rule in several modules."""
    numbers = {each.mutant for each in edits() if each.file == comparison.file}
    assert set(comparison.mutants) <= numbers
