"""Writes to a switch of several pipelines: in one after the other, as a switch's driver does it.

The engine is free between two of them, so packets may find a write in one pipeline and not yet in
another. Whoever waits for the answer to a Write knows that it has reached all.
"""

from __future__ import annotations

from collections.abc import Callable

from netkv import _engine
from netkv.p4rt.errors import Code, RpcError


def in_each_pipeline(switch: _engine.Switch, write: Callable[[int], object]) -> None:
    """Calls `write` with the number of each pipeline, in order.

    All have the same state, so the first refuses what any would, and then nothing is changed.
    Raises the engine's `ControlError` then, and INTERNAL if a later one refuses all the same.
    """
    for pipeline in range(switch.pipelines):
        try:
            write(pipeline)
        except _engine.ControlError as error:
            if pipeline == 0:
                raise
            raise RpcError(
                Code.INTERNAL,
                f"pipeline {pipeline} refuses what the ones before it took ({error}): someone has "
                "written to a single pipeline past this server",
            ) from None
