"""Errors that a user can cause. The user sees their text only, which is a sentence.

The command line prints the text without a traceback and exits with `exit_code`; the API returns it.
Any other exception is a fault of netkv and keeps its traceback.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar


def sentence(text: str) -> str:
    """A text of the engine or the like as a sentence."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


class NetkvError(Exception):
    """An error that the user can correct."""

    exit_code: ClassVar[int] = 1


class StoreError(NetkvError):
    """The run store cannot be read or written now: it is full, locked, read-only, damaged or gone.

    `why`: the reason, without a full stop.
    """

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


class UsageError(NetkvError):
    """The user has requested something unknown or unsupported."""

    exit_code: ClassVar[int] = 2


class MisfitError(UsageError):
    """A scheme does not support the lab or the load.

    `path`: field names from the scenario to the wrong option.
    """

    def __init__(self, text: str, *path: str | int) -> None:
        super().__init__(text)
        self.path = path


@dataclass(frozen=True)
class WrongOption:
    """An option of a document that is wrong."""

    option: str
    """Its path, such as `workload.zipf`; empty for the whole document."""
    where: str
    """Where it was written: `scenarios/mine.yaml:7` or `--set workload.zipf=2`."""
    text: str
    """A sentence."""


class OptionsError(UsageError):
    """Options of a document that are wrong; the text has a line for each."""

    def __init__(self, wrong: Sequence[WrongOption]) -> None:
        super().__init__("\n".join(f"{each.where}: {each.text}" for each in wrong))
        self.wrong = tuple(wrong)


class FieldError(ValueError):
    """A value that contradicts other values, for validators of models.

    `path`: field names and list indices from the validated model to the value.
    """

    def __init__(self, text: str, *path: str | int) -> None:
        super().__init__(text)
        self.path = path

    def below(self, *path: str | int) -> FieldError:
        """The same error, for a parent that has the validated model at `path`."""
        return FieldError(str(self), *path, *self.path)


def suggest(word: str, options: Iterable[str], *, label: str = "Options") -> str:
    """The second sentence of an error about an unknown name: the most similar name, and all names.

    Returns e.g. `Did you mean 'zipf'? Options: keys, mix, zipf.`
    """
    names = sorted(options)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}{label}: {', '.join(names)}."


_OF_DISK = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
}


def of_disk(error: OSError) -> str | None:
    """The sentence for a file that cannot be written or read; None for another error."""
    if error.errno not in _OF_DISK:
        return None
    why = error.strerror or str(error)
    if error.filename is None:
        return f"A file cannot be written: {why}."
    return f"{os.fsdecode(error.filename)} cannot be used: {why}."
