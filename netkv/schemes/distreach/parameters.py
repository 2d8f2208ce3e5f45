"""Parameters of DistReach's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.schemes.distreach.options import DistReachOptions
from netkv.schemes.farreach.parameters import WriteBackParameters

if TYPE_CHECKING:
    from netkv.lab.spec import RackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class DistReachParameters(WriteBackParameters):
    """Parameters that a rack or a test sets; `capacity` is that of each switch."""

    options: ClassVar[type[DistReachOptions]] = DistReachOptions


def of_rack(spec: RackSpec) -> DistReachParameters:
    """The parameters for a rack."""
    return DistReachParameters.of_cache(spec)
