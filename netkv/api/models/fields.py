"""Types of fields that several requests have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

PlainName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
"""Name of a scheme, a scenario that ships, ...: it cannot be a path of a file."""
Changes = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]
"""Values of options, each `path=value`."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
