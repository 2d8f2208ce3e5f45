"""YAML documents as plain data, with the line of each value.

Rules
-----
1. Limits of length, depth and number of values are checked on the events of the parser, before
   anything is built. An alias counts as all values that it stands for, so that a short text
   cannot expand to a large document.
2. Values are those of YAML 1.2 (core schema): texts, numbers, `true`, `false`, `null`. A number may
   have underscores. `yes`, `1:30` and dates are texts.
3. Keys are texts. A mapping has each once; `<<` merges other mappings.
4. Nothing names a type of Python: tags are refused.
5. Texts can be written as UTF-8: two escape sequences that are a pair of surrogates are one
   character, as in JSON, and others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

MAX_LENGTH = 400_000
"""Characters of a document."""
MAX_DEPTH = 32
"""Mappings and sequences within each other."""
MAX_VALUES = 20_000
"""Values of a document, those of expanded aliases included."""
MAX_SCALAR = 20_000
"""Characters of one value or key."""
MAX_DIGITS = 400
"""Characters of a number; the largest one of Python's floats has 309 digits."""

Path = tuple[str | int, ...]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*|0b[01][01_]*)")
_DECIMAL = re.compile(r"[-+]?[0-9][0-9_]*")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(?:(inf|Inf|INF)|nan|NaN|NAN)")


class YamlTextError(ValueError):
    """The text is no YAML document within the limits; the text of the error continues `FILE:`.

    `line`: from 1; None if the error has no place.
    """

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass
class _Node:
    """A value of the document; aliases share the node of their anchor."""

    line: int
    value: Any = None
    """Of a scalar."""
    items: list[_Node] | None = None
    """Of a sequence."""
    entries: dict[str, tuple[int, _Node]] | None = None
    """Of a mapping: key → line of the key, and value."""
    size: int = 1
    """Values that it stands for."""

    def plain(self) -> Any:
        if self.items is not None:
            return [each.plain() for each in self.items]
        if self.entries is not None:
            return {key: each.plain() for key, (_, each) in self.entries.items()}
        return self.value


@dataclass
class _Open:
    """A mapping or sequence whose end has not come yet."""

    node: _Node
    anchor: str | None
    key: tuple[str, int, bool] | None = None
    """Of a mapping: the key whose value comes next, its line, and whether it merges."""
    merged: list[_Node] = field(default_factory=list)
    """Mappings to merge, the first one first."""


@dataclass(frozen=True)
class Document:
    """A YAML document."""

    data: Any
    """Plain values: dict, list, str, int, float, bool, None."""
    _root: _Node

    def has(self, path: Path) -> bool:
        """Whether there is a value at a path."""
        here = self.data
        for part in path:
            if isinstance(here, list):
                if not (isinstance(part, int) and part < len(here)):
                    return False
            elif not (isinstance(here, dict) and part in here):
                return False
            here = here[part]
        return True

    def value(self, path: Path) -> Any:
        """The value at a path that the document has."""
        here = self.data
        for part in path:
            here = here[part]
        return here

    def line(self, path: Path) -> int:
        """The line of the value at a path, or of its nearest parent that exists."""
        here, line = self._root, self._root.line
        for part in path:
            if here.entries is not None and part in here.entries:
                line, here = here.entries[str(part)]
            elif here.items is not None and isinstance(part, int) and part < len(here.items):
                here = here.items[part]
                line = here.line
            else:
                break
        return line


def read(text: str) -> Document:
    """The document of a text; raises `YamlTextError`."""
    if len(text) > MAX_LENGTH:
        raise YamlTextError(f"has {len(text):,} characters; at most {MAX_LENGTH:,} are possible.")
    composer = _Composer()
    try:
        root = composer.compose(YAML(typ="safe", pure=True).parse(text))
    except YamlTextError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = (error.problem or error.context or "malformed").split("\n")[0]
        line = None if mark is None else mark.line + 1
        raise YamlTextError(f"is not YAML: {problem}.", line) from error
    except YAMLError as error:
        raise YamlTextError(f"is not YAML: {str(error).split(chr(10))[0]}.") from error
    except (ValueError, OverflowError) as error:
        # The parser converts escape sequences and versions without a check of their range.
        raise YamlTextError(
            "is not YAML: an escape sequence or a version has a number that is too large.",
            composer.line,
        ) from error
    return Document(root.plain(), root)


def read_file(file: FilePath) -> str:
    """The text of a file; raises `OSError`, `UnicodeDecodeError`, `YamlTextError`."""
    with file.open("rb") as source:
        # A character has up to 4 bytes.
        found = source.read(4 * MAX_LENGTH + 1)
    if len(found) > 4 * MAX_LENGTH:
        raise YamlTextError(f"has more than {MAX_LENGTH:,} characters, which is the limit.")
    return found.decode("utf-8")


def scalar(text: str) -> Any:
    """The value of a text without quotation marks; raises `YamlTextError`."""
    return _resolved(text, 1)


class _Composer:
    """Builds the nodes of a document from the events of a parser."""

    def __init__(self) -> None:
        self.line = 1
        """Where the last event ends."""
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node] = {}
        self._values = 0
        self._root: _Node | None = None

    def compose(self, events: Iterator[Event]) -> _Node:
        for event in events:
            line = event.start_mark.line + 1
            self.line = event.end_mark.line + 1
            match event:
                case DocumentStartEvent() if self._root is not None:
                    raise YamlTextError("has a second document; only one is possible.", line)
                case MappingStartEvent() | SequenceStartEvent():
                    self._begin(event, line)
                case ScalarEvent():
                    self._scalar(event, line)
                case AliasEvent():
                    self._alias(event.anchor, line)
                case MappingEndEvent() | SequenceEndEvent():
                    self._end()
        return self._root or _Node(1)

    def _begin(self, event: Any, line: int) -> None:
        _check_tag(event, line)
        if self._expects_key():
            raise YamlTextError("has a mapping or list as a key; a key is a text.", line)
        if len(self._open) >= MAX_DEPTH:
            raise YamlTextError(
                f"is nested too deeply: at most {MAX_DEPTH} levels are possible.", line
            )
        self._count(1, line)
        is_mapping = isinstance(event, MappingStartEvent)
        node = _Node(line, entries={}) if is_mapping else _Node(line, items=[])
        self._open.append(_Open(node, event.anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        node = ended.node
        if node.entries is not None:
            for each in ended.merged:
                # Its own keys win, and of merged mappings the first.
                node.entries = {**(each.entries or {}), **node.entries}
        self._add(node, ended.anchor)

    def _scalar(self, event: Any, line: int) -> None:
        _check_tag(event, line)
        value = _joined(event.value, line)
        if len(value) > MAX_SCALAR:
            raise YamlTextError(
                f"has a value of {len(value):,} characters; at most {MAX_SCALAR:,} are possible.",
                line,
            )
        plain = event.implicit[0] and event.tag is None
        if self._expects_key():
            if event.anchor is not None:
                self._anchors[event.anchor] = _Node(line, value)
            self._key(value, line, merges=plain and value == "<<")
            return
        self._count(1, line)
        self._add(_Node(line, _resolved(value, line) if plain else value), event.anchor)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor in (each.anchor for each in self._open):
            raise YamlTextError(f"has an alias '*{anchor}' that refers to itself.", line)
        node = self._anchors.get(anchor)
        if node is None:
            raise YamlTextError(f"has an alias '*{anchor}' without an anchor before it.", line)
        if self._expects_key():
            if node.items is not None or node.entries is not None:
                raise YamlTextError("has a mapping or list as a key; a key is a text.", line)
            self._key(str(node.value), line, merges=False)
            return
        self._count(node.size, line)
        self._add(node, None)

    def _expects_key(self) -> bool:
        return (
            bool(self._open)
            and self._open[-1].node.entries is not None
            and (self._open[-1].key is None)
        )

    def _key(self, key: str, line: int, *, merges: bool) -> None:
        parent = self._open[-1]
        assert parent.node.entries is not None
        if not merges and key in parent.node.entries:
            raise YamlTextError(
                f"has '{key[:100]}' twice in one mapping, first in line "
                f"{parent.node.entries[key][0]}.",
                line,
            )
        parent.key = (key, line, merges)

    def _add(self, node: _Node, anchor: str | None) -> None:
        """A value is complete."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        parent.node.size += node.size
        if parent.node.items is not None:
            parent.node.items.append(node)
            return
        assert parent.node.entries is not None
        assert parent.key is not None
        key, line, merges = parent.key
        parent.key = None
        if merges:
            parent.merged += _mappings(node, line)
        else:
            parent.node.entries[key] = (line, node)

    def _count(self, values: int, line: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise YamlTextError(
                f"has more than {MAX_VALUES:,} values, those that aliases stand for included.", line
            )


def _mappings(node: _Node, line: int) -> Sequence[_Node]:
    """The mappings that `<<` names."""
    found = [node] if node.items is None else node.items
    if any(each.entries is None for each in found):
        raise YamlTextError("has '<<' with something else than mappings.", line)
    return found


def _joined(text: str, line: int) -> str:
    """A text whose pairs of surrogates, which JSON's escape sequences may be, are characters."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise YamlTextError(
            "has an escape sequence for half a character (a surrogate); write the character.", line
        ) from None


def _check_tag(event: Any, line: int) -> None:
    tag = event.tag
    if tag is not None:
        raise YamlTextError(f"has the tag '{str(tag)[:60]}'; tags are not possible.", line)


def _resolved(text: str, line: int) -> Any:
    """The value of a scalar without quotation marks."""
    if text in _NULLS:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    first = text[:1]
    if not (first.isdigit() or first in "+-."):
        return text
    if (special := _SPECIAL.fullmatch(text)) is not None:
        return float(f"{special[1]}inf") if special[2] else float("nan")
    if not (_FLOAT.fullmatch(text) or _INTEGER.fullmatch(text)):
        return text
    if len(text) > MAX_DIGITS:
        raise YamlTextError(f"has a number of {len(text):,} characters.", line)
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(text):
        return int(digits, 0)
    if _DECIMAL.fullmatch(text):
        bare = digits.lstrip("+-")
        if len(bare) > 1 and bare.startswith("0"):
            raise YamlTextError(
                f"has the number {text}, which is octal in other versions of YAML; write it "
                f"without the 0, as 0o… if it is octal, or in quotation marks if it is a text.",
                line,
            )
        return int(digits)
    return float(digits)
