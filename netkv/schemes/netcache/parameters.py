"""Parameters of NetCache's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.control.cache_parameters import CacheParameters
from netkv.control.slots import MAX_ROWS
from netkv.schemes.netcache.options import NetCacheOptions

if TYPE_CHECKING:
    from netkv.lab.spec import RackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCacheParameters(CacheParameters):
    """Parameters that a rack or a test sets. `rows`: rows of the value arrays to use."""

    options: ClassVar[type[NetCacheOptions]] = NetCacheOptions

    rows: int = MAX_ROWS


def of_rack(spec: RackSpec) -> NetCacheParameters:
    """The parameters for a rack."""
    rows = NetCacheOptions.of(spec.lab).cache_rows or MAX_ROWS
    return NetCacheParameters.of_cache(spec, rows=rows)
