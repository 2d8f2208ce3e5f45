"""The disk of a simulated controller.

Rules
-----
1. Saves are carried out one after another, in order, and each is answered once.
2. Saved data survives every crash. A save takes effect when its file is synced, and is answered
   when its directory is synced. A controller that crashes in between has saved without an answer.
3. At most `MAX_SAVES` wait, as live; a further one is refused.
"""

from __future__ import annotations

from collections import deque

from netkv.control import base
from netkv.control.base import MAX_SAVES, TOO_MANY_SAVES
from netkv.model.profile import ControlModel


class Disk:
    """The disk of a controller and of its successors."""

    def __init__(self, model: ControlModel) -> None:
        self._model = model
        self._waiting: deque[base.Save] = deque()
        """The first one is under way."""
        self._refused: list[base.Saved] = []
        self._written_at = 0
        self._answered_at = 0
        self._saved: bytes | None = None

    @property
    def saved(self) -> bytes | None:
        """The data of the last save."""
        return self._saved

    @property
    def deadline(self) -> int | None:
        """When to call `advance`."""
        if self._refused:
            return 0
        return self._answered_at if self._waiting else None

    def save(self, now: int, action: base.Save) -> None:
        """Queues a save."""
        if len(self._waiting) > MAX_SAVES:
            self._refused.append(base.Saved(action.save, False, TOO_MANY_SAVES))
            return
        self._waiting.append(action)
        if len(self._waiting) == 1:
            self._begin(now)

    def advance(self, now: int) -> list[base.Saved]:
        """The answers that are due by now."""
        if not self._waiting and not self._refused:
            return []
        answers, self._refused = self._refused, []
        while self._waiting and self._answered_at <= now:
            action = self._waiting.popleft()
            self._saved = action.data
            answers.append(base.Saved(action.save, ok=True))
            if self._waiting:
                self._begin(self._answered_at)
        return answers

    def controller_stopped(self, now: int) -> None:
        """Saves whose file is not synced are lost."""
        self.advance(now)
        if self._waiting and self._written_at <= now:
            self._saved = self._waiting[0].data
        self._waiting.clear()
        self._refused.clear()

    def _begin(self, now: int) -> None:
        file_sync, directory_sync = self._model.save_nanoseconds(len(self._waiting[0].data))
        self._written_at = now + file_sync
        self._answered_at = self._written_at + directory_sync
