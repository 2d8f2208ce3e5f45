"""Every comparison of `comparisons.toml` is in its place, and its test fails without it."""

from __future__ import annotations

import pytest

from tests.comparisons.mutated import mutated, run
from tests.comparisons.register import Comparison, comparisons

ALL = comparisons()


def test_every_comparison_is_in_its_place() -> None:
    """An edit whose place is not found exactly once raises an exception."""
    assert len(ALL) > 100
    assert all(it.edit.text() for it in ALL)


def test_every_comparison_has_a_test_or_a_reason() -> None:
    without = [f"{it.scheme}: {it.rule}" for it in ALL if not it.test and not it.reason]
    assert without == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "it", [it for it in ALL if it.test], ids=lambda it: f"{it.scheme}: {it.rule}"
)
def test_a_test_fails_without_the_comparison(it: Comparison) -> None:
    with mutated(it.edit):
        assert run([it.test]).failed == [it.test]
