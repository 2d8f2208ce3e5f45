"""The incarnation of a running switch (docs/schemes/farreach.md, "Words")."""

# Callbacks have the parameters of their type, whether they use them or not.
# ruff: noqa: ARG001

from collections.abc import Iterable, Iterator

from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.message_numbers import is_newer
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.switch_settings import SwitchSettings


class Incarnations:
    """Increments the incarnation of a running switch.

    Rules
    -----
    1. The incarnation is incremented after a fixed time, so that two sequence numbers of one
       incarnation are always less than half of their range apart.
    2. It is above the incarnation of every record. It can be below only if the saved state was
       lost. Then servers would treat every new write as older than the stored record.
    3. An incarnation is saved before the switch gets it.
    """

    def __init__(
        self, checkpoint: Checkpoint, settings: SwitchSettings, length: Nanoseconds
    ) -> None:
        """`length`: how long the switch keeps an incarnation."""
        self._checkpoint = checkpoint
        self._settings = settings
        self._length = length
        self._ends: Nanoseconds | None = None
        self._above = 0
        self._incrementing = False

    def begin(self, now: Nanoseconds) -> None:
        """The switch has got a new incarnation."""
        self._ends = now + self._length
        self._incrementing = False

    def pause(self) -> None:
        """The switch has no incarnation."""
        self._ends = None

    def observe(self, incarnation: int) -> bool:
        """Note that a record of this incarnation exists; returns whether it is above ours."""
        later = is_newer(incarnation, self._checkpoint.incarnation)
        if later:
            self._above = incarnation
        return later

    def deadline(self) -> Nanoseconds | None:
        """When the incarnation is to be incremented."""
        return None if self._incrementing else self._ends

    def pump(self, now: Nanoseconds) -> Iterable[Action]:
        """Increment the incarnation, if that is due."""
        if self._ends is None or self._incrementing or (now < self._ends and not self._above):
            return ()
        notes: list[Action] = []
        incarnation = self._checkpoint.incarnation + 1
        if self._above:
            known = {"ours": self._checkpoint.incarnation, "known": self._above}
            notes.append(Note("a later incarnation is known", known))
            incarnation = self._above + 2
            self._above = 0
        # 0 means "no incarnation".
        self._checkpoint.incarnation = incarnation = incarnation % (1 << 32) or 1
        self._incrementing = True

        def saved(now: Nanoseconds) -> Iterator[Action]:
            yield from self._settings.set_incarnation(incarnation, written)

        def written(now: Nanoseconds) -> Iterator[Action]:
            self.begin(now)
            return iter(())

        self._checkpoint.save(saved)
        return notes
