"""Options of CoordiMC."""

from __future__ import annotations

from netkv.model.scheme_options import CoordinatorOptions, MultigetPackets


class CoordiMcOptions(CoordinatorOptions, MultigetPackets):
    """Options of CoordiMC."""
