"""A test that lacks a program names its Debian package, which `make test-tools` installs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests import programs

MAKEFILE = Path(__file__).parents[2] / "Makefile"
ESSENTIAL = {"util-linux"}
"""Packages that every Debian has."""


def _installed() -> set[str]:
    """The words of the lines of the Makefile that install packages."""
    text = MAKEFILE.read_text().replace("\\\n", " ")
    lines = [
        line.split("$(APT_INSTALL)")[1] for line in text.splitlines() if "(APT_INSTALL)" in line
    ]
    return {word for line in lines for word in shlex.split(line.split(";")[0])}


def test_packages_of_programs_are_installed_by_make() -> None:
    assert set(programs.PACKAGES.values()) - ESSENTIAL <= _installed()


def test_missing_programs_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = (
        "redis-cli, redis-benchmark, ping: not on PATH. 'make test-tools' installs what is "
        "missing, 'apt-get install redis-tools iputils-ping' this."
    )
    assert programs.missing("redis-cli", "redis-benchmark", "ping") == expected
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium-headless-shell"):
        programs.find("chromium-headless-shell")


def test_program_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "iperf3"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.find("iperf3") == str(program)
