"""Random cases of `netkv soak` for memcached."""

from __future__ import annotations

from collections.abc import Sequence

from netkv.events.case import GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.conditional_writes import with_conditional_writes
from netkv.kits.cases.random_draw import RandomDraw


def adapt(
    draw: RandomDraw,
    case: GenericCase,
    kinds: Sequence[FaultKind],  # noqa: ARG001 (a fixed signature)
) -> GenericCase:
    """See `netkv.schemes.parts.Soak`."""
    return with_conditional_writes(draw, case)
