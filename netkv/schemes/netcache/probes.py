"""Entries and messages of NetCache for `netkv calibrate` (`netkv.control.probes`)."""

from netkv.control.base import InsertEntry
from netkv.kits.write_through.lifecycle import LOOKUP
from netkv.model.messages import CacheMetadata, Message, Op
from netkv.model.topology import KEY_BYTES

_ALL_ARRAYS = 0xFF


class NetCacheProbes:
    """Each key has a row of its own. Its number is its entry, its row and its generation."""

    def entry(self, number: int, key: bytes) -> InsertEntry:
        """See `Probes`."""
        params = {
            "entry": number,
            "index": number,
            "bitmap": _ALL_ARRAYS,
            "generation": number,
        }
        match = {"key": int.from_bytes(key)}
        return InsertEntry(number, LOOKUP, match, "NetkvIngress.lookup.cached", params)

    def install(self, number: int, key: bytes) -> Message:
        """See `Probes`."""
        return Message(
            Op.INSTALL, key, request=number, cache_metadata=CacheMetadata(number, 0, _ALL_ARRAYS)
        )

    def echo(self, request: int) -> Message:
        """See `Probes`."""
        return Message(Op.STATS, bytes(KEY_BYTES), request=request)


PROBES = NetCacheProbes()
