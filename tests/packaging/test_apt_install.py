"""`.ci/apt-install`: it waits for locks of apt, and ends with a sentence that says what to do.

A stub of apt-get plays each case; another test has Debian's own apt in directories of its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

SCRIPT = Path(__file__).parents[2] / ".ci" / "apt-install"
LOCKED = (
    "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 77 (unattended-upgr)\\n"
    "E: Unable to lock directory /var/lib/apt/lists/"
)

Install = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Runs the script where apt-get is these lines of shell. `$1` is `install` or `update`; each
    call is a line of the file `calls`."""

    def run(stub: str, *packages: str, **environment: str) -> subprocess.CompletedProcess[str]:
        programs = tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        file = programs / "apt-get"
        calls = tmp_path / "calls"
        calls.touch()
        file.write_text(f'#!/bin/bash\necho "$*" >> {calls}\ncalls={calls}\n{stub}\n')
        file.chmod(0o755)
        return _run(
            *(packages or ("gcc",)), PATH=f"{programs}:{os.environ['PATH']}", SUDO="", **environment
        )

    return run


def _run(*packages: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "a reason", *packages],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def _calls(tmp_path: Path) -> list[str]:
    return [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()]


def test_packages_and_reason_are_named(install: Install, tmp_path: Path) -> None:
    done = install("exit 0", "redis-server", "memcached")
    assert done.returncode == 0
    assert done.stdout == "==> apt: installing redis-server memcached (a reason)\n"
    assert _calls(tmp_path) == ["install"]


def test_lock_is_waited_for_with_its_holder(install: Install) -> None:
    stub = f'[ "$(wc -l < $calls)" -gt 2 ] || {{ printf "{LOCKED}\\n" >&2; exit 100; }}'
    done = install(stub)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("waiting for process 77 (unattended-upgr)") == 1
    assert done.stderr == ""


def test_lock_is_not_waited_for_without_end(install: Install) -> None:
    done = install(f'printf "{LOCKED}\\n" >&2; exit 100', APT_PATIENCE="1")
    assert done.returncode == 2
    assert "still holds apt's lock after 1 s: process 77 (unattended-upgr)" in done.stderr


def test_lists_are_updated_only_if_a_package_is_missing(install: Install, tmp_path: Path) -> None:
    stub = """
    [ "$1" = update ] && exit 0
    grep -q update $calls || { echo "E: Unable to locate package gcc" >&2; exit 100; }
    """
    done = install(stub)
    assert done.returncode == 0, done.stderr
    assert _calls(tmp_path) == ["install", "update", "install"]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("E: Unable to locate package gcc", "apt does not know package gcc: add its section"),
        ("Err: Could not resolve 'deb.debian.org'\nE: Failed to fetch x", "check the network"),
        ("sudo: a password is required", "run 'apt-get install gcc' as root"),
        ("E: dpkg was interrupted", "apt-get has failed with the lines above."),
    ],
)
def test_failure_says_what_to_do(install: Install, said: str, sentence: str) -> None:
    done = install(f"cat >&2 <<'END'\n{said}\nEND\nexit 100")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("netkv needs the Debian packages gcc (a reason). ")
    assert sentence in last


def test_missing_sudo_and_apt_are_named(install: Install, tmp_path: Path) -> None:
    done = install("exit 0", "gcc", "make")
    assert done.returncode == 0
    programs = tmp_path / "bin"
    for name in ("bash", "env", "id", "grep"):
        (programs / name).symlink_to(shutil.which(name) or "")
    done = _run("gcc", "make", PATH=str(programs), SUDO="sudo")
    assert done.returncode == 2
    assert "there is no sudo: run 'apt-get install gcc make' as root" in done.stderr
    (programs / "apt-get").unlink()
    done = _run("gcc", PATH=str(programs), SUDO="")
    assert done.returncode == 2
    assert "This system has no apt-get" in done.stderr


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="this system has no apt-get")
@pytest.mark.parametrize("lock", ["lists/lock", "lock-frontend"])
def test_locks_of_apt_itself_are_waited_for(tmp_path: Path, lock: str) -> None:
    for folder in ("lists/partial", "cache/archives/partial"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "status").touch()
    config = tmp_path / "apt.conf"
    config.write_text(
        f'Dir::State "{tmp_path}"; Dir::State::status "{tmp_path}/status";'
        f'Dir::Cache "{tmp_path}/cache"; Dir::Etc::sourcelist "/dev/null";'
        'Dir::Etc::sourceparts "/dev/null";'
    )
    with (tmp_path / lock).open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        with subprocess.Popen(
            [SCRIPT, "a reason", "netkv-no-such-package"],
            env={**os.environ, "APT_CONFIG": str(config), "SUDO": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            waiting = next((line for line in running.stdout if "waiting for" in line), "")
            fcntl.lockf(held, fcntl.LOCK_UN)
            _, error = running.communicate(timeout=PATIENCE_S)
    assert f"waiting for process {os.getpid()} (" in waiting
    assert running.returncode == 2
    assert "apt does not know package netkv-no-such-package" in error
