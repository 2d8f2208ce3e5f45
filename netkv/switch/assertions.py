"""False assertions of the P4 program of a switch, each told once."""

from __future__ import annotations

from netkv import _engine


class AssertionWatch:
    """Finds assertions that are false for the first time."""

    def __init__(self, switch: _engine.Switch) -> None:
        self._switch = switch
        self._told: set[str] = set()

    def new(self) -> list[str]:
        """A sentence for each assertion that was false since the last call, and not before."""
        places = [place for place, _ in self._switch.failed_assertions()]
        new = [place for place in places if place not in self._told]
        self._told.update(new)
        return [f"The assertion at {place} was false." for place in new]
