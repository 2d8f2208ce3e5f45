"""`netkv soak lake` finds a mutant of LaKe in each rule of docs/schemes/lake.md.

The cases are those of seeds, and the same for all mutants. Without a defect they have no violation.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import pytest

from netkv.schemes.lake import mutants
from netkv.soak.case_generator import generate
from netkv.soak.run import Outcome, play

pytestmark = pytest.mark.slow


class Found(NamedTuple):
    """A mutant, and seeds of which one finds it."""

    mutant: str
    seeds: tuple[int, ...]
    kinds: tuple[str, ...] = ("stale-read", "not-linearizable", "phantom-value", "lost-write")
    """Kinds of violations that it may cause."""


FOUND = {
    "1": Found("no-bucket-order", (28,)),
    "2": Found("fill-after-mutation", (16,)),
    "3": Found("mix-up-clients", (189,)),
    "4": Found("fill-before-lifetime", (70,)),
    "5": Found("serve-beyond-max-age", (90,), ("broken-rule",)),
    "6": Found("store-conditional", (8,), ("refused-value",)),
    "7": Found("ignore-udp-checksum", (25,)),
    "a reply with a status other than 0": Found("fill-of-refusal", (16,)),
}
"""For each rule of freshness."""


@pytest.fixture(autouse=True)
def _built(home: object) -> None:
    """Builds are kept from one run of the tests to the next."""


@functools.cache
def outcome(mutant: str, seed: int) -> Outcome:
    return play(generate("lake", seed, mutant=mutant))


@pytest.mark.parametrize("rule", FOUND)
def test_soak_finds_a_broken_rule(rule: str) -> None:
    found = FOUND[rule]
    violations = [outcome(found.mutant, seed).violation for seed in found.seeds]
    kinds = {violation.kind for violation in violations if violation is not None}
    assert kinds, f"none of the seeds {found.seeds} finds '{found.mutant}'"
    assert kinds <= set(found.kinds)


@pytest.mark.parametrize("seed", sorted({seed for each in FOUND.values() for seed in each.seeds}))
def test_same_case_without_a_defect_has_no_violation(seed: int) -> None:
    found = outcome("none", seed)
    assert found.violations == ()
    assert found.operations > 1000


def test_rules_and_names_are_those_of_the_mutants() -> None:
    rules = {each.name: each.rule for each in mutants.MUTANTS}
    for rule, found in FOUND.items():
        assert rules[found.mutant] == rule or not rule.isdecimal()
    numbered = {rule for rule in rules.values() if rule.isdecimal()}
    # Each card of a rack has one server, so no case of the soak concerns rule 8.
    assert numbered - {"8"} <= set(FOUND)
