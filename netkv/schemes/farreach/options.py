"""Options of FarReach."""

from __future__ import annotations

from netkv.model.scheme_options import WriteBackCache


class FarReachOptions(WriteBackCache):
    """Options of FarReach."""

    max_entries = 32_768
    left_out = {"sample_rate": 0.5}  # noqa: RUF012 (declared as ClassVar by the base)
