"""The options of a model as rows of a table: path, type in words, default, unit and meaning."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from netkv.options import InWords, Spec, Unit, meaning


class OptionRow(NamedTuple):
    """The cells of an option in a Markdown table."""

    path: str
    type: str
    default: str
    unit: str
    meaning: str


def option_row(path: str, model: type[Spec], name: str) -> OptionRow:
    """The option `name` of a model, below `path`."""
    field = model.model_fields[name]
    own = f"{path}.{name}" if path else name
    found = list(arms(field.annotation, tuple(field.metadata)))
    units = [each for _, metadata in found for each in metadata if isinstance(each, Unit)]
    kinds = " or ".join(dict.fromkeys(_words(kind, metadata, own) for kind, metadata in found))
    text = " ".join(meaning(model, name).split())
    return OptionRow(f"`{own}`", kinds, _default(field), "".join(units[:1]), text)


def arms(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The alternatives of a type, each with its description; None is left out."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        found = [each for item in more for each in _metadata(item)]
        yield from arms(inner, (*metadata, *found))
    elif get_origin(annotation) in (Union, types.UnionType):
        for arm in get_args(annotation):
            yield from arms(arm, metadata)
    elif annotation is not type(None):
        yield annotation, metadata


def _metadata(item: Any) -> list[Any]:
    return list(item.metadata) if isinstance(item, FieldInfo) else [item]


def _words(kind: Any, metadata: tuple[Any, ...], path: str) -> str:
    """The type of the option at a path in words: `whole number, 1 to 128`."""
    if own := next((each.words for each in metadata if isinstance(each, InWords)), None):
        return own
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (list, tuple):
        ((element, limits),) = arms(arguments[0], ())
        few = " of at least one" if any(getattr(each, "min_length", 0) for each in metadata) else ""
        return f"list{few}: {_words(element, limits, f'{path}.N')}"
    if origin is dict:
        ((element, limits),) = arms(arguments[1], ())
        return f"mapping of text to {_words(element, limits, path)}"
    if isinstance(kind, type) and issubclass(kind, Spec):
        return f"[options](#{anchor(path)})"
    words = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    between = _range(kind, metadata)
    return words.get(kind, "any value") + (f", {between}" if between else "")


def _range(kind: Any, metadata: tuple[Any, ...]) -> str:
    bounds = {
        name: getattr(each, name)
        for each in metadata
        for name in ("ge", "gt", "le", "lt", "pattern")
        if getattr(each, name, None) is not None
    }
    if (pattern := bounds.get("pattern")) is not None:
        return f"as `{pattern}`"
    if kind is int and "lt" in bounds:
        bounds["le"] = bounds.pop("lt") - 1
    low, above, high = bounds.get("ge"), bounds.get("gt"), bounds.get("le")
    if low is not None:
        return f"{_number(low)} " + (f"to {_number(high)}" if high is not None else "or more")
    if above is not None:
        return f"above {_number(above)}" + (f", up to {_number(high)}" if high is not None else "")
    return f"up to {_number(high)}" if high is not None else ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Spec):
        value = value.model_dump(exclude_defaults=True)
        inner = ", ".join(f"{name}: {each}" for name, each in value.items())
        return f"`{{{inner}}}`" if inner else "its defaults"
    if value is None:
        return "left out"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
    return f"`{value}`" if value else "none"


def anchor(path: str) -> str:
    """The anchor that Markdown viewers derive from a heading."""
    return re.sub(r"[^a-z0-9_-]", "", path.lower())
