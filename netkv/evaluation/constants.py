"""A constant of an evaluation: some numbers of its profiles and scenarios with one origin."""

from __future__ import annotations

import fnmatch
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Basis = Literal["source", "measured", "calibrated", "fitted", "chosen", "no effect"]
"""Taken from a source; measured with netkv; calibrated on a figure that is compared as such; fitted
to what is compared; chosen; or nothing in the experiments depends on it."""
_Text = Annotated[str, Field(min_length=1)]


class Constant(BaseModel):
    """Some numbers with one origin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Text
    kind: Basis
    origin: _Text
    """The source, what was measured, or why it was chosen."""
    profile: str | None = None
    """The profile that it belongs to; None: all that the evaluation uses."""
    figures: list[_Text] = Field(default_factory=list)
    """Figures of profiles, as paths without `.mean`; `*` stands for any text."""
    options: list[_Text] = Field(default_factory=list)
    """Options of scenarios: `lab.hot_threshold`."""

    @model_validator(mode="after")
    def _has_numbers(self) -> Constant:
        if not (self.figures or self.options):
            raise ValueError(f"'{self.name}' has neither figures nor options")
        return self

    def has(self, figure: str, profile: str) -> bool:
        """Whether a figure of a profile is one of its numbers."""
        return self.profile in (None, profile) and any(
            fnmatch.fnmatchcase(figure, pattern) for pattern in self.figures
        )
