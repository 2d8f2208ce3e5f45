"""Options of NetMC."""

from __future__ import annotations

from netkv.model.scheme_options import MultigetSplitting


class NetMcOptions(MultigetSplitting):
    """Options of NetMC."""
