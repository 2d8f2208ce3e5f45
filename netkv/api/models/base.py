"""The base of the models of requests and responses."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of all models. Unknown fields, such as misspelt options, are errors."""

    model_config = ConfigDict(
        extra="forbid",
        # An answer always has all its fields.
        json_schema_serialization_defaults_required=True,
    )


class RequestModel(Model):
    """Base of what a request has in its body. Values have the types that the description names:
    a truth value is not taken for a number, nor a number for a text."""

    model_config = ConfigDict(strict=True)


class Empty(RequestModel):
    """The body of a request that needs none."""
