"""Writes to a switch with several pipelines: one after the other, as a switch's driver does it.

The engine may process packets in between, so a write may be visible in one pipeline and not yet in
another. The response to a Write is sent after all pipelines have it.
"""

from __future__ import annotations

from collections.abc import Callable

from netkv import _engine
from netkv.p4rt.errors import Code, RpcError


def in_each_pipeline(switch: _engine.Switch, write: Callable[[int], object]) -> None:
    """Calls `write` with the number of each pipeline, in order.

    All have the same state, so a write that any would refuse fails in the first, without changes.
    Raises the engine's `ControlError` then, and INTERNAL if a later one refuses all the same.
    """
    for pipeline in range(switch.pipelines):
        try:
            write(pipeline)
        except _engine.ControlError as error:
            if pipeline == 0:
                raise
            raise refused_late(pipeline, str(error)) from None


def refused_late(pipeline: int, reason: str) -> RpcError:
    """A pipeline refuses a write that those before it have accepted."""
    return RpcError(
        Code.INTERNAL,
        f"pipeline {pipeline} refuses a write that the previous ones accepted ({reason}): "
        "another program has written to a single pipeline, not through this server",
    )
