"""The P4Runtime shell in a separate environment: it needs another protobuf than netkv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REQUIREMENT = "p4runtime-shell==0.0.6"


@pytest.fixture(scope="session")
def shell_python() -> Path:
    """The interpreter of the shell's environment, which is created if it is not in the cache.

    Skips if the package registry cannot be reached.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    environment = cache / "netkv" / REQUIREMENT.replace("==", "-")
    python = environment / "bin" / "python"
    complete = environment / "complete"
    if complete.exists() and python.exists():
        return python
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv, "p4runtime-shell needs an environment of its own: uv is not on PATH (use make test)"
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", "3.11", str(environment)],
        [uv, "pip", "install", "--quiet", "--python", str(python), REQUIREMENT],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode and _is_unreachable(result.stderr):
            pytest.skip(f"{REQUIREMENT} cannot be fetched: {result.stderr.strip()}")
        assert result.returncode == 0, result.stderr
    complete.touch()
    return python


def _is_unreachable(errors: str) -> bool:
    """Whether uv cannot reach the registry, as opposed to a wrong requirement."""
    return any(text in errors for text in ("Failed to fetch", "dns error", "error sending request"))
