"""`netkv soak` against mutants of LaKe: the history checker finds each broken rule of freshness.

The design is the build with all mutants (`netkv.fpga.mutants`); a register chooses one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from netkv import schemes
from netkv.fpga import card, manifest, mutants
from netkv.fpga.manifest import Manifest
from netkv.lab.spec import LabSpec
from netkv.schemes.scheme import Card, Scheme
from netkv.soak import case_generator, run

UNITS = 8
"""Units of time of the mutants in one of LaKe."""
SEEDS = {
    "fill-after-mutation": range(3),
}
"""Mutants that random faults find, and seeds of which one does."""


def design(_name: str, _changes: Iterable[str]) -> Manifest:
    return mutants.design()


def mutated(number: int) -> Scheme:
    """LaKe with a mutant."""
    scheme = schemes.get("lake")
    original = scheme.card
    assert original is not None

    def with_mutant(lab: LabSpec) -> Card:
        found = original(lab)
        lifetime, age = found.settings["lifetime"] * UNITS, found.settings["max_age"] * UNITS
        settings = {**found.settings, "lifetime": lifetime, "max_age": age, "mutant": number}
        return replace(found, settings=settings)

    return replace(scheme, card=with_mutant)


@pytest.fixture(autouse=True)
def _design(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "find", design)


def violated(number: int, seeds: Iterable[int]) -> bool:
    """Whether one of these cases finds a violation."""
    scheme = mutated(number)
    return any(
        run.play(case_generator.generate("lake", seed), None, scheme).violations for seed in seeds
    )


@pytest.mark.parametrize("name", SEEDS)
def test_soak_finds_a_broken_rule(name: str) -> None:
    number = next(each.number for each in mutants.MUTANTS if each.name == name)
    assert violated(number, SEEDS[name])


def test_the_same_cases_pass_without_a_mutant() -> None:
    assert not violated(0, sorted({seed for seeds in SEEDS.values() for seed in seeds}))
