"""Folders that cannot be written, for tests as root, too: its rights are not limited by modes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import programs

_REMOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def commands_without_writing(folder: Path) -> list[str]:
    """What to put before a command so that this folder is read-only for it; skips a test without.

    As root the command has a file system of its own; otherwise the folder's mode forbids it.
    """
    if os.geteuid() != 0:
        folder.chmod(0o555)
        return []
    programs.need("unshare")
    before = ["unshare", "--mount", "sh", "-c", _REMOUNT, str(folder)]
    tried = subprocess.run([*before, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"this machine does not let root mount: {tried.stderr.strip()}")
    return before
