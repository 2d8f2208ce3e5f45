"""Options of CoordiMC."""

from __future__ import annotations

from netkv.model.scheme_options import CoordinatorOptions


class CoordiMcOptions(CoordinatorOptions):
    """Options of CoordiMC."""
