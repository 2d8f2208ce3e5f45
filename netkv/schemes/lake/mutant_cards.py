"""LaKe's card with one of its mutants, for `netkv soak lake --mutant NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from netkv.lab.spec import LabSpec
from netkv.schemes.lake import mutants
from netkv.schemes.lake.mutants import Mutant
from netkv.schemes.lake.options import UNIT_CYCLES
from netkv.schemes.scheme import CardDesign

NONE = Mutant(0, "none", "the same build without a defect")
UNITS = UNIT_CYCLES >> mutants.UNIT_BITS
"""Units of time of the mutants in one of LaKe."""


def cards(
    original: Callable[[LabSpec], CardDesign],
) -> Mapping[str, Callable[[LabSpec], CardDesign]]:
    """The card with each mutant, by name; `original`: LaKe's card of a lab."""
    return {each.name: partial(_card, original, each) for each in (NONE, *mutants.MUTANTS)}


def _card(original: Callable[[LabSpec], CardDesign], mutant: Mutant, lab: LabSpec) -> CardDesign:
    card = original(lab)
    # The mutant comes first: a write of `command` already depends on it.
    settings = {"mutant": mutant.number, **card.settings}
    for name in ("lifetime", "max_age"):
        settings[name] *= UNITS
    return replace(card, manifest=mutants.design(), settings=settings)
