"""Scenarios on hosts over SSH; all of them are this machine."""

from __future__ import annotations

import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.executors.same_code import identity
from tests.cli.commands import Netkv
from tests.executors import host_command, ssh_server
from tests.executors.ssh_server import Server
from tests.executors.test_dask import LONG, check_complete, ended, start, wait_for_runs
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(params=["asyncssh", "sshd"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    """A server, and a user whose keys it takes."""
    if request.param == "sshd" and ssh_server.SSHD is None:
        pytest.skip("sshd is not installed")
    with ssh_server.server(tmp_path, real=request.param == "sshd") as opened:
        monkeypatch.setenv("HOME", str(opened.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        yield opened


@pytest.fixture
def scenario(many: Path) -> str:
    return str(many)


@pytest.fixture
def command(tmp_path: Path) -> str:
    """A command on hosts, whose workers `workers` finds."""
    return host_command.write(tmp_path)


def place(folder: Path, *lines: str) -> str:
    (folder / "hosts.txt").write_text("\n".join(lines), encoding="utf-8")
    return f"ssh:{folder / 'hosts.txt'}"


def workers(folder: Path) -> list[int]:
    """The pids of the workers of a test."""
    return host_command.processes(folder, "worker")


def test_hosts_execute_runs_and_keep_nothing(
    netkv: Netkv, server: Server, scenario: str, command: str, tmp_path: Path
) -> None:
    where = place(tmp_path, f"{server.name} jobs=2 netkv={command}", "127.0.0.1:1 netkv=nobody")
    result = netkv("scenario", "run", scenario, "--on", where, "--json")
    check_complete(result)
    assert "On 2 hosts, 2 units at a time" in result.err
    assert "The host 127.0.0.1:1 cannot be reached" in result.err
    assert "Traceback" not in result.err
    until(lambda: not workers(tmp_path), "the worker has ended")


@pytest.mark.usefixtures("home")
def test_killed_worker_is_started_again(
    server: Server, scenario: str, command: str, tmp_path: Path
) -> None:
    where = place(tmp_path, f"{server.name} jobs=2 netkv={command}")
    process = start(scenario, "--on", where, "--json", *LONG)
    wait_for_runs(1)
    for pid in workers(tmp_path):
        os.kill(pid, signal.SIGKILL)
    result = ended(process)
    assert result.status == 0, result.err
    assert "has ended: it was killed. It is started again." in result.err
    until(lambda: not workers(tmp_path), "the worker has ended")


@pytest.mark.usefixtures("home")
def test_workers_end_with_a_command_that_is_killed(
    server: Server, scenario: str, command: str, tmp_path: Path
) -> None:
    where = place(tmp_path, f"{server.name} jobs=2 netkv={command}")
    process = start(scenario, "--on", where, "--set", "duration=1000")
    until(lambda: workers(tmp_path), "the worker is there")
    process.kill()
    process.communicate()
    until(lambda: not workers(tmp_path), "the worker has ended")


def test_doctor_checks_hosts(netkv: Netkv, server: Server, command: str, tmp_path: Path) -> None:
    place(tmp_path, f"{server.name} netkv={command}", f"{server.name} netkv=/nowhere/netkv")
    file = str(tmp_path / "hosts.txt")
    result = netkv("doctor", "--hosts", file, "--json")
    assert result.status == 1, result.err
    good, bad = result.document["hosts"]
    assert (good["name"], good["problem"], good["netkv"]) == (server.name, None, identity())
    assert good["machine"]["processors"] == len(os.sched_getaffinity(0))
    # It is the same clock, and the stated exactness holds.
    assert abs(good["clock"]["offset"]) <= good["clock"]["within"]
    assert 0 < good["round_trip"] < 10
    assert good["clock"]["within"] == good["round_trip"] / 2
    assert "Give its command there as netkv=/PATH/netkv." in bad["problem"]
    place(tmp_path, f"{server.name} netkv={command}")
    shown = netkv("doctor", "--hosts", file)
    assert shown.status == 0, shown.err
    assert "1 of 1 hosts can be used." in shown.err
    assert identity() in shown.out
    until(lambda: not workers(tmp_path), "nothing is left there")


def test_doctor_installs_a_wheel(netkv: Netkv, server: Server, tmp_path: Path) -> None:
    pytest.importorskip("ensurepip", reason="this Python makes no environments")
    # Of a netkv that only says what it got: a real one needs an index of packages.
    wheel = tmp_path / "netkv-0.0.1-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: netkv\nVersion: 0.0.1\nProvides-Extra: cluster\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "said.py", "import sys\ndef main():\n    sys.exit(f'got {sys.argv[1:]}')\n"
        )
        for name, text in {
            "METADATA": about,
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "entry_points.txt": "[console_scripts]\nnetkv = said:main\n",
            "RECORD": "",
        }.items():
            archive.writestr(f"netkv-0.0.1.dist-info/{name}", text)
    place(tmp_path, f"{server.name} netkv=/nowhere/netkv", "127.0.0.1:1")
    words = ("doctor", "--hosts", str(tmp_path / "hosts.txt"), "--install", str(wheel))
    for _ in range(2):
        result = netkv(*words)
        assert result.status == 1
        assert f"{server.name} has it: netkv={tmp_path}/data/netkv/" in result.err
        assert "got ['worker', '--answer-probe']" in result.err
        assert "The host 127.0.0.1:1 cannot be reached" in result.err
    assert len(list((tmp_path / "data/netkv").iterdir())) == 1
    assert netkv("doctor", "--install", str(wheel)).status == 2


def test_what_is_wrong_on_a_host_is_told(
    netkv: Netkv, server: Server, scenario: str, tmp_path: Path
) -> None:
    where = place(tmp_path, f"{server.name} netkv=/nowhere/netkv")
    result = netkv("scenario", "run", scenario, "--on", where)
    assert result.status == 1
    assert f"The worker on {server.name} has ended: " in result.err
    assert "Give its command there as netkv=/PATH/netkv." in result.err
    (server.home / ".ssh" / "known_hosts").unlink()
    result = netkv("scenario", "run", scenario, "--on", where)
    assert result.status == 1
    assert "None of 1 host can be reached" in result.err
    assert "Host key is not trusted" in result.err
