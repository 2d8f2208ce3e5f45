"""The state of labs on disk: identity of processes, removal of labs without a supervisor, lock."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.home import check_name
from netkv.live import state
from netkv.processes import Identity, identity
from tests.waiting import PATIENCE_S


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def identity_of(process: subprocess.Popen[bytes]) -> Identity:
    found = identity(process.pid)
    assert found is not None
    return found


def test_recycled_pid_is_not_killed(sleeper: subprocess.Popen[bytes]) -> None:
    recycled = replace(identity_of(sleeper), start=1)
    lab = state.create("a", {}, None)
    lab.nodes = {"switch": recycled}
    lab.supervisor = recycled
    lab.save()
    assert not lab.alive
    state.remove("a")
    assert sleeper.poll() is None
    assert state.names() == []


def test_change_that_cannot_be_written_waits_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = state.create("full", {}, None)
    lab.state = "ready"
    with monkeypatch.context() as disk:
        disk.setattr(Path, "replace", _no_space)
        assert not lab.save()
        assert sorted(each.name for each in lab.directory.iterdir()) == ["lab.json"]
        with pytest.raises(OSError, match=r"No space left.*other/lab.json"):
            state.create("other", {}, None)
    assert state.load("full") == replace(lab, state="starting")
    assert lab.save()
    assert state.load("full") == lab
    state.remove("full")
    state.remove("other")


def _no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_process_of_another_boot_is_not_killed(sleeper: subprocess.Popen[bytes]) -> None:
    assert not replace(identity_of(sleeper), boot="another").alive


def test_sweep_removes_a_lab_without_a_supervisor(
    sleeper: subprocess.Popen[bytes],
) -> None:
    lab = state.create("dead", {}, replace(identity_of(sleeper), start=1))
    lab.nodes = {"switch": identity_of(sleeper)}
    lab.save()
    assert state.sweep() == ["dead"]
    assert sleeper.wait(PATIENCE_S) < 0
    assert state.names() == []


def test_sweep_keeps_a_supervised_lab() -> None:
    state.create("alive", {"scheme": "netcache"}, identity(os.getpid()))
    assert state.sweep() == []
    lab = state.load("alive")
    assert lab is not None
    assert lab.alive
    assert lab.spec == {"scheme": "netcache"}
    state.remove("alive")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 3}', '{"supervisor": {}, "nodes": 1}'])
def test_lab_with_a_damaged_file_is_swept(home: Path, text: str) -> None:
    directory = home / "labs" / "broken"
    directory.mkdir(parents=True)
    (directory / "lab.json").write_text(text)
    assert state.load("broken") is None
    assert state.sweep() == ["broken"]
    assert not directory.exists()


def test_zombie_counts_as_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    known = identity_of(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not known.alive
    process.wait()


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "-a", "x" * 41, "a/b"])
def test_invalid_lab_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a lab"):
        check_name(name)


def test_unwritable_state_directory_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "file"))
    with pytest.raises(NetkvError, match="Set NETKV_HOME"), state.locked():
        pass


def test_lock_leaves_no_file(home: Path) -> None:
    with state.locked():
        pass
    assert list((home / "labs").iterdir()) == []
