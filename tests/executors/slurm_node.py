"""A SLURM of one node on loopback, with Debian's slurmctld, slurmd and munged.

All their files are in one folder, and nothing of them is left at the end. They run as root.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netkv.live.ports import free_ports
from tests.waiting import until

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scancel", "squeue", "sinfo")
PARTITION = "long"

_CONFIGURATION = """\
ClusterName=netkv
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName={partition} Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why this machine cannot have one; None if it can."""
    if os.geteuid() != 0:
        return "slurmd runs as root"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(lacking)}: 'make test-slurm' installs them" if lacking else None


class Slurm:
    """The daemons, and what is in the queue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._started: list[subprocess.Popen[bytes]] = []

    def queue(self) -> list[str]:
        """The tasks in the queue, with their states: `12_3 RUNNING`."""
        return self.ask("squeue", "--noheader", "--array", "--format=%i %T").splitlines()

    def ask(self, *command: str) -> str:
        """The answer of a command."""
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def workers(self) -> list[int]:
        """The pids of netkv's workers that the tasks run."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (each / "cmdline").read_bytes().split(b"\0")
                variables = (each / "environ").read_bytes()
                if b"worker" in words and str(self.folder).encode() in variables:
                    found.append(int(each.name))
        return found

    def start(self) -> None:
        """Starts the daemons; returns when the node takes jobs."""
        folder = self.folder
        for name in ("state", "spool"):
            (folder / name).mkdir()
        controller, node = free_ports(2)
        text = _CONFIGURATION.format(
            host=platform.node().partition(".")[0],
            controller=controller,
            node=node,
            folder=folder,
            partition=PARTITION,
        )
        (folder / "slurm.conf").write_text(text, encoding="utf-8")
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._start(
            *("munged", "--foreground", "--force", f"--key-file={key}"),
            *(f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")),
            f"--socket={folder}/munge.socket",
        )
        until(lambda: (folder / "munge.socket").exists(), "munged listens")
        self._start("slurmctld", "-D")
        self._start("slurmd", "-D")
        until(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"), "the node is idle")

    def end(self) -> None:
        """Ends all tasks and daemons."""
        for pid in self.workers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in reversed(self._started):
            process.kill()
            process.wait()

    def _start(self, *command: str) -> None:
        with (self.folder / "daemons.log").open("ab") as log:
            self._started.append(
                subprocess.Popen(
                    command,
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """A SLURM whose files are in this folder."""
    made = Slurm(folder)
    try:
        made.start()
        yield made
    finally:
        made.end()
