"""Options of DistReach."""

from __future__ import annotations

from netkv.model.scheme_options import SwitchCache


class DistReachOptions(SwitchCache):
    """Options of DistReach. The entries are those of each switch; the switches of a chain cache the
    same records."""

    max_entries = 32_768
    left_out = {"sample_rate": 0.5}  # noqa: RUF012 (declared as ClassVar by the base)
