"""Parameters of control planes of write-through caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from netkv.control.cache_parameters import CacheParameters
from netkv.control.slots import MAX_ROWS
from netkv.kits.write_through.options import WriteThroughOptions

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteThroughParameters(CacheParameters):
    """Parameters of a write-through cache. `rows`: rows of the value arrays to use."""

    options: ClassVar[type[WriteThroughOptions]] = WriteThroughOptions

    rows: int = MAX_ROWS

    @classmethod
    def of_rack(cls, spec: GenericRack, **own: Any) -> Self:
        """The parameters for a rack, with the scheme's `own`."""
        rows = cls.options.of(spec.lab).cache_rows or MAX_ROWS
        return cls.of_cache(spec, rows=rows, **own)
