"""Parameters of FarReach's control plane that are no options of the scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.kits.write_back.parameters import WriteBackParameters

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack


@dataclass(frozen=True, kw_only=True)
class FarReachParameters(WriteBackParameters):
    """Parameters that a rack or a test sets.

    `pipelines`: of the switch, 1, 2 or 4. `original_patience`: ns to wait for originals after the
    last entry is loaded. `collect_patience`: ns without an answer after which a recovery gives up a
    client.
    """

    pipelines: int = 1
    original_patience: Nanoseconds = 500 * MILLISECOND
    collect_patience: Nanoseconds = 5 * SECOND

    @classmethod
    def of_rack(cls, spec: GenericRack, **own: Any) -> Self:
        """The parameters for a rack. `collect_patience` is scaled by `lab.scale`, too."""
        patience = round(cls.collect_patience * spec.lab.scale)
        return super().of_rack(spec, pipelines=spec.lab.pipelines, collect_patience=patience, **own)
