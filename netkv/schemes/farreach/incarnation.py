"""The life of the switch goes up while it goes on (docs/farreach.md, "Words")."""

# What follows from an answer takes what there is to know, needed or not.
# ruff: noqa: ARG001

from collections.abc import Iterator

from netkv.control.base import Action, Nanoseconds, Note
from netkv.control.message_numbers import is_newer
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.switch_settings import Settings


class Incarnations:
    """Raises the life.

    Rules
    -----
    1. By 1 every era, so that numbers of one life are never half of their range apart.
    2. Above any life that somebody has a record of. That can only be needed if saved bytes were
       lost: a server would take every write of this life for one that was overwritten long ago.
    3. A life is saved before the switch has it.
    """

    def __init__(self, keeper: Checkpoint, settings: Settings, length: Nanoseconds) -> None:
        """`length` of an era."""
        self._keeper = keeper
        self._settings = settings
        self._length = length
        self._ends: Nanoseconds | None = None
        self._above = 0
        self._raising = False

    def begin(self, now: Nanoseconds) -> None:
        """The switch has a life that it was just given."""
        self._ends = now + self._length
        self._raising = False

    def pause(self) -> None:
        """The switch has none."""
        self._ends = None

    def heard(self, life: int) -> None:
        """Somebody has a record of this life."""
        if is_newer(life, self._keeper.life):
            self._above = life

    def deadline(self) -> Nanoseconds | None:
        """When the era ends."""
        return None if self._raising else self._ends

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Raise the life, if it is time."""
        if self._ends is None or self._raising or (now < self._ends and not self._above):
            return
        life = self._keeper.life + 1
        if self._above:
            yield Note("a later life is known", {"ours": self._keeper.life, "known": self._above})
            life = self._above + 2
            self._above = 0
        # 0 is no life.
        self._keeper.life = life = life % (1 << 32) or 1
        self._raising = True

        def kept(now: Nanoseconds) -> Iterator[Action]:
            yield from self._settings.give_life(life, given)

        def given(now: Nanoseconds) -> Iterator[Action]:
            self.begin(now)
            return iter(())

        self._keeper.save(kept)
