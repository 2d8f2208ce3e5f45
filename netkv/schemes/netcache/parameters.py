"""Parameters of NetCache's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.control.base import SECOND
from netkv.control.cache_parameters import CacheParameters
from netkv.control.roundtrip import Timeouts
from netkv.control.slots import MAX_ROWS
from netkv.schemes.netcache.options import NetCacheOptions

if TYPE_CHECKING:
    from netkv.lab.spec import RackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCacheParameters(CacheParameters):
    """What a rack, and tests, may choose. `rows`: rows of the value arrays to use."""

    MAX_ENTRIES: ClassVar[int] = 65_536

    rows: int = MAX_ROWS


def of_rack(spec: RackSpec) -> NetCacheParameters:
    """The parameters for a rack. What waits for hosts follows what hosts and links take."""
    options = NetCacheOptions.of(spec.lab)
    assert options.sample_rate is not None, "the scheme has a value of its own"
    return NetCacheParameters(
        capacity=options.cache_entries,
        rows=options.cache_rows or MAX_ROWS,
        sample_rate=options.sample_rate,
        hot_threshold=options.hot_threshold,
        epoch=max(round(options.epoch * SECOND), 1),
        seed=spec.seed,
        timeouts=Timeouts().scaled(spec.lab.scale),
    )
