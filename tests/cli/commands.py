"""Types and helpers for tests of the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]
NETKV = [sys.executable, "-m", "netkv"]


@dataclass
class CommandResult:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


Netkv: TypeAlias = Callable[..., CommandResult]
"""Runs the command with these arguments. Keyword arguments are environment variables."""


def start_netkv(*arguments: str) -> subprocess.Popen[str]:
    """Starts the command with pipes for its output, and does not wait for it."""
    return subprocess.Popen(
        [*NETKV, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_wrong_usage(result: CommandResult, message: str) -> None:
    """The command refuses its arguments with this message."""
    assert result.status == 2, result.err
    assert message in result.err
    assert "Traceback" not in result.err
