"""The actions of events, found in the folder `actions`, and the kinds of random faults."""

from __future__ import annotations

import importlib
import pkgutil

from netkv.events import actions
from netkv.events.action import Action, DrawnFault


def _found() -> list[type[Action]]:
    names = [it.name for it in pkgutil.iter_modules(actions.__path__, f"{actions.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Action)
        and value.__module__ == module.__name__
        and "NAME" in vars(value)
    ]


ACTIONS: tuple[type[Action], ...] = tuple(sorted(_found(), key=lambda it: (it.ORDER, it.NAME)))
IN_SCENARIOS = tuple(it for it in ACTIONS if it.IN_SCENARIOS)

_drawn = [(action, fault) for action in ACTIONS for fault in action.DRAWN]
NAMED_KINDS = tuple(
    fault.kind for action, fault in _drawn if fault.simulated or action.NEED is not None
)
"""Random faults that are drawn only if a scenario names them: those that only the simulator can do,
or that not all schemes support. A scheme that supports them may still lose acknowledged writes: if
client and switch crash within a short time."""
# The order determines what is drawn from a seed.
FAULTS: dict[str, tuple[type[Action], DrawnFault]] = {
    fault.kind: (action, fault)
    for action, fault in sorted(_drawn, key=lambda it: it[1].kind in NAMED_KINDS)
}
"""Kind of random faults → the action with which they begin, and how they are drawn."""
FAULT_KINDS = tuple(FAULTS)
