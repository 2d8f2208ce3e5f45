"""Options of CoordiMC."""

from __future__ import annotations

from netkv.schemes.options import CoordinatorOptions


class CoordiMcOptions(CoordinatorOptions):
    """Options of CoordiMC."""
