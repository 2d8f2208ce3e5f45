"""What users add to runs: tags and notes, and their limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from netkv.errors import UsageError

MAX_TAGS = 20
"""Tags of a run."""
MAX_TAG = 40
"""Characters of a tag."""
MAX_NOTE = 10_000
"""Characters of a note."""
TAG = rf"^[\w\-.:/]{{1,{MAX_TAG}}}$"
"""Pattern of a tag."""
_TAG = re.compile(TAG)


def tagged(tags: Sequence[str], add: Iterable[str], remove: Iterable[str]) -> list[str]:
    """The tags after a change, in the order in which they were added.

    A tag that is there already is not added twice, and one that is not there needs no removal.
    Raises `UsageError` for an invalid tag, or if there would be too many.
    """
    add, remove = list(add), set(remove)
    for tag in add:
        if _TAG.fullmatch(tag) is None:
            raise UsageError(
                f"'{tag}' cannot be a tag: tags have 1 to {MAX_TAG} letters, digits and characters "
                f"of '-_.:/'."
            )
        if tag in remove:
            raise UsageError(f"The tag '{tag}' cannot be added and removed at once.")
    kept = [tag for tag in dict.fromkeys([*tags, *add]) if tag not in remove]
    if len(kept) > max(MAX_TAGS, len(tags)):
        raise UsageError(f"A run has at most {MAX_TAGS} tags; this would be {len(kept)}.")
    return kept


def checked_note(text: str) -> str:
    """The note, if the store can have it; raises `UsageError`."""
    if len(text) > MAX_NOTE:
        raise UsageError(f"A note has at most {MAX_NOTE:,} characters; this one has {len(text):,}.")
    # No database stores these: parts of characters in UTF-16, and the character 0 (PostgreSQL).
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise UsageError("A note is plain text; this one has characters that are none.")
    return text
