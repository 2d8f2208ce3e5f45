"""Options of LaKe."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netkv.options import SECONDS
from netkv.schemes.options import CardOptions

BUILT_ELEMENTS = 5
"""Processing elements of the design as it ships; more need another build."""
UNIT_CYCLES = 1024
"""Cycles of a unit of time in the registers."""


class LakeOptions(CardOptions):
    """Options of LaKe's card."""

    elements: Annotated[int, Field(ge=1, le=13)] = BUILT_ELEMENTS
    """Processing elements of LaKe. Up to 5 are enabled in one build of the design; another number
    needs a build of its own."""
    card_memory: Literal["dram", "sram", "chip"] = "dram"
    """Memories of LaKe's card. `chip`: on-chip RAM only; `sram`: free chunks in SRAM; `dram`: also
    hash table and values in DRAM."""
    shared_caches: bool = True
    """Whether LaKe's two on-chip caches before the DRAM are used."""
    set_visible: Literal["acknowledged", "at-once"] = "acknowledged"
    """When the cache answers with the value of a SET: `acknowledged`: once the server has
    acknowledged it; `at-once`: as soon as the request has passed the card, as in the paper. Then
    reads return a value that the server may never store."""
    fill: bool = True
    """Whether LaKe stores the values of replies to reads that missed."""
    replies_copied: bool = False
    """Whether the network between a server and its card may copy replies. Then LaKe stores, of the
    requests of a client with one opaque, one in a `packet_lifetime`."""
    packet_lifetime: Annotated[float, Field(gt=0, le=60), SECONDS] = 0.1
    """Longest time that a packet is on its way to the server and back. LaKe relies on it: if a
    packet takes longer, a read may return an old value."""
    max_age: Annotated[float, Field(ge=0, le=3600), SECONDS] = 0.0
    """Age up to which LaKe answers with a value; 0 for no limit."""

    def units(self, seconds: float, mhz: float | None = None) -> int:
        """A time in the unit of the registers, rounded up; 0 for 0. `mhz`: None: `card_clock`."""
        return -int(-seconds * (mhz or self.card_clock) * 1e6 // UNIT_CYCLES)
