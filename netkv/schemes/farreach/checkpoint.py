"""Keeps what must outlive the controller: the life, the clients, the snapshot in force."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from netkv.control.base import SECOND, Action, Nanoseconds, Note, Save, Saved
from netkv.schemes.farreach.checkpoint_format import Client, State, to_bytes
from netkv.schemes.farreach.record import Record

PAUSE = SECOND
"""Until the next attempt, when nothing could be saved."""

Kept: TypeAlias = Callable[[Nanoseconds], Iterable[Action]]
"""What follows when it is saved."""


class Checkpoint:
    """Saves, one at a time.

    Rules
    -----
    1. What is changed here counts only when it is saved: then `kept` is called, and not before.
    2. At most one save is under way; what is changed meanwhile goes with the next one.
    3. A save that fails is repeated, and the first failure is noted. What was saved before is still
       there.
    """

    def __init__(self) -> None:
        self.life = 0
        """The latest life that is saved, or is to be."""
        self.snapshot = 0
        self.records: Sequence[Record] = ()
        self.recovered = 0
        """The life of the last recovery of which the servers have all."""
        self.clients: dict[int, bool] = {}
        """Address of each client process → whether it answered when it was asked last."""
        self.saves = 0
        self._under_way = False
        self._wanted = False
        self._after_this: list[Kept] = []
        self._after_next: list[Kept] = []
        self._retry: Nanoseconds | None = None
        self._failing = False

    def restore(self, state: State) -> None:
        """Begin with what was saved."""
        self.life, self.recovered = state.life, state.recovered
        self.snapshot, self.records = state.snapshot, state.records
        self.clients = dict(state.clients)

    def save(self, kept: Kept | None = None) -> None:
        """Save all as it is now; then `kept`."""
        self._wanted = True
        if kept is not None:
            self._after_next.append(kept)

    @property
    def busy(self) -> bool:
        """Whether anything is not saved yet."""
        return self._under_way or self._wanted

    def forget(self) -> None:
        """Nobody waits for what is to be saved any more; it is saved all the same."""
        self._after_this.clear()
        self._after_next.clear()

    def deadline(self) -> Nanoseconds | None:
        """When to try again."""
        return self._retry

    def pump(self, now: Nanoseconds) -> Iterator[Action]:
        """Begin a save, if one is wanted and none under way."""
        if not self._wanted or self._under_way or (self._retry is not None and now < self._retry):
            return
        self._retry = None
        self._wanted, self._under_way = False, True
        self._after_this, self._after_next = self._after_next, []
        self.saves += 1
        clients = tuple(Client(*client) for client in self.clients.items())
        state = State(self.life, self.recovered, self.snapshot, clients, tuple(self.records))
        yield Save(self.saves, to_bytes(state))

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save is answered."""
        if saved.save != self.saves or not self._under_way:
            return
        self._under_way = False
        after, self._after_this = self._after_this, []
        if not saved.ok:
            self._wanted = True
            self._after_next = [*after, *self._after_next]
            self._retry = now + PAUSE
            if not self._failing:
                self._failing = True
                yield Note("nothing can be saved", {"error": saved.error})
            return
        self._failing = False
        for kept in after:
            yield from kept(now)
