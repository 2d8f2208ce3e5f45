"""The base of all models that users write: scenarios, labs, loads, and the options of schemes.

Rates are operations per second, times seconds, sizes bytes. Unknown fields are errors, so that a
misspelt option is never ignored. The docstring of a field is its description for users:
docs/scenario-reference.md is generated from these docstrings (`make docs`).
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Unit(str):
    """The unit of a number, an annotation of a field for the reference of options."""


class Formerly(str):
    """An earlier name of an option, an annotation of a field for the error about that name."""


SECONDS = Unit("s")
BYTES = Unit("bytes")
RATE = Unit("operations/s")


class Spec(BaseModel):
    """Base of all specifications: immutable and strict about field names."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
