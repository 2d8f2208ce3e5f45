"""From a command of netkv and its options in a request to the command line of a process.

The options are those of the command, with the types, limits and help that the command declares.
Those that name files are left out, and a text must be a plain name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typer.models import ArgumentInfo, ParameterInfo

_OF_THE_SERVER = ("json", "on")
"""Options that the server decides: its `$NETKV_ON` says where units are executed."""
_MAX_VALUES = 100
"""Limit of the values of an option that can be repeated."""
_NAME = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)
"""A name: it can neither be a path nor another option."""


def function(place: str) -> Callable[..., Any]:
    """The function of a command, `module:function`. Commands are above this package, so they are
    found when a request names one."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


class _Options(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Command:
    """A command that a request can start."""

    def __init__(
        self, name: str, function: Callable[..., Any], only: Collection[str] | None = None
    ) -> None:
        """`name` below `netkv`; `function` declares its options. `only`: the parameters that a
        request can have; None: all but files."""
        self._name = name
        self._function = function
        self._only = only

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its options."""
        return self._model.model_json_schema()

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return inspect.getdoc(self._function).partition("\n")[0]  # type: ignore[union-attr]

    def line(self, options: Mapping[str, Any]) -> list[str]:
        """The command line with these options; raises `RequestValidationError` if one is wrong."""
        try:
            chosen = self._model(**options)
        except ValidationError as error:
            wrong = [{**each, "loc": ("body", "options", *each["loc"])} for each in error.errors()]
            raise RequestValidationError(wrong) from error
        positional: list[str] = []
        named: list[str] = []
        for name, about in self._parameters():
            value = getattr(chosen, name)
            if name not in chosen.model_fields_set or value is None:
                continue
            texts = [str(each) for each in (value if isinstance(value, list) else [value])]
            option = _option(name, about)
            if isinstance(about, ArgumentInfo):
                positional += texts
            elif isinstance(value, bool):
                named.append(option if value else f"--no-{option.removeprefix('--')}")
            else:
                named += [f"{option}={text}" for text in texts]
        return [sys.executable, "-m", "netkv", *self._name.split(), *named, "--json", *positional]

    @cached_property
    def _model(self) -> type[BaseModel]:
        """The options as a model."""
        hints = get_type_hints(self._function, include_extras=True)
        defaults = inspect.signature(self._function).parameters
        fields: dict[str, Any] = {}
        for each, about in self._parameters():
            default = defaults[each].default
            kind = _limited(get_args(hints[each])[0], about)
            field = Field(
                default=... if default is inspect.Parameter.empty else default,
                description=about.help,
            )
            fields[each] = (kind, field)
        return create_model(f"Options of {self._name}", __base__=_Options, **fields)

    def _parameters(self) -> Iterator[tuple[str, ParameterInfo]]:
        """Name and declaration of the options that a request can have."""
        for each, hint in get_type_hints(self._function, include_extras=True).items():
            if get_origin(hint) is not Annotated or each in _OF_THE_SERVER:
                continue
            kind, about = get_args(hint)[:2]
            if not _names_file(kind) and (self._only is None or each in self._only):
                yield each, about


def _option(name: str, about: ParameterInfo) -> str:
    """How an option is written on the command line."""
    # Within `Annotated`, typer takes the first name for a default.
    declared = about.default if isinstance(about.default, str) else None
    return (declared or f"--{name.replace('_', '-')}").partition("/")[0]


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
