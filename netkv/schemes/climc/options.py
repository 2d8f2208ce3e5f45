"""Options of CliMC."""

from __future__ import annotations

from netkv.model.scheme_options import MultigetPackets


class CliMcOptions(MultigetPackets):
    """Options of CliMC."""
