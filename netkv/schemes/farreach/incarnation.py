"""The incarnation of a running switch (docs/farreach.md, "Words")."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG001

from collections.abc import Iterator

from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.message_numbers import is_newer
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.switch_settings import SwitchSettings


class Incarnations:
    """Increments the incarnation of a running switch.

    Rules
    -----
    1. It goes up by 1 after a fixed time, so that sequence numbers of one incarnation are never
       half of their range apart.
    2. It is above every incarnation that a record carries. It can only be below if the saved state
       was lost; a server would then take every write for one that was overwritten long ago.
    3. An incarnation is saved before the switch gets it.
    """

    def __init__(
        self, checkpoint: Checkpoint, settings: SwitchSettings, length: Nanoseconds
    ) -> None:
        """`length`: time for which the switch keeps an incarnation."""
        self._checkpoint = checkpoint
        self._settings = settings
        self._length = length
        self._ends: Nanoseconds | None = None
        self._above = 0
        self._raising = False

    def begin(self, now: Nanoseconds) -> None:
        """The switch has got an incarnation now."""
        self._ends = now + self._length
        self._raising = False

    def pause(self) -> None:
        """The switch has no incarnation."""
        self._ends = None

    def observe(self, incarnation: int) -> None:
        """A record of this incarnation exists."""
        if is_newer(incarnation, self._checkpoint.incarnation):
            self._above = incarnation

    def deadline(self) -> Nanoseconds | None:
        """When the incarnation is due to go up."""
        return None if self._raising else self._ends

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Increment the incarnation, if it is due."""
        if self._ends is None or self._raising or (now < self._ends and not self._above):
            return
        incarnation = self._checkpoint.incarnation + 1
        if self._above:
            yield Note(
                "a later incarnation is known",
                {"ours": self._checkpoint.incarnation, "known": self._above},
            )
            incarnation = self._above + 2
            self._above = 0
        # 0 is no incarnation.
        self._checkpoint.incarnation = incarnation = incarnation % (1 << 32) or 1
        self._raising = True

        def kept(now: Nanoseconds) -> Iterator[Action]:
            yield from self._settings.set_incarnation(incarnation, given)

        def given(now: Nanoseconds) -> Iterator[Action]:
            self.begin(now)
            return iter(())

        self._checkpoint.save(kept)
