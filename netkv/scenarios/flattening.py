"""A scenario that extends others as one text, with its comments and theirs.

A form and a text field show what runs, and an edited text has no folder with bases beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netkv.errors import UsageError
from netkv.scenarios import editing, loader, sources
from netkv.scenarios.editing import Change
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import Path
from netkv.scenarios.sources import Part, Source


def flattened(source: Source) -> str:
    """The text without `extends`; that of a scenario that extends none is as it was written."""
    *extending, root = source.parts
    text = root.text
    for part in reversed(extending):
        text = _over(text, part)
    return text


def _over(text: str, part: Part) -> str:
    """The text of a base with one that extends it on top."""
    before = loader.parsed(text, part.name)
    before.pop("name", None)
    after = sources.merged(before, part.options)
    try:
        written = _by_section(text, part, before, after)
    except UsageError:
        # A section with an alias is no text of its own.
        written = ""
    # With merge keys or in flow style the sections do not say all.
    return editing.kept(written, after, part.name)


def _by_section(text: str, part: Part, before: dict[str, Any], after: dict[str, Any]) -> str:
    below, above = editing.sections(text), editing.sections(part.text)
    anchors = [name for name in (*below, *above) if name.startswith(sources.IGNORED)]
    written = above.get("", "")
    for name in (*anchors, *(each for each in Scenario.model_fields if each in after)):
        old, new = before.get(name), after.get(name)
        if name in above and name in below and isinstance(old, dict) and isinstance(new, dict):
            changes = list(_changes(old, new, (name,)))
            written += _section(below[name], above[name], changes)
        else:
            written += above.get(name) or below.get(name, "")
    return written


def _section(below: str, above: str, changes: Sequence[Change]) -> str:
    """A section of a base after changes, with the comments of the one on top before it."""
    gap = "\n" if below.startswith("\n") else ""
    comments = [f"{line.strip()}\n" for line in above.splitlines() if line.strip()[:1] == "#"]
    return gap + "".join(comments) + editing.apply(below.removeprefix(gap), changes, "base")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], path: Path) -> Iterator[Change]:
    """What turns the options of a base into the merged ones."""
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            yield from _changes(old, value, (*path, name))
        elif value != old:
            yield Change((*path, name), value)
    for name in before:
        if name not in after:
            yield Change((*path, name), remove=True)
