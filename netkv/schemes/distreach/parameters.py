"""Parameters of DistReach's control plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.schemes.distreach.options import DistReachOptions

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack


@dataclass(frozen=True, slots=True, kw_only=True)
class DistReachParameters(WriteBackParameters):
    """Parameters that a rack or a test sets; `capacity` is that of each switch."""

    options: ClassVar[type[DistReachOptions]] = DistReachOptions


def of_rack(spec: GenericRack) -> DistReachParameters:
    """The parameters for a rack."""
    return DistReachParameters.of_cache(spec)
