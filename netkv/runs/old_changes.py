"""Changes of a rack in the texts of notes, where stores up to version 6 have them.

The texts are those of `TimelineEvent.describe` at that time, with a prefix if a user injected the
fault: `Injected: link to client: loss 0.1`. Texts of later versions are not read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from netkv.rack.report import Cause, Change
from netkv.scenarios.changes import Changes
from netkv.scenarios.events import TimelineEvent

_CAUSES: dict[str, Cause] = {"": "scenario", "Injected: ": "user", "Healed: ": "duration"}
_NODE = re.compile(r"(kill|stop|start) ([\w-]+)(, storage \w+| after \d+ more actions)?")
_LINK = re.compile(r"link (of|to|from) ([\w:-]+): (in order|\w+ [\d.e-]+.*)")
_SLOW = re.compile(r"slow ([\w-]+): factor ([\d.e+]+)")
_CHANNEL = re.compile("(partition|heal) controller")
_SHIFT = re.compile(r"shift (hot-in|hot-out|random) of \d+ keys")
_LOAD = re.compile(r"(rate|outstanding) [\d.e+]+")


class OldChanges:
    """Numbers the faults of one run."""

    def __init__(self) -> None:
        self._changes = Changes()

    def read(self, note: str) -> Change | None:
        """The change in the text of a note; None if there is none."""
        prefix = next((each for each in _CAUSES if each and note.startswith(each)), "")
        what = note.removeprefix(prefix)
        fields = _fields(what)
        if fields is None:
            return None
        event = TimelineEvent(at=0, **fields)
        change: Change = self._changes.fields(event, _CAUSES[prefix])["change"]
        return replace(change, what=what)


def _fields(what: str) -> dict[str, Any] | None:
    """The action of an event with this description. Of its value it has what it hits and whether it
    heals that."""
    if found := _NODE.fullmatch(what):
        return {found[1]: found[2]}
    if found := _LINK.fullmatch(what):
        direction = {"of": "both"}.get(found[1], found[1])
        return {"link": {"node": found[2], "direction": direction, "loss": found[3] != "in order"}}
    if found := _SLOW.fullmatch(what):
        return {"slow": {"node": found[1], "factor": 1 if found[2] == "1" else 2}}
    if found := _CHANNEL.fullmatch(what):
        return {found[1]: "controller"}
    if found := _SHIFT.fullmatch(what):
        return {"shift": {"kind": found[1]}}
    if found := _LOAD.fullmatch(what):
        return {found[1]: 1}
    return {"crash": "client"} if what == "crash client" else None
