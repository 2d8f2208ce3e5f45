"""Parameters of paths and queries that several routes have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import StringConstraints

MAX_RUNS = 500
"""Limit of the runs in one comparison."""

RunId = Annotated[str, Path(max_length=200, description="Whole id of a run.")]
# `MAX_RUNS` of them, each behind `&run=`, must fit into `limits.MAX_HEADER`.
AnyRunId = Annotated[str, StringConstraints(max_length=100)]
RunIds = Annotated[list[AnyRunId], Query(max_length=MAX_RUNS, description="Ids of runs.")]
Name = Annotated[
    str, Path(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100, description="Its name.")
]
"""A name that cannot be a path of a file."""
