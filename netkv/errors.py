"""Errors that a user can cause. The user sees their text only, which is a sentence.

The command line prints the text without a traceback and exits with `exit_code`; the API returns it.
Any other exception is a fault of netkv and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class NetkvError(Exception):
    """An error that the user can correct."""

    exit_code: ClassVar[int] = 1


class UsageError(NetkvError):
    """The user has requested something unknown or unsupported."""

    exit_code: ClassVar[int] = 2


class MisfitError(UsageError):
    """A scheme does not support the lab or the load.

    `path`: field names from the scenario to the wrong option.
    """

    def __init__(self, text: str, *path: str) -> None:
        super().__init__(text)
        self.path = path


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
