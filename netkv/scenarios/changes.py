"""Changes of a rack by its scenario and its users, as events: which faults begin and end with each.

Rules
-----
1. A fault has a number. It begins with a change that impairs something: a node, a direction of a
   link, the rate of servers, the control channel (`Action.parts`).
2. It ends with the change after which all its parts are in order, or impaired by later faults.
3. Both are known where the change is carried out, and stored with the event.
"""

from __future__ import annotations

import itertools
from typing import Any

from netkv.events.action import Action, Target
from netkv.model.nodes import Client
from netkv.model.report import Cause, Change

_PREFIXES: dict[Cause, str] = {"scenario": "", "user": "Injected: ", "duration": "Healed: "}


class Changes:
    """Numbers the faults of one rack."""

    def __init__(self) -> None:
        self._impaired: dict[Target, int] = {}
        """The last fault of each part that is not in order."""
        self._numbers = itertools.count(1)

    def fields(self, action: Action, cause: Cause) -> dict[str, Any]:
        """`kind`, `node`, `text` and `change` of the event about a change that is carried out."""
        begins = None
        hit = action.parts
        before = {self._impaired.pop(target) for target in hit if target in self._impaired}
        if hit and not action.heals:
            begins = next(self._numbers)
            self._impaired |= dict.fromkeys(hit, begins)
        ended = before - set(self._impaired.values())
        what = action.describe()
        return {
            "kind": action.kind,
            "node": action.node or Client.NAME,
            "text": f"{_PREFIXES[cause]}{what}",
            "change": Change(
                cause, action.NAME, what, begins, tuple(sorted(ended)), hit[0][0] if hit else ""
            ),
        }

    def impaired(self, target: Target) -> bool:
        """Whether a fault of this target has not ended."""
        return target in self._impaired
