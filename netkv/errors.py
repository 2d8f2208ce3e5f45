"""Errors that a user can cause: their text is a sentence and is all the user gets to see.

The command line prints the text without a traceback and exits with `exit_code`; the API answers
with it. Anything that is not a `NetkvError` is a fault of netkv and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class NetkvError(Exception):
    """Something went wrong that the user can do something about."""

    exit_code: ClassVar[int] = 1


class UsageError(NetkvError):
    """What the user asked for is not a thing that netkv knows or can do."""

    exit_code: ClassVar[int] = 2


class MisfitError(UsageError):
    """A lab or load that a scheme cannot run in or with.

    `path` leads from the scenario to the option that is wrong: field names.
    """

    def __init__(self, text: str, *path: str) -> None:
        super().__init__(text)
        self.path = path


class FieldError(ValueError):
    """A value that does not go with others, for validators of models.

    `path` leads from the model that refuses it to the value: field names and list indices.
    """

    def __init__(self, text: str, *path: str | int) -> None:
        super().__init__(text)
        self.path = path

    def below(self, *path: str | int) -> FieldError:
        """The same error as a model sees it that holds the other at `path`."""
        return FieldError(str(self), *path, *self.path)


def suggest(word: str, options: Iterable[str], *, label: str = "Options") -> str:
    """The second sentence of an error about a wrong name: the nearest right one, and all of them.

    Returns e.g. `Did you mean 'zipf'? Options: keys, mix, zipf.`
    """
    names = sorted(options)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}{label}: {', '.join(names)}."
