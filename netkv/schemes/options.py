"""Options of schemes: the base of their models, and options that several schemes have.

Users write the options of all schemes flat under `lab`, beside those of every lab. A value applies
to the schemes that have the option. So an option of one name has one declaration: schemes that
share it inherit it from a model here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from netkv.options import SECONDS, Spec, Unit

if TYPE_CHECKING:
    from netkv.lab.spec import LabSpec


MHZ = Unit("MHz")


class SchemeOptions(Spec):
    """The options of a scheme; a scheme without options has this model itself."""

    left_out: ClassVar[Mapping[str, Any]] = {}
    """Option → the value that replaces None. None means that the user left the option out."""

    @classmethod
    def of(cls, lab: LabSpec) -> Self:
        """The values of these options in a lab."""
        values = {name: getattr(lab, name) for name in cls.model_fields}
        chosen = {name: each for name, each in cls.left_out.items() if values[name] is None}
        return cls.model_validate(values | chosen)


class SwitchCache(SchemeOptions):
    """Options of schemes that cache hot records in the switch."""

    max_entries: ClassVar[int] = 65_536
    """Entries that the switch has room for."""

    cache_entries: Annotated[int, Field(ge=0, le=65536)] = 1000
    """Records that a caching scheme may hold in the switch."""
    hot_threshold: Annotated[int, Field(ge=1, le=65535)] = 16
    """Counted requests for an uncached key within an epoch that make it hot, so that it may be
    cached: reads, and with a write-back cache writes, too."""
    sample_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of requests that is counted; left out, the scheme's own."""
    epoch: Annotated[float, Field(gt=0, le=3600), SECONDS] = 1.0
    """Time after which a caching scheme resets its statistics."""
    preload: bool = True
    """Start with the hottest `cache_entries` keys cached."""

    @property
    def preloaded(self) -> int:
        """Keys that are cached at the start."""
        return self.cache_entries if self.preload else 0


class WriteBackCache(SwitchCache):
    """Options of schemes whose switch holds records that no server has yet."""

    snapshot_period: Annotated[float, Field(ge=0, le=3600), SECONDS] = 10.0
    """Time from one snapshot of the write-back cache to the next; 0 for none."""


class CoordinatorOptions(SchemeOptions):
    """Options of schemes with a coordinator."""

    coordinator_workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Threads of the coordinator; simulated: cores of its host."""
    coordinator_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Requests that the coordinator has under way before it refuses further ones."""


class CardOptions(SchemeOptions):
    """Options of schemes with an FPGA card before each server."""

    card_clock: Annotated[float, Field(ge=10, le=1000), MHZ] = 200.0
    """Clock of the FPGA card before each server, in MHz; the paper's boards run at 200."""

    @property
    def clock_change(self) -> str:
        """The change of a design's manifest."""
        return f"clock_mhz={self.card_clock:g}"
