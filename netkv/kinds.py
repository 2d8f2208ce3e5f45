"""Kinds of values in documents of users: checks against a model, and sentences about wrong kinds.

pydantic converts between kinds: a truth value to 1, a text to the number in it. A document that
says so has a mistake, which would go unnoticed. Its messages name classes of Python, which no user
knows.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

Path = tuple[str | int, ...]

MAX_INTEGER = 2**63 - 1
"""The engine's integers have 64 bits."""
_MAX_SHOWN = 60

_NOTHING, _TRUTH, _WHOLE, _NUMBER, _TEXT, _LIST, _MAPPING = (
    "empty",
    "true or false",
    "a whole number",
    "a number",
    "a text",
    "a list",
    "a mapping",
)
_ORDER = (_TRUTH, _WHOLE, _NUMBER, _TEXT, _LIST, _MAPPING)
_OF_TYPE = {bool: _TRUTH, int: _WHOLE, float: _NUMBER, str: _TEXT, dict: _MAPPING}


def branches(annotation: Any) -> list[Any]:
    """The alternatives of a type, without Annotated and None."""
    return [each for each in _alternatives(annotation) if each is not types.NoneType]


def child(annotation: Any, name: str | int) -> Any | None:
    """The type of a field or element of a type; None if there is none."""
    for branch in branches(annotation):
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            if isinstance(name, str) and name in branch.model_fields:
                return branch.model_fields[name].annotation
        elif get_origin(branch) in (list, tuple) and isinstance(name, int):
            elements = [each for each in get_args(branch) if each is not Ellipsis]
            return elements[min(name, len(elements) - 1)]
        elif get_origin(branch) is dict:
            return get_args(branch)[1]
    return None


def mistyped(annotation: Any, data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The values in `data` whose kind the type does not permit: path, and what is wrong.

    Names that do not exist are skipped.
    """
    allowed = _allowed(annotation)
    found = _kind(data)
    if allowed is not None and not _fits(found, data, allowed):
        yield path, f"it should be {_listed(allowed)}{_hint(data, allowed, path)}"
    elif isinstance(data, float) and not math.isfinite(data):
        yield path, "it should be a finite number"
    elif found == _WHOLE and _WHOLE in (allowed or ()) and abs(data) > MAX_INTEGER:
        yield path, f"it should be at most {MAX_INTEGER:,}"
    else:
        for name, value in _below(data):
            if (element := child(annotation, name)) is not None:
                yield from mistyped(element, value, (*path, name))


def _fits(found: str, data: Any, allowed: set[str]) -> bool:
    """Whether a value of this kind is possible. `1e6` is written for whole numbers as well."""
    return (
        found in allowed
        or (found == _WHOLE and _NUMBER in allowed)
        or (found == _NUMBER and _WHOLE in allowed and math.isfinite(data) and data == int(data))
    )


def _below(data: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(data, Mapping):
        return data.items()
    return enumerate(data) if isinstance(data, list) else ()


def shown(value: Any) -> str:
    """A value of a document for a message, in one short line."""
    if value is None:
        return _NOTHING
    if isinstance(value, Mapping):
        return _MAPPING
    if isinstance(value, list | tuple):
        return _LIST
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]!r}..."
    if isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**_MAX_SHOWN else "a number of many digits"
    return repr(value)[:_MAX_SHOWN]


def described(item: Mapping[str, Any]) -> str:
    """What an error of pydantic objects to, without classes of Python."""
    kind = str(item["type"])
    wanted = {
        "model_type": _MAPPING,
        "model_attributes_type": _MAPPING,
        "dataclass_type": _MAPPING,
        "dict_type": _MAPPING,
        "mapping_type": _MAPPING,
        "list_type": _LIST,
        "tuple_type": _LIST,
        "set_type": _LIST,
        "frozen_set_type": _LIST,
        "iterable_type": _LIST,
        "string_type": _TEXT,
        "int_type": _WHOLE,
        "int_parsing": _WHOLE,
        "int_from_float": _WHOLE,
        "int_parsing_size": "a smaller number",
        "float_type": _NUMBER,
        "float_parsing": _NUMBER,
        "bool_type": _TRUTH,
        "bool_parsing": _TRUTH,
        "finite_number": "a finite number",
        "none_required": _NOTHING,
    }.get(kind)
    if wanted is not None:
        return f"it should be {wanted}"
    text = str(item["msg"]).removeprefix("Value error, ")
    for noun in ("Input", "String", "List", "Tuple", "Dictionary", "Value"):
        text = text.replace(f"{noun} should", "it should")
    return text


def first(error: ValidationError) -> str:
    """The first thing that is wrong with a document: `'a.b': it should be a number`."""
    item = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in item["loc"])
    return f"'{name}': {described(item)}" if name else described(item)


def _alternatives(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _alternatives(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [each for arm in get_args(annotation) for each in _alternatives(arm)]
    return [annotation]


def _allowed(annotation: Any) -> set[str] | None:
    """The kinds that a type permits; None if it permits all."""
    found: set[str] = set()
    for branch in _alternatives(annotation):
        origin = get_origin(branch)
        if branch is types.NoneType:
            found.add(_NOTHING)
        elif origin is Literal:
            found |= {_kind(each) for each in get_args(branch)}
        elif origin in (list, tuple):
            found.add(_LIST)
        elif origin is dict or (isinstance(branch, type) and issubclass(branch, BaseModel)):
            found.add(_MAPPING)
        elif branch in _OF_TYPE:
            found.add(_OF_TYPE[branch])
        else:
            return None
    return found


def _kind(value: Any) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return _TRUTH
    if isinstance(value, int):
        return _WHOLE
    if isinstance(value, float):
        return _NUMBER
    if isinstance(value, Mapping):
        return _MAPPING
    return _LIST if isinstance(value, list | tuple) else _TEXT


def _listed(allowed: set[str]) -> str:
    names = [
        each for each in _ORDER if each in allowed and not (each == _WHOLE and _NUMBER in allowed)
    ]
    return " or ".join(names) or _NOTHING


def _hint(data: Any, allowed: set[str], path: Path) -> str:
    """The second half of a sentence about a frequent mistake."""
    if data is None:
        return ", or left out" if path and isinstance(path[-1], str) else ""
    if isinstance(data, str) and allowed & {_WHOLE, _NUMBER}:
        try:
            float(data)
        except ValueError:
            return ""
        return ", without quotation marks"
    if _TEXT in allowed and isinstance(data, bool | int | float):
        return "; put it in quotation marks"
    return ""
