"""Paths of options in a scenario (`workload.arrivals.rate`): validation and assignment.

All options come from the models; this module names none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic_core import PydanticUndefined

from netkv import kinds
from netkv.errors import suggest
from netkv.options import Formerly, Spec
from netkv.scenarios.model import NOUNS, Scenario

Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """`('workload', 'zipf')` → `workload.zipf`."""
    return ".".join(str(part) for part in path)


def models(annotation: Any) -> list[type[Spec]]:
    """The models among the alternatives of a type."""
    return [b for b in kinds.branches(annotation) if isinstance(b, type) and issubclass(b, Spec)]


def options(candidates: list[type[Spec]]) -> set[str]:
    """The field names of all models."""
    return {name for model in candidates for name in model.model_fields}


def noun(candidates: list[type[Spec]], path: Path) -> str:
    """The name of the option at a path for error messages: `a workload`, or the path itself."""
    if len(candidates) == 1 and candidates[0] in NOUNS:
        return NOUNS[candidates[0]]
    return f"'{dotted(path)}'"


def unknown_option(candidates: list[type[Spec]], parent: Path, name: str) -> str:
    """The error message for an option that none of the models has."""
    renamed = [
        f" It is called '{dotted((*parent, field))}' now."
        for model in candidates
        for field, info in model.model_fields.items()
        if any(isinstance(it, Formerly) and it == name for it in info.metadata)
    ]
    return (
        f"'{dotted((*parent, name))}' is not an option of {noun(candidates, parent)}."
        f"{''.join(renamed)}\n"
        f"  {suggest(name, options(candidates))}"
    )


def misnamed(annotation: Any, data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The options in `data` that do not exist: path and error message of each."""
    candidates = models(annotation)
    if isinstance(data, Mapping):
        for name, value in data.items():
            if candidates and name not in options(candidates):
                yield (*path, name), unknown_option(candidates, path, str(name))
            else:
                yield from misnamed(kinds.child(annotation, name), value, (*path, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from misnamed(kinds.child(annotation, index), value, (*path, index))


@dataclass(frozen=True)
class Leaf:
    """An option that can have a plain value."""

    name: str
    """Its path, with dots."""
    values: tuple[str, ...]
    """As YAML: all possible values if they can be listed, else the default."""


def leaves(candidates: Sequence[type[Spec]] = (Scenario,), parent: Path = ()) -> Iterator[Leaf]:
    """The options of a scenario that can have a plain value, in the order of the models."""
    seen: set[str] = set()
    for model in candidates:
        for name, field in model.model_fields.items():
            if name in seen:
                continue
            seen.add(name)
            path = (*parent, name)
            below = models(field.annotation)
            plain = [it for it in kinds.branches(field.annotation) if it not in below]
            if plain or not below:
                yield Leaf(
                    dotted(path), _values(plain, field.get_default(call_default_factory=True))
                )
            yield from leaves(below, path)


def _values(plain: Sequence[Any], default: Any) -> tuple[str, ...]:
    found: list[Any] = []
    for branch in plain:
        if get_origin(branch) is Literal:
            found += get_args(branch)
        elif branch is bool:
            found += (True, False)
    if not found and default is not PydanticUndefined and not isinstance(default, Spec):
        found = [default]
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in found)


def parse(text: str) -> Path:
    """`events.0.at` → `('events', 0, 'at')`."""
    return tuple(int(part) if part.isdecimal() else part for part in text.split("."))


def check(path: Path) -> str | None:
    """None if a scenario has an option at this path, else the error message."""
    annotation: Any = Scenario
    for depth, part in enumerate(path):
        parent = path[:depth]
        below = kinds.child(annotation, part)
        if below is None:
            candidates = models(annotation)
            if candidates:
                return unknown_option(candidates, parent, str(part))
            return f"'{dotted(path)}' does not exist: '{dotted(parent)}' has no options of its own."
        annotation = below
    return None


def assign(data: dict[str, Any], path: Path, value: Any) -> str | None:
    """Sets the option at `path` in plain scenario data; returns the error message, if any.

    Where alternatives exclude each other (`arrivals.rate`, `arrivals.outstanding`), setting an
    option of one drops the options of the other.
    """
    if (error := check(path)) is not None:
        return error
    annotation: Any = Scenario
    here: Any = data
    for depth, part in enumerate(path[:-1]):
        annotation = kinds.child(annotation, part)
        if isinstance(here, list):
            if not isinstance(part, int) or part >= len(here):
                return f"'{dotted(path[: depth + 1])}' does not exist: there are {len(here)}."
            here = here[part]
            continue
        below = here.get(part)
        if isinstance(below, list):
            here = below
            continue
        if not isinstance(below, dict):
            if isinstance(path[depth + 1], int):
                return f"'{dotted(path[: depth + 2])}' does not exist: there are 0."
            below = {}
        drop_alternatives(annotation, below, path[depth + 1])
        here[part] = below
        here = below
    if isinstance(here, list):
        last = path[-1]
        if not isinstance(last, int) or last >= len(here):
            return f"'{dotted(path)}' does not exist: there are {len(here)}."
    here[path[-1]] = value
    return None


def drop_alternatives(annotation: Any, data: dict[str, Any], name: str | int) -> None:
    """Removes the options that exclude option `name` of a model or union."""
    candidates = models(annotation)
    if len(candidates) < 2:
        return
    allowed = {
        field for model in candidates if name in model.model_fields for field in model.model_fields
    }
    for field in [field for field in data if allowed and field not in allowed]:
        del data[field]
