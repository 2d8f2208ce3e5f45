"""The save file of a lab's controller, which is replaced atomically and durably.

Rules
-----
1. A save writes a temporary file in the same directory, syncs it, renames it to the save file, and
   syncs the directory. A reader finds this save or the previous one, also after a power failure.
2. Saves are carried out one after another, in order, and each is answered once.
3. At most `MAX_SAVES` wait; a further one is refused.
4. A controller that has ended cannot change the file any more: a save that a thread is still
   writing is discarded, even if the next controller has read and saved since.
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
from netkv.control.base import MAX_SAVES, TOO_MANY_SAVES
from netkv.errors import NetkvError


class SaveFile:
    """The save file, opened by one controller. Its methods block, so they belong on a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._closed = False
        self._renaming = threading.Lock()

    def read(self) -> bytes | None:
        """The data of the last save; None if there was none. Raises `NetkvError`.

        An unreadable file is an error: a controller that began without it could overwrite records
        that exist nowhere else.
        """
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NetkvError(
                f"The saved state of the controller in {self._path} cannot be read: {_why(error)}."
            ) from error

    def write(self, data: bytes) -> bool:
        """Replaces the saved data; returns False if `close` was called meanwhile.

        Raises `NetkvError`; then the previous save remains.
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
        """Prevents further changes of the file."""
        with self._renaming:
            self._closed = True


class Saver:
    """Carries out the saves of one controller in the background."""

    def __init__(self, file: SaveFile, answer: Callable[[base.Saved], object]) -> None:
        self._file = file
        self._answer = answer
        self._waiting: asyncio.Queue[base.Save] = asyncio.Queue()

    def save(self, action: base.Save) -> None:
        """Queues a save; `answer` is called when it is done."""
        if self._waiting.qsize() >= MAX_SAVES:
            self._answer(base.Saved(action.save, False, TOO_MANY_SAVES))
        else:
            self._waiting.put_nowait(action)

    async def run(self) -> None:
        """Runs until it is cancelled; then a save that is under way has no effect any more."""
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
