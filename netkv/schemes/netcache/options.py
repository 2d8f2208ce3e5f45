"""Options of NetCache."""

from __future__ import annotations

from netkv.kits.write_through.options import WriteThroughOptions


class NetCacheOptions(WriteThroughOptions):
    """Options of NetCache."""

    compare_versions: bool = True
    """Whether an UPDATE makes an entry valid only if it carries the version of the last write.
    False measures what the comparison costs; reads may then return old values."""

    await_updates: bool = True
    """Whether a server sends the UPDATE of a write again until the switch answers, while further
    writes of the key wait. False: it is sent once and nothing waits, so a lost one leaves the entry
    invalid until the next write."""
