"""Parameters of NetCache's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netkv.kits.write_through.parameters import WriteThroughParameters
from netkv.schemes.netcache.options import NetCacheOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCacheParameters(WriteThroughParameters):
    """Parameters that a rack or a test sets."""

    options: ClassVar[type[NetCacheOptions]] = NetCacheOptions
