"""Parameters of DistCache's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.control.base import SECOND, Nanoseconds
from netkv.kits.write_through.parameters import WriteThroughParameters
from netkv.schemes.distcache.options import DistCacheOptions

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack

TIME_UNIT = 1024 * 1000
"""Nanoseconds of a unit of time in p4/distcache/choice.p4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistCacheParameters(WriteThroughParameters):
    """Parameters that a rack or a test sets; `capacity` and `rows` are those of each switch."""

    options: ClassVar[type[DistCacheOptions]] = DistCacheOptions

    load_half_life: Nanoseconds = SECOND // 10


def of_rack(spec: GenericRack) -> DistCacheParameters:
    """The parameters for a rack."""
    half_life = round(DistCacheOptions.of(spec.lab).load_half_life * SECOND)
    return DistCacheParameters.of_rack(spec, load_half_life=half_life)
