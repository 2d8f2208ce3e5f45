"""Values that no database can store, and what is stored in their place.

PostgreSQL has no text with the character 0, none has parts of characters (surrogates), and JSON has
neither NaN nor infinity. Both kinds of stores get the same values, so that their exports are equal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Dialect, String, TypeDecorator
from sqlalchemy.types import TypeEngine

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_MAYBE_NO_TEXT = re.compile(r"\\u(0000|d[89a-f])")
"""In JSON; pairs of surrogates, which are a character, are also found."""


def clean(text: str) -> str:
    """The text with a replacement for what is no character."""
    return _NO_TEXT.sub(_REPLACEMENT, text)


def to_json(value: Any) -> str:
    """A value as JSON: numbers that are not finite are null, and texts are clean."""
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_cleaned(value), allow_nan=False)
    return json.dumps(_cleaned(value)) if _MAYBE_NO_TEXT.search(text) else text


def _cleaned(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {_cleaned(name): _cleaned(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each) for each in value]
    return value


class CleanText(TypeDecorator[str]):
    """Text that every database can store, and that all of them order by code points."""

    impl = String
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        """For what checks values by the types of their columns."""
        return str

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL would order text by the language of the database."""
        collation = "C" if dialect.name == "postgresql" else None
        return dialect.type_descriptor(String(collation=collation))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The value to store."""
        return None if value is None else clean(value)
