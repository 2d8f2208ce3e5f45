"""What the tests of the command line have in common."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]
NETKV = [sys.executable, "-m", "netkv"]


@dataclass
class Said:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


Netkv: TypeAlias = Callable[..., Said]
"""Runs the command with these arguments; keywords go into its environment."""
