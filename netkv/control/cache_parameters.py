"""Parameters of control planes of switch caches that are no options of users."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from netkv.control.roundtrip import Timeouts

if TYPE_CHECKING:
    from netkv.model.spec import GenericRack


@dataclass(frozen=True, kw_only=True)
class CacheParameters:
    """What a control plane has besides the scheme's options; a rack or a test sets it.

    `drawn`: entries that a hot key is compared with. `max_…`: limits of concurrent operations.
    `numbers_per_second`: messages and generations (netkv/control/message_numbers.py). `timeouts`:
    bounds of the wait for a reply.
    """

    drawn: int = 8
    max_in_flight: int = 64
    max_contests: int = 16
    max_waiting: int = 1024
    seed: int = 0
    numbers_per_second: int = 32_768
    timeouts: Timeouts = field(default_factory=Timeouts)

    @classmethod
    def of_rack(cls, spec: GenericRack, **own: Any) -> Self:
        """The parameters for a rack, with the scheme's `own`.

        The timeouts are scaled by `lab.scale`, as the delays of hosts and links are.
        """
        return cls(seed=spec.seed, timeouts=Timeouts().scaled(spec.lab.scale), **own)

    def __post_init__(self) -> None:
        """Raises ValueError for a limit below 1 or a time below 1 ns."""
        for name, value in vars(self).items():
            if name not in ("seed", "timeouts") and value < 1:
                raise ValueError(f"{name} {value}: at least 1 is needed.")
