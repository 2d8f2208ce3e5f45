"""Errors of the client. Their text is a sentence for the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netkv.errors import NetkvError

if TYPE_CHECKING:
    from netkv.api.models.jobs import Job


@dataclass(frozen=True)
class WrongField:
    """A wrong field of a request."""

    field: str
    """Its path in the body, or the name of the parameter; empty for the whole request."""
    detail: str
    where: str = ""
    """Where it is in the text of a scenario, such as `scenario.yaml:7`."""


class NoServerError(NetkvError):
    """There is no server, or it does not answer."""


class ApiError(NetkvError):
    """The server has refused a request, or its answer is not understood."""

    def __init__(self, text: str, status: int = 0, errors: Sequence[WrongField] = ()) -> None:
        super().__init__(text)
        self.status = status
        """The status of HTTP; 0 if the answer was not understood."""
        self.errors = tuple(errors)


class JobError(NetkvError):
    """A job has ended without a result."""

    def __init__(self, text: str, job: Job) -> None:
        super().__init__(text)
        self.job = job
