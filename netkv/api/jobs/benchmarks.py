"""From a benchmark and its options to the command line of its process.

The options are those of the benchmark's command, with the types, limits and help that the command
declares. Only those that name files are left out, and a text must be a plain name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typer.models import ArgumentInfo, ParameterInfo

from netkv.api.problems import NotFoundError
from netkv.bench import catalogue
from netkv.bench.catalogue import Entry
from netkv.errors import suggest

_MAX_VALUES = 100
"""Limit of the values of an option that can be repeated."""
_NAME = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)
"""A name: it can neither be a path nor another option."""


class _Options(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


def find(name: str) -> Entry:
    """The benchmark of that name in the API; raises `NotFoundError`."""
    known = {each.id: each for each in catalogue.ENTRIES}
    if name not in known:
        raise NotFoundError(
            f"There is no benchmark '{name}'. {suggest(name, known, label='Benchmarks')}"
        )
    return known[name]


def schema(entry: Entry) -> dict[str, Any]:
    """The JSON schema of its options."""
    return _model(entry.name).model_json_schema()


def command(entry: Entry, options: Mapping[str, Any]) -> list[str]:
    """The command line with these options; raises `RequestValidationError` if one is wrong."""
    try:
        chosen = _model(entry.name)(**options)
    except ValidationError as error:
        wrong = [{**each, "loc": ("body", "options", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(wrong) from error
    positional: list[str] = []
    named: list[str] = []
    for name, about in _parameters(entry.name):
        value = getattr(chosen, name)
        if name not in chosen.model_fields_set or value is None:
            continue
        texts = [str(each) for each in (value if isinstance(value, list) else [value])]
        option = name.replace("_", "-")
        if isinstance(about, ArgumentInfo):
            positional += texts
        elif isinstance(value, bool):
            named.append(f"--{option}" if value else f"--no-{option}")
        else:
            named += [f"--{option}={text}" for text in texts]
    return [sys.executable, "-m", "netkv", *entry.name.split(), *named, "--json", *positional]


@cache
def _model(name: str) -> type[BaseModel]:
    """The options of a command as a model."""
    function = _commands()[name]
    hints = get_type_hints(function, include_extras=True)
    defaults = inspect.signature(function).parameters
    fields: dict[str, Any] = {}
    for each, about in _parameters(name):
        default = defaults[each].default
        kind = _limited(get_args(hints[each])[0], about)
        field = Field(
            default=... if default is inspect.Parameter.empty else default, description=about.help
        )
        fields[each] = (kind, field)
    return create_model(f"Options of {name}", __base__=_Options, **fields)


def _parameters(name: str) -> Iterator[tuple[str, ParameterInfo]]:
    """Name and declaration of the options that a request can have."""
    for each, hint in get_type_hints(_commands()[name], include_extras=True).items():
        if get_origin(hint) is not Annotated or each == "json":
            continue
        kind, about = get_args(hint)[:2]
        if not _names_file(kind):
            yield each, about


def _names_file(kind: Any) -> bool:
    return kind is Path or any(_names_file(each) for each in get_args(kind))


def _limited(kind: Any, about: ParameterInfo) -> Any:
    """The type of an option, with its limits."""
    if kind is str:
        return Annotated[str, _NAME]
    if kind in (int, float):
        return Annotated[kind, Field(ge=about.min, le=about.max)]
    if get_origin(kind) is list:
        return Annotated[list[_limited(get_args(kind)[0], about)], Field(max_length=_MAX_VALUES)]  # type: ignore[misc]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(it if it is NoneType else _limited(it, about) for it in get_args(kind))]  # noqa: UP007
    return kind


@cache
def _commands() -> dict[str, Callable[..., Any]]:
    """The function of each command, by its name below `netkv`."""
    from netkv.cli import bench, bench_all, p4_bench

    found: dict[str, Callable[..., Any]] = {"bench": bench_all.every, "p4 bench": p4_bench.bench}
    for each in bench.app.registered_commands:
        assert each.callback is not None
        found[f"bench {each.name or each.callback.__name__}"] = each.callback
    return found
