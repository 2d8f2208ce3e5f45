"""The cards of a lab with a mutant, for `netkv soak SCHEME --mutant NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from netkv.kits.design_mutants import NONE, UNIT_BITS, Mutant
from netkv.model.card_design import CardDesign
from netkv.model.hardware import GenericLab
from netkv.model.manifest import Manifest
from netkv.model.scheme_options import CardCache
from netkv.schemes.scheme import Broken, Scheme

UNITS = CardCache.unit_cycles >> UNIT_BITS
"""Units of time of a design with mutants in one of the design as it ships."""

CardOf = Callable[[GenericLab], CardDesign]


def cards(
    original: CardOf, mutants: Sequence[Mutant], design: Callable[[], Manifest]
) -> Mapping[str, Broken]:
    """The scheme with each mutant of its card, by name.

    Args:
        original: the scheme's card of a lab.
        mutants: all of its design.
        design: the design with them.
    """
    return {
        each.name: partial(_broken, partial(_card, original, each, design))
        for each in (NONE, *mutants)
    }


def _broken(card: CardOf, scheme: Scheme) -> AbstractContextManager[Scheme]:
    return nullcontext(scheme.with_card(card))


def _card(
    original: CardOf, mutant: Mutant, design: Callable[[], Manifest], lab: GenericLab
) -> CardDesign:
    card = original(lab)
    # The mutant comes first: later writes already depend on it.
    settings = {"mutant": mutant.number, **card.settings}
    for name in ("lifetime", "max_age", "second"):
        settings[name] *= UNITS
    return replace(card, manifest=design(), settings=settings)
