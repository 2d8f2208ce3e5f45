"""Saves of a control plane's state, one at a time."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from netkv.control.base import SECOND, Action, Nanoseconds, Note, Save, Saved

RETRY_DELAY = SECOND
"""Time to the next attempt after a save has failed."""

OnSaved: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""Called when the state is saved."""


class Saves:
    """Saves the state of a control plane.

    Rules
    -----
    1. A change takes effect when it is saved: the callback is called then, and not before.
    2. At most one save is under way. The next save contains the changes made meanwhile.
    3. A failed save is repeated, and the first failure is noted. The previous state stays saved.
    """

    def __init__(self, encode: Callable[[], bytes]) -> None:
        """`encode` returns the current state."""
        self._encode = encode
        self.count = 0
        """Number of saves so far."""
        self._under_way = False
        self._wanted = False
        self._after_this: list[OnSaved] = []
        self._after_next: list[OnSaved] = []
        self._retry: Nanoseconds | None = None
        self._failing = False

    def save(self, then: OnSaved | None = None) -> None:
        """Save the current state, then call `then`."""
        self._wanted = True
        if then is not None:
            self._after_next.append(then)

    @property
    def busy(self) -> bool:
        """Whether anything is not saved yet."""
        return self._under_way or self._wanted

    def forget(self) -> None:
        """Drop the callbacks; pending changes are saved nevertheless."""
        self._after_this.clear()
        self._after_next.clear()

    def deadline(self) -> Nanoseconds | None:
        """When to repeat a failed save."""
        return self._retry

    def pump(self, now: Nanoseconds) -> Iterable[Action]:
        """Begin a save if there are unsaved changes and no save is under way."""
        if not self._wanted or self._under_way or (self._retry is not None and now < self._retry):
            return ()
        self._retry = None
        self._wanted, self._under_way = False, True
        self._after_this, self._after_next = self._after_next, []
        self.count += 1
        return (Save(self.count, self._encode()),)

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save is answered."""
        if saved.save != self.count or not self._under_way:
            return
        self._under_way = False
        after, self._after_this = self._after_this, []
        if not saved.ok:
            self._wanted = True
            self._after_next = [*after, *self._after_next]
            self._retry = now + RETRY_DELAY
            if not self._failing:
                self._failing = True
                yield Note("nothing can be saved", {"error": saved.error})
            return
        self._failing = False
        for then in after:
            yield from then(now)
