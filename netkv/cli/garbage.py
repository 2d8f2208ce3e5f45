"""When the garbage collector runs: not in a short command, and as usual in a long one."""

from __future__ import annotations

import gc

_START = 100_000
"""New objects before the first collection; a short command ends before it."""


def defer() -> None:
    """Lets the first collection wait.

    Most objects of a command come from its imports and live as long as it does. By default the
    collector visits them after each 700 new ones: a tenth of the time of a short command. In a long
    one that threshold keeps garbage of hundreds of MiB, so it counts only for the first collection.
    """
    usual = gc.get_threshold()
    if usual[0] == _START:
        return

    def collected(phase: str, _: object) -> None:
        if phase == "stop":
            gc.callbacks.remove(collected)
            gc.set_threshold(*usual)

    gc.callbacks.append(collected)
    gc.set_threshold(_START)
