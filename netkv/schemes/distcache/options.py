"""Options of DistCache."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netkv.kits.write_through.options import WriteThroughOptions
from netkv.options import SECONDS


class DistCacheOptions(WriteThroughOptions):
    """Options of DistCache. The entries and rows are those of each switch with a cache."""

    load_half_life: Annotated[float, Field(ge=0.002, le=3600), SECONDS] = 0.1
    """Time after which the load of a switch that is not heard of counts half, and after twice that
    time a quarter. Then it counts nothing."""

    @property
    def load_half_life_ns(self) -> int:
        """`load_half_life` in nanoseconds."""
        return round(self.load_half_life * 1e9)
