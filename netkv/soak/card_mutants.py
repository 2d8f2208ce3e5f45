"""The cards of a lab with a mutant, for `netkv soak SCHEME --mutant NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from netkv.fpga.manifest import Manifest
from netkv.fpga.mutants import NONE, UNIT_BITS, Mutant
from netkv.lab.spec import LabSpec
from netkv.schemes.options import CardCache
from netkv.schemes.scheme import CardDesign

UNITS = CardCache.unit_cycles >> UNIT_BITS
"""Units of time of a design with mutants in one of the design as it ships."""

CardOf = Callable[[LabSpec], CardDesign]


def cards(
    original: CardOf, mutants: Sequence[Mutant], design: Callable[[], Manifest]
) -> Mapping[str, CardOf]:
    """The card with each mutant, by name.

    Args:
        original: the scheme's card of a lab.
        mutants: all of its design.
        design: the design with them.
    """
    return {each.name: partial(_card, original, each, design) for each in (NONE, *mutants)}


def _card(
    original: CardOf, mutant: Mutant, design: Callable[[], Manifest], lab: LabSpec
) -> CardDesign:
    card = original(lab)
    # The mutant comes first: later writes already depend on it.
    settings = {"mutant": mutant.number, **card.settings}
    for name in ("lifetime", "max_age"):
        settings[name] *= UNITS
    return replace(card, manifest=design(), settings=settings)
