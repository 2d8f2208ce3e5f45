"""The file of an archive, read line by line (`netkv.runs.archive`).

All lines are checked before any is stored. What is kept of them is small: the ids of groups and
runs, where their lines are, and digests of these, which show what a store has already.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Never, TypeGuard

from sqlalchemy import JSON, Column

from netkv.errors import NetkvError, suggest
from netkv.runs import archive, mapping
from netkv.runs.archive import PARTS, ROWS, Part
from netkv.runs.query import STATUSES
from netkv.runs.schema import VERSION
from netkv.scenarios.results import Provenance

_BELOW: Mapping[str, tuple[str, ...]] = {
    "group": (),
    "verdict": ("group", "verdict"),
    "run": ("group", "verdict", "run", "sample", "event"),
    "sample": ("run", "sample"),
    "event": ("run", "sample", "event"),
}
"""The parts that may stand in the line before; a group may follow anything."""
_ENDED = tuple(status for status in STATUSES if status != "running")
_INT64 = 2**63


@dataclass
class Entry:
    """A group without its runs, or a run, in the file."""

    id: str
    line: int
    """The number of its first line."""
    offset: int
    """Where its first line begins."""
    digest: str = ""
    runs: list[Entry] = field(default_factory=list)
    """Of a group."""


@dataclass(frozen=True)
class Row:
    """A checked line."""

    part: Part
    values: dict[str, Any]


class ArchiveFile:
    """An archive in a seekable file."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Check all lines; raises `NetkvError` with the name of the file and the number of a line
        that is wrong."""
        self._name = name
        self._file = file
        self._line = 0
        self.groups: list[Entry] = []
        """The groups in the file, in its order."""
        self._check()

    def rows(self, entry: Entry) -> Iterator[Row]:
        """The lines of a group without its runs, or of a run."""
        self._file.seek(entry.offset)
        self._line = entry.line - 1
        for number, text in enumerate(self._file):
            self._line += 1
            part, values = self._parsed(text)
            if part == "end" or (number and part in ("group", "run")):
                return
            yield self._checked(part, values)

    def where(self, entry: Entry) -> str:
        """The beginning of a sentence about a part of the file."""
        return f"{self._name}:{entry.line}"

    def _check(self) -> None:
        counts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
        known: dict[Part, set[str]] = {"group": set(), "run": set()}
        before, offset = "archive", 0
        digest = hashlib.sha256()
        entry: Entry | None = None
        for text in self._file:
            self._line += 1
            part, values = self._parsed(text)
            if self._line == 1:
                self._check_version(part, values)
                offset += len(text)
                continue
            if part == "end":
                self._check_end(values, counts)
                if entry is not None:
                    entry.digest = digest.hexdigest()
                return
            row = self._checked(part, values)
            if row.part != "group" and before not in _BELOW[row.part]:
                self._wrong(f"a line '{row.part}' cannot follow {_named(before)}")
            if row.part in known:
                if entry is not None:
                    entry.digest = digest.hexdigest()
                entry = Entry(row.values["id"], self._line, offset)
                if entry.id in known[row.part]:
                    self._wrong(f"the {row.part} '{entry.id}' is in the file twice")
                known[row.part].add(entry.id)
                (self.groups if row.part == "group" else self.groups[-1].runs).append(entry)
                digest = hashlib.sha256(self.groups[-1].id.encode())
            digest.update(archive.line(row.part, row.values).encode())
            counts[row.part] += 1
            before = row.part
            offset += len(text)
        self._line += 1
        self._wrong(
            "the file ends here, before the line 'end': it is not complete"
            if self._line > 1
            else "the file is empty"
        )

    def _check_version(self, part: str, values: Any) -> None:
        if part != "archive" or not isinstance(values, dict) or "version" not in values:
            self._wrong(
                "this is no archive of runs, which begins with a line 'archive'; "
                "'netkv runs export --archive' writes one"
            )
        version = values["version"]
        if version != VERSION:
            newer = isinstance(version, int) and version > VERSION
            remedy = "Update netkv." if newer else "Write it again with this netkv."
            self._wrong(
                f"the archive has the tables of version {version}, this netkv reads {VERSION}",
                remedy,
            )

    def _check_end(self, values: Any, counts: Mapping[str, int]) -> None:
        if values != dict(counts):
            found = ", ".join(f"{number} of '{part}'" for part, number in counts.items())
            self._wrong(f"the file has not the lines that its end counts; it has {found}")
        if self._file.readline().strip():
            self._line += 1
            self._wrong("there are lines after the line 'end'")

    def _parsed(self, text: bytes) -> tuple[str, Any]:
        try:
            document = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            self._wrong(f"this is not JSON ({error})")
        if not isinstance(document, dict) or len(document) != 1:
            self._wrong("a line is an object with one key")
        ((part, values),) = document.items()
        return part, values

    def _checked(self, part: str, values: Any) -> Row:
        if not _is_part(part):
            self._wrong(f"'{part}' is no part of an archive", suggest(part, PARTS, label="Parts"))
        if not isinstance(values, dict):
            self._wrong(f"a {part} is an object with the columns of its table")
        columns = archive.columns(part)
        names = [column.name for column in columns]
        for name in values:
            if name not in names:
                text = f"a {part} has no '{name}'"
                self._wrong(text, suggest(name, names, label="It has"))
        for name in names:
            if name not in values:
                self._wrong(f"this {part} lacks '{name}'")
        row = Row(part, {each.name: self._value(part, each, values[each.name]) for each in columns})
        self._check_content(row)
        return row

    def _value(self, part: str, column: Column[Any], value: Any) -> Any:
        """The value as a store has it."""
        if isinstance(column.type, JSON):
            return value
        if value is None and column.nullable:
            return None
        kind: type = column.type.python_type
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < _INT64 else value
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not right or (kind is int and not -_INT64 <= value < _INT64):
            kinds = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}
            shown = json.dumps(value)
            shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
            self._wrong(f"'{column.name}' of this {part} is {shown}, not {kinds[kind]}")
        return value

    def _check_content(self, row: Row) -> None:
        """Raises `NetkvError` for a row that could not be shown."""
        if row.part == "run" and row.values["status"] not in _ENDED:
            self._wrong(
                f"the status of run '{row.values['id']}' is '{row.values['status']}'",
                suggest(row.values["status"], _ENDED, label="It can be"),
            )
        if row.part in ("group", "run") and not row.values["id"]:
            self._wrong(f"the id of this {row.part} is empty")
        stored = ROWS[row.part](**row.values)
        try:
            if row.part == "run":
                stored.group_id = ""
                mapping.head(stored)
                Provenance.model_validate(stored.provenance)
                _require(isinstance(stored.parameters, dict), "parameters")
            elif row.part == "sample":
                mapping.sample(stored)
            elif row.part == "event":
                mapping.event(stored)
            elif row.part == "group":
                _require(isinstance(stored.command, list), "command")
                _require(isinstance(stored.plan, list), "plan")
                _require(isinstance(stored.progress, dict | None), "progress")
        except (ValueError, TypeError) as error:
            why = " ".join(str(error).split())
            self._wrong(f"this {row.part} cannot be shown ({why})")

    def _wrong(self, text: str, remedy: str = "Nothing was imported.") -> Never:
        raise NetkvError(f"{self._name}:{self._line}: {text[0].upper()}{text[1:]}. {remedy}")


def digest_of(group: str, lines: Iterable[str]) -> str | None:
    """The digest of the lines that a store has of a group or run; None if there are none."""
    digest, empty = hashlib.sha256(group.encode()), True
    for text in lines:
        digest.update(text.encode())
        empty = False
    return None if empty else digest.hexdigest()


def _require(right: bool, name: str) -> None:
    if not right:
        raise ValueError(f"'{name}' has a value of another kind")


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"JSON has no {name}")


def _named(part: str) -> str:
    return "the line 'archive'" if part == "archive" else f"a line '{part}'"


def _is_part(part: str) -> TypeGuard[Part]:
    return part in PARTS
