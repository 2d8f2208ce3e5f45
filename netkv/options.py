"""The base of all models that users write: scenarios, labs, loads, and the options of schemes.

Rates are operations per second, times seconds, sizes bytes. Unknown fields are errors, so that a
misspelt option is never ignored. The docstring of a field is its meaning for users:
docs/use/scenario-reference.md is generated from these docstrings (`make docs`).
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class Unit(str):
    """The unit of a number, an annotation of a field for the reference of options.

    A JSON schema has it as the keyword `unit`.
    """

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "unit": str(self)}


class InWords:
    """The type of an option in words, an annotation of a field for the reference of options."""

    def __init__(self, words: str) -> None:
        self.words = words


class Formerly(str):
    """An earlier name of an option, an annotation of a field for the error about that name."""


SECONDS = Unit("s")
BYTES = Unit("bytes")
RATE = Unit("operations/s")


class Spec(BaseModel):
    """Base of all specifications: immutable and strict about field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    declared_by: ClassVar[Mapping[str, type[Spec]]] = {}
    """Field → the model that declares it, in a model that is composed of others."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler(schema)
        for name, field in handler.resolve_ref_schema(found).get("properties", {}).items():
            if name in cls.model_fields and (text := meaning(cls, name)):
                field["description"] = text
        return found


def declaration(model: type[Spec], name: str) -> type[Any]:
    """The class that declares a field of a model."""
    owner = model.declared_by.get(name, model)
    return next(each for each in owner.__mro__ if name in inspect.get_annotations(each))


def meaning(model: type[Spec], name: str) -> str:
    """The docstring of a field; empty if it has none.

    It is read from the source when it is asked for. pydantic can read all of them when the models
    are imported (`use_attribute_docstrings`), but that takes half of the time of the import.
    """
    owner = declaration(model, name)
    return _docstrings(sys.modules[owner.__module__]).get(owner.__qualname__, {}).get(name, "")


@functools.cache
def _docstrings(module: ModuleType) -> dict[str, dict[str, str]]:
    """Class → field → docstring, of the classes at the top of a module."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):  # no source, as in an interactive session
        return {}
    return {
        each.name: {
            field.target.id: inspect.cleandoc(text.value.value)
            for field, text in itertools.pairwise(each.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for each in tree.body
        if isinstance(each, ast.ClassDef)
    }
