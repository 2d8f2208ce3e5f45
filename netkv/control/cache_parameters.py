"""Parameters that control planes of switch caches have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from netkv.control.base import SECOND, Nanoseconds
from netkv.control.roundtrip import Timeouts

if TYPE_CHECKING:
    from netkv.model.scheme_options import SwitchCache
    from netkv.model.spec import GenericRack


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheParameters:
    """Parameters of a control plane; a scheme inherits them and sets its own defaults.

    `capacity`: entries. `sample_rate`: share of requests that is counted, 0 to 1. `hot_threshold`:
    counted requests in an epoch that make a key hot. `epoch`: length of a statistics epoch in ns.
    `drawn`: entries that a hot key is compared with. `max_…`: limits of concurrent operations.
    `numbers_per_second`: messages and generations (netkv/control/message_numbers.py). `timeouts`:
    bounds of the wait for a reply.
    """

    options: ClassVar[type[SwitchCache]]
    """The scheme's options, which users set, and the limit of entries."""

    capacity: int = 10_000
    sample_rate: float = 1.0
    hot_threshold: int = 64
    epoch: Nanoseconds = SECOND
    drawn: int = 8
    max_in_flight: int = 64
    max_contests: int = 16
    max_waiting: int = 1024
    seed: int = 0
    numbers_per_second: int = 32_768
    timeouts: Timeouts = field(default_factory=Timeouts)

    @classmethod
    def of_cache(cls, spec: GenericRack, **own: Any) -> Self:
        """The parameters for a rack, with the scheme's `own`.

        The timeouts are scaled by `lab.scale`, as the delays of hosts and links are.
        """
        options = cls.options.of(spec.lab)
        assert options.sample_rate is not None, "the scheme sets its own in `left_out`"
        return cls(
            capacity=options.cache_entries,
            # A cache without entries admits nothing, so nothing is counted for it.
            sample_rate=options.sample_rate if options.cache_entries else 0.0,
            hot_threshold=options.hot_threshold,
            epoch=max(round(options.epoch * SECOND), 1),
            seed=spec.seed,
            timeouts=Timeouts().scaled(spec.lab.scale),
            **own,
        )

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid parameter."""
        most = self.options.max_entries
        if not 0 <= self.capacity <= most:
            raise ValueError(f"capacity {self.capacity}: the cache has 0 to {most} entries.")
        if not 0.0 <= self.sample_rate <= 1.0:
            raise ValueError(f"sample_rate {self.sample_rate}: a share lies within 0 and 1.")
        if not 1 <= self.hot_threshold <= 0xFFFF:
            raise ValueError(f"hot_threshold {self.hot_threshold}: counts are 1 to 65535.")
        self.check_times("epoch")
        self.check_limits("drawn", "max_in_flight", "max_contests", "max_waiting")

    def check_times(self, *names: str) -> None:
        """Raises ValueError for a time below 1 ns."""
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: it lasts at least 1 ns.")

    def check_limits(self, *names: str) -> None:
        """Raises ValueError for a limit below 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: at least 1 is needed.")
