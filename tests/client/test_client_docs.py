"""The text of docs/client.md runs, and prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netkv import schemes

TEXT = (Path(__file__).parents[2] / "docs/client.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("scheme", [scheme.name for scheme in schemes.all_schemes()])
def test_the_example_prints_what_it_says(scheme: str, bring_up: Callable[..., None]) -> None:
    bring_up(scheme)
    done = subprocess.run(
        [sys.executable, "-c", block("python")],
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ,
        check=False,
    )
    assert (done.stdout, done.returncode) == (block("text"), 0), done.stderr


def test_the_example_has_ten_lines_at_most() -> None:
    lines = [line for line in block("python").splitlines() if line.strip()]
    assert len(lines) <= 10
