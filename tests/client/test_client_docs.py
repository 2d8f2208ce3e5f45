"""The programs in docs/client.md and README.md run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netkv import schemes
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/client.md").read_text()
README = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("scheme", [scheme.name for scheme in schemes.all_schemes()])
def test_example_prints_the_documented_output(scheme: str, bring_up: Callable[..., None]) -> None:
    bring_up(scheme)
    done = subprocess.run(
        [sys.executable, "-c", block("python")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=os.environ,
        check=False,
    )
    assert (done.stdout, done.returncode) == (block("text"), 0), done.stderr


def test_readmes_example_prints_the_documented_output(bring_up: Callable[..., None]) -> None:
    """It can be pasted into a file and run as it stands."""
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (told,) = re.findall(r"# (\[.*\])$", program, re.MULTILINE)
    bring_up("netcache")
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=os.environ,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{told}\n", 0), done.stderr


def test_the_example_has_ten_lines_at_most() -> None:
    lines = [line for line in block("python").splitlines() if line.strip()]
    assert len(lines) <= 10
