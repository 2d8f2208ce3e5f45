"""Options of LaKe."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netkv.model.scheme_options import CardCache
from netkv.options import SECONDS

BUILT_ELEMENTS = 5
"""Processing elements of the design as it ships; more need another build."""


class LakeOptions(CardCache):
    """Options of LaKe's card."""

    elements: Annotated[int, Field(ge=1, le=13)] = BUILT_ELEMENTS
    """Processing elements of LaKe. Up to 5 are enabled in one build of the design; another number
    needs a build of its own."""
    card_memory: Literal["dram", "sram", "chip"] = "dram"
    """Memories of LaKe's card. `chip`: on-chip RAM only; `sram`: free chunks in SRAM; `dram`: also
    hash table and values in DRAM."""
    shared_caches: bool = True
    """Whether LaKe's two on-chip caches before the DRAM are used."""
    max_age: Annotated[float, Field(ge=0, le=3600), SECONDS] = 0.0
    """Age up to which LaKe answers with a value; 0 for no limit."""
