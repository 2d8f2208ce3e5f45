"""Workers that are the tasks of a job array of SLURM.

The invitation to the cluster is in the script that `sbatch` reads, which SLURM shows to the user
and its administrators only. A task whose scheduler has gone ends by itself, so a command that was
killed leaves none behind.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from netkv.errors import NetkvError, UsageError
from netkv.executors.credentials import Invitation

_TASKS = 8
_OPTIONS = {
    "tasks": "workers, each of which executes one unit at a time",
    "memory": "of a task, as --mem of sbatch",
    "time": "limit of a task, as --time of sbatch",
    "account": "as --account of sbatch",
    "address": "of this machine, as nodes reach it",
    "netkv": "command of netkv on nodes",
}
_ATTEMPTS = 10
"""How often a task starts its worker again that was killed."""
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Array:
    """The tasks to start."""

    partition: str
    tasks: int = _TASKS
    memory: str = ""
    time: str = ""
    account: str = ""
    address: str = ""
    netkv: str = ""

    def script(self, invitation: Invitation) -> str:
        """What `sbatch` reads."""
        given = {
            "job-name": "netkv",
            "array": f"1-{self.tasks}",
            "ntasks": 1,
            "cpus-per-task": 1,
            "partition": self.partition,
            "mem": self.memory,
            "time": self.time,
            "account": self.account,
            # What goes wrong is told to the scheduler.
            "output": "/dev/null",
        }
        lines = [f"#SBATCH --{name}={value}" for name, value in given.items() if value]
        command = self.netkv or _this_netkv()
        return "\n".join(
            [
                "#!/bin/sh",
                *lines,
                "#SBATCH --requeue",
                f"for attempt in $(seq {_ATTEMPTS}); do",
                f"{command} worker --invited --jobs 1 <<'INVITATION'",
                invitation.text(),
                "INVITATION",
                "[ $? -gt 128 ] || exit 0  # it has ended by itself, not by a signal",
                "done",
                "",
            ]
        )


def array(partition: str, options: Sequence[tuple[str, str]]) -> Tasks:
    """The tasks that `slurm:PARTITION?OPTIONS` means; raises `UsageError` for a wrong option."""
    given = dict(options)
    for name, value in given.items():
        if name not in _OPTIONS:
            known = "; ".join(f"{it}: {meaning}" for it, meaning in _OPTIONS.items())
            raise UsageError(f"--on slurm: there is no option '{name}'. Options: {known}.")
        if not value or any(it in value for it in "\n\r"):
            raise UsageError(f"--on slurm: '{name}' needs a value ({_OPTIONS[name]}).")
    tasks = given.pop("tasks", str(_TASKS))
    if not tasks.isdecimal() or int(tasks) == 0:
        raise UsageError(f"--on slurm: 'tasks' is '{tasks}', and should be a number above 0.")
    return Tasks(Array(partition, int(tasks), **given))


class Tasks:
    """The tasks of a job array; see `own_cluster.Workers`."""

    # They may wait in a queue for hours.
    join_seconds: float | None = None

    def __init__(self, wanted: Array) -> None:
        where = f" in the partition {wanted.partition}" if wanted.partition else ""
        self.name = f"{wanted.tasks} tasks of SLURM{where}"
        self._wanted = wanted
        self._job: str | None = None

    def addresses(self) -> list[str]:
        """See `Workers`."""
        return [self._wanted.address] if self._wanted.address else []

    def start(self, invitation: Invitation) -> None:
        """See `Workers`."""
        if shutil.which("sbatch") is None:
            raise NetkvError(
                "'sbatch' is not on PATH: this machine can submit nothing to SLURM. Run the "
                "command on a login node."
            )
        done = _run(["sbatch", "--parsable"], self._wanted.script(invitation))
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["it gave no reason"]
            raise NetkvError(f"SLURM has refused the job: {said[-1].rstrip('.')}.")
        self._job = done.stdout.strip().partition(";")[0]

    def all_ended(self) -> bool:
        """See `Workers`: tasks may wait, and SLURM may start them again."""
        return False

    def stop(self) -> None:
        """See `Workers`."""
        if self._job is not None:
            _run(["scancel", self._job], "")
            self._job = None


def _run(command: list[str], text: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NetkvError(f"'{command[0]}' has not answered for {_TIMEOUT_S} s.") from error


def _this_netkv() -> str:
    """The command of this netkv: most clusters have the users' files on all nodes."""
    return f"{shlex.quote(sys.executable)} -m netkv"
