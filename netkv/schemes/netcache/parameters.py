"""Parameters of NetCache's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from netkv.control.cache_parameters import CacheParameters
from netkv.control.slots import MAX_ROWS
from netkv.schemes.netcache.options import NetCacheOptions, WriteThroughOptions

if TYPE_CHECKING:
    from netkv.lab.spec import RackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteThroughParameters(CacheParameters):
    """Parameters of a write-through cache. `rows`: rows of the value arrays to use."""

    options: ClassVar[type[WriteThroughOptions]] = WriteThroughOptions

    rows: int = MAX_ROWS

    @classmethod
    def of_rack(cls, spec: RackSpec, **own: Any) -> Self:
        """The parameters for a rack, with the scheme's `own`."""
        rows = cls.options.of(spec.lab).cache_rows or MAX_ROWS
        return cls.of_cache(spec, rows=rows, **own)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCacheParameters(WriteThroughParameters):
    """Parameters that a rack or a test sets."""

    options: ClassVar[type[NetCacheOptions]] = NetCacheOptions
