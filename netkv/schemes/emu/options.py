"""Options of FPGA cards that answer memcached's requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netkv.options import Unit
from netkv.schemes.options import SchemeOptions

MHZ = Unit("MHz")


class CardOptions(SchemeOptions):
    """Options of schemes with an FPGA card before each server."""

    card_clock: Annotated[float, Field(ge=10, le=1000), MHZ] = 200.0
    """Clock of the FPGA card before each server, in MHz; the paper's boards run at 200."""

    @property
    def clock_change(self) -> str:
        """The change of a design's manifest."""
        return f"clock_mhz={self.card_clock:g}"
