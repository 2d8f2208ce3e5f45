"""`--on`: places, files of hosts, job arrays; wrong ones get a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.executors import credentials, host_file, places, slurm


@pytest.mark.parametrize(
    "place", ["", "local", "local:", "local:0", "local:x", "dask", "dask://host", "far:1", "tcp:1"]
)
def test_wrong_place_gets_the_right_forms(place: str) -> None:
    with pytest.raises(UsageError, match=r"It should look like local:N, dask://HOST:PORT"):
        places.opened(place)


def test_scheduler_that_is_not_there_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from netkv.executors import own_cluster

    monkeypatch.setattr(own_cluster, "_CONNECT_S", 0.5)
    with pytest.raises(NetkvError, match=r"tcp://127\.0\.0\.1:1 cannot be reached.*netkv worker"):
        places.opened("dask://127.0.0.1:1")


def test_file_of_hosts(tmp_path: Path) -> None:
    file = tmp_path / "hosts.txt"
    file.write_text(
        "# mine\n\none\nme@192.0.2.7:2222 jobs=4 netkv=/opt/netkv  # big\nfe80::1\n",
        encoding="utf-8",
    )
    one, two, three = host_file.read(str(file))
    assert (one.address, one.port, one.user, one.jobs) == ("one", None, None, None)
    assert one.command == ["netkv", "worker", "--invited", "--ends-with-input"]
    assert (two.address, two.port, two.user) == ("192.0.2.7", 2222, "me")
    assert two.command == [
        *("/opt/netkv", "worker", "--invited", "--ends-with-input", "--jobs", "4")
    ]
    assert (three.address, three.port) == ("fe80::1", None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "names none"),
        ("one cores=3", r"line 1: 'cores=3' is no option"),
        ("one jobs=many", "names no host"),
        ("one:ssh", "names no host"),
        ("@one", "names no host"),
    ],
)
def test_wrong_line_of_a_file_of_hosts(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "hosts.txt").write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        host_file.read(str(tmp_path / "hosts.txt"))


def test_missing_file_of_hosts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        host_file.read(str(tmp_path / "hosts.txt"))


def test_script_of_a_job_array() -> None:
    invitation = credentials.Invitation(
        "tls://192.0.2.1:8786", credentials.Credentials("certificate", "secret")
    )
    wanted = slurm.Array("long", tasks=20, memory="4G", netkv="/opt/netkv")
    lines = wanted.script(invitation).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert {"#SBATCH --array=1-20", "#SBATCH --partition=long", "#SBATCH --mem=4G"} <= set(lines)
    begins = lines.index("/opt/netkv worker --invited --jobs 1 <<'INVITATION'")
    # The secret is in the text that the worker reads, and on no command line.
    assert [number for number, line in enumerate(lines) if "secret" in line] == [begins + 1]
    assert credentials.read(lines[begins + 1]) == invitation


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("slurm:long?cores=3", "there is no option 'cores'. Options: tasks: "),
        ("slurm?tasks=0", "'tasks' is '0'"),
        ("slurm?memory=4G%0A%23SBATCH", "'memory' needs a value"),
    ],
)
def test_wrong_option_of_a_job_array(place: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        places.opened(place)


def test_machine_without_slurm_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NetkvError, match="'sbatch' is not on PATH"):
        places.opened("slurm:long")


def test_wrong_invitation_gets_a_sentence() -> None:
    for text in ("", "{}", '{"address": "x", "credentials": {}}', "[1]"):
        with pytest.raises(UsageError, match="no invitation"):
            credentials.read(text)
