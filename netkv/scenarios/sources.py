"""The text of a scenario as data, merged with the scenarios that it extends.

Rules
-----
1. `extends` is the name of a scenario that ships, or the path of a file from the folder of the
   extending one. A text that has no folder extends by name only, so that the text of a request
   reads no file of this machine.
2. Mappings are merged, at any depth. Any other value replaces that of the base, and `null` removes
   it (a merge patch, RFC 7396). Where alternatives exclude each other, an option of one removes
   those of the other, as `--set` does.
3. The name of the base is not inherited: it is that of its runs.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from netkv import kinds, resources, yaml_text
from netkv.errors import OptionsError, UsageError, WrongOption, suggest
from netkv.scenarios import option_paths
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import Path, dotted

EXTENDS = "extends"
IGNORED = "x-"
"""Keys at the top that begin so are for anchors of the user, and no options."""


@dataclass(frozen=True)
class Part:
    """One text of a scenario: its own or that of a base."""

    name: str
    """As error messages name it: the path of its file."""
    text: str
    document: yaml_text.Document

    @property
    def options(self) -> dict[str, Any]:
        """What it says itself, without the keys that are ignored and without `extends`."""
        return {
            key: each
            for key, each in self.document.data.items()
            if not key.startswith(IGNORED) and key != EXTENDS
        }

    def where(self, path: Path) -> str:
        return f"{self.name}:{self.document.line(path)}"


@dataclass(frozen=True)
class Source:
    """A scenario before its options are checked."""

    parts: tuple[Part, ...]
    """Its own text, then its bases, the nearest first."""
    files: tuple[FilePath, ...]
    """The files that were read."""

    @property
    def options(self) -> dict[str, Any]:
        """All options, as data of the caller's own."""
        *extending, root = self.parts
        found = root.options
        for part in reversed(extending):
            found.pop("name", None)
            found = merged(found, part.options)
        return copy.deepcopy(found)

    def where(self, path: Path) -> str:
        """`FILE:LINE` of an option, or of its nearest parent that exists."""
        # Rule 3.
        parts = self.parts[:1] if path[:1] == ("name",) else self.parts
        for depth in range(1, len(path) + 1):
            holders = [part for part in parts if part.document.has(path[:depth])]
            if not holders:
                break
            # Below a value that is no mapping, nothing of a base counts.
            maps = [isinstance(it.document.value(path[:depth]), Mapping) for it in holders]
            parts = tuple(holders[: max(1, (*maps, False).index(False))])
        return parts[0].where(path)


def read(file: FilePath) -> Source:
    """The scenario of a file; raises `OptionsError`."""
    return _source(_text(file), str(file), file, ())


def reads(text: str, name: str) -> Source:
    """`read` for a text without a folder; error messages use `name` as the file name."""
    return _source(text, name, None, ())


def document(text: str, name: str) -> yaml_text.Document:
    """The text as YAML; raises `OptionsError` if it is no mapping in YAML."""
    found = yaml(text, name)
    if not isinstance(found.data, dict):
        raise wrong(
            (),
            f"{name}:1",
            f"a scenario is a mapping with at least 'name' and 'schemes'; this is "
            f"{kinds.shown(found.data)}.",
        )
    return found


def yaml(text: str, name: str) -> yaml_text.Document:
    """The text as YAML; raises `OptionsError`. `name`: of a file, or a `--set`."""
    try:
        return yaml_text.read(text)
    except yaml_text.YamlTextError as error:
        line = "" if error.line is None or name.startswith("--set") else f":{error.line}"
        raise wrong((), f"{name}{line}", error) from error


def wrong(path: Path, where: str, text: object) -> OptionsError:
    """The error that one option is wrong."""
    return OptionsError([WrongOption(dotted(path), where, str(text))])


def is_path(name: str) -> bool:
    """Whether a scenario is given by its path, and not by its name."""
    return "/" in name or FilePath(name).suffix in (".yaml", ".yml")


def merged(
    base: Mapping[str, Any], own: Mapping[str, Any], annotation: Any = Scenario
) -> dict[str, Any]:
    """The options of a base with those of a scenario that extends it (rule 2)."""
    found = dict(base)
    for name, value in own.items():
        if value is None:
            found.pop(name, None)
            continue
        option_paths.drop_alternatives(annotation, found, name)
        below = found.get(name)
        if isinstance(value, dict) and isinstance(below, dict):
            value = merged(below, value, kinds.child(annotation, name))
        found[name] = value
    return found


def _source(text: str, name: str, file: FilePath | None, extending: tuple[FilePath, ...]) -> Source:
    """`extending`: the files whose base this one is, the farthest first."""
    part = Part(name, text, document(text, name))
    files = () if file is None else (file.resolve(),)
    if EXTENDS not in part.document.data:
        return Source((part,), files)
    try:
        base = _base(part.document.data[EXTENDS], file)
        extending = (*extending, *files)
        if base.resolve() in extending:
            circle = [*extending[extending.index(base.resolve()) :], base]
            raise UsageError(f"is a circle: {' extends '.join(it.name for it in circle)}.")
    except UsageError as error:
        raise wrong((EXTENDS,), part.where((EXTENDS,)), f"'{EXTENDS}' {error}") from None
    below = _source(_text(base), str(base), base, extending)
    return Source((part, *below.parts), (*files, *below.files))


def _base(given: Any, file: FilePath | None) -> FilePath:
    """The file that a text extends; raises `UsageError` with the rest of the sentence."""
    if not isinstance(given, str):
        raise UsageError(f"is {kinds.shown(given)}; it should be a name or a path.")
    if not is_path(given):
        known = resources.scenario_files()
        if given not in known:
            found = suggest(given, known, label="Scenarios")
            raise UsageError(f"is '{given}', which is no scenario that ships.\n  {found}")
        return known[given]
    if file is None:
        raise UsageError(
            f"is the path '{given}'; a text that is not in a file can extend a scenario that "
            f"ships, by its name."
        )
    if not (base := file.parent / given).is_file():
        raise UsageError(f"is '{given}', but there is no file {base}.")
    return base


def _text(file: FilePath) -> str:
    try:
        return yaml_text.read_file(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}.") from error
    except yaml_text.YamlTextError as error:
        raise wrong((), str(file), error) from error
