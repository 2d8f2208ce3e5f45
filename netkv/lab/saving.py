"""The save file of a lab's controller, which is replaced as a whole or not at all.

Rules
-----
1. A save is a temporary file in the same directory, synced, renamed over what was there, and the
   directory synced: a reader finds this save or the one before, also after a power cut.
2. Saves are carried out one after another in the order they were given, each answered once.
3. At most `MAX_SAVES` wait; a further one is refused.
4. A controller that has ended changes nothing any more. Its save that a thread is still writing is
   thrown away, even if the next controller has read and saved since.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from netkv.control import base
from netkv.errors import NetkvError

MAX_SAVES = 16
"""A control plane has one under way; each session may leave one behind."""

TOO_MANY_SAVES = f"{MAX_SAVES} saves wait already"


class SaveFile:
    """The file as one controller sees it. Its calls block: they belong on a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._closed = False
        self._renaming = threading.Lock()

    def read(self) -> bytes | None:
        """What was saved last; None if nothing was. Raises `NetkvError`.

        A file that cannot be read is no empty one: a controller that went on without it might
        throw away what is nowhere else.
        """
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NetkvError(
                f"What the controller had saved in {self._path} cannot be read: {_why(error)}."
            ) from error

    def write(self, data: bytes) -> bool:
        """Puts `data` in the place of what was saved; False if the file was closed meanwhile.

        Raises `NetkvError`; then what was saved before still is.
        """
        directory = self._path.parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
            descriptor, draft = tempfile.mkstemp(dir=directory, prefix=f"{self._path.name}.")
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                with self._renaming:
                    if self._closed:
                        return False
                    os.replace(draft, self._path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft)
            _sync(directory)
        except OSError as error:
            raise NetkvError(
                f"{len(data):,} bytes could not be saved in {self._path}: {_why(error)}."
            ) from error
        return True

    def close(self) -> None:
        """From now on nothing is replaced."""
        with self._renaming:
            self._closed = True


class Saver:
    """Carries out the saves of one controller while its driver goes on."""

    def __init__(self, file: SaveFile, answer: Callable[[base.Saved], object]) -> None:
        self._file = file
        self._answer = answer
        self._waiting: asyncio.Queue[base.Save] = asyncio.Queue()

    def save(self, action: base.Save) -> None:
        """Takes a save; `answer` is called when it is done."""
        if self._waiting.qsize() >= MAX_SAVES:
            self._answer(base.Saved(action.save, False, TOO_MANY_SAVES))
        else:
            self._waiting.put_nowait(action)

    async def run(self) -> None:
        """Runs until it is cancelled; then what is under way changes nothing any more."""
        try:
            while True:
                action = await self._waiting.get()
                error = ""
                try:
                    await asyncio.to_thread(self._file.write, action.data)
                except NetkvError as refused:
                    error = str(refused)
                self._answer(base.Saved(action.save, not error, error))
        finally:
            self._file.close()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _why(error: OSError) -> str:
    return error.strerror or str(error)
