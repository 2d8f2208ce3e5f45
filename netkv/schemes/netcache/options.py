"""Options of NetCache."""

from __future__ import annotations

from netkv.kits.write_through.options import WriteThroughOptions


class NetCacheOptions(WriteThroughOptions):
    """Options of NetCache."""

    compare_versions: bool = True
    """Whether an UPDATE makes an entry valid only if it carries the version of the last write.
    False measures what the comparison costs; reads may then return old values."""
