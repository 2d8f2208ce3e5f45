"""The ledger of a paper: each of its figures, tables and quantified statements, and what shows it.

Rules
-----
1. An entry is shown by experiments (`shown_by`), by something without rows (`elsewhere`), or not
   at all (`missing`, the reason). It is exactly one of the three.
2. The ledger is in the order of the paper. Several entries may have the same source.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

_Text = Annotated[str, Field(min_length=1)]


class Entry(BaseModel):
    """What a paper states in one place, and where netkv shows it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: _Text
    """`figure 4(a)`, `figures 1 to 3`, `table II`, or the section of a statement."""
    says: _Text
    """What the paper states, in our words."""
    headline: bool = False
    """A main result that abstract, introduction or conclusion state."""
    shown_by: Annotated[list[str], Field(min_length=1)] | None = None
    """Experiments of the same evaluation whose rows show it."""
    elsewhere: _Text | None = None
    """A command or a document that shows it without rows."""
    missing: _Text | None = None
    """Why netkv does not show it, and what would be needed."""
    note: _Text | None = None
    """What must be known to compare the two."""

    @model_validator(mode="after")
    def _one_of_three(self) -> Entry:
        answers = {
            "shown_by": self.shown_by,
            "elsewhere": self.elsewhere,
            "missing": self.missing,
        }
        given = [name for name, value in answers.items() if value is not None]
        if len(given) != 1:
            raise ValueError(
                f"'{self.source}' has {' and '.join(given) or 'none of these'}; "
                f"an entry has exactly one of {', '.join(answers)}"
            )
        return self
