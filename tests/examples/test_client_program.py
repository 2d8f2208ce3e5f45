"""The programs of examples/client-program print the documented output on a live lab."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.documents import ROOT, blocks
from tests.gateway.serving_redis import gateway
from tests.labs import BringUp
from tests.waiting import PATIENCE_S

FOLDER = ROOT / "examples/client-program"
(OUTPUT,) = blocks("text", FOLDER / "README.md")

pytestmark = pytest.mark.live


def printed(program: str, *arguments: str) -> str:
    """What a program of the folder prints; it must end with status 0."""
    done = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("scheme", ["netcache", "farreach", "netmc"])
def test_program_prints_the_documented_output(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme)
    assert printed("profiles.py") == OUTPUT.text


def test_program_prints_the_same_through_the_gateway(bring_up: BringUp) -> None:
    bring_up("netcache")
    with gateway() as running:
        assert printed("profiles_redis.py", str(running.port)) == OUTPUT.text
