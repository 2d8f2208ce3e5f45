"""Labs on disk: their supervisors and processes, and removal of those without a supervisor.

$NETKV_HOME (or ~/.local/state/netkv)/labs/NAME/lab.json, control (socket), logs/, data/
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from netkv.errors import NetkvError
from netkv.home import check_name, home
from netkv.processes import Identity

UP = ("ready", "degraded", "failed")
"""The states of a lab that came up."""
DEFAULT_LAB = "lab"
"""The default lab of commands."""
CHANGES = ("killed", "stopped", "started")
"""The kinds of events after which other nodes run than before."""
_GONE_TIMEOUT = 3.0
_REMOVE_TRIES = 5


class NodeState(Protocol):
    """What a lab knows of a node (`netkv.model.nodes.Node`)."""

    @property
    def name(self) -> str: ...

    @property
    def running(self) -> bool: ...


class Process(Protocol):
    """What a lab knows of a node's process (`netkv.live.process.NodeProcess`)."""

    identity: Identity | None

    @property
    def host(self) -> str | None: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def running(self) -> bool: ...


@dataclass
class Lab:
    """The content of lab.json."""

    name: str
    supervisor: Identity | None = None
    nodes: dict[str, Identity] = field(default_factory=dict)
    """The processes on this machine."""
    on_hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those on hosts of the lab: node → {"host", "pid", "running"}. They end with the
    supervisor."""
    state: str = "starting"
    """`starting`, `ready`, `degraded` (a node was stopped), `failed` (a node failed) or `broken`
    (never came up)."""
    text: str = ""
    """Why it failed, or what is down."""
    filled: float | None = None
    """While it starts and fills caches: how far that is, 0 to 1."""
    kind: str = "lab"
    """`lab`, or `run`: the rack of a run of a scenario, whose process is the supervisor."""
    run: str | None = None
    """Id of that run, once it has begun."""
    created: float = 0.0
    """Seconds since the epoch."""
    spec: dict[str, Any] = field(default_factory=dict)
    external_clients: list[dict[str, Any]] = field(default_factory=list)
    """Configurations of external clients (`cabling.external_client_configs`)."""

    @property
    def directory(self) -> Path:
        """The directory of the lab."""
        return labs() / self.name

    @property
    def alive(self) -> bool:
        """Whether its supervisor runs."""
        return self.supervisor is not None and self.supervisor.alive

    @property
    def answers(self) -> bool:
        """Whether its supervisor may answer requests (`netkv.scenarios.requests`)."""
        return self.alive and self.state != "broken"

    def take(self, processes: Mapping[str, Process]) -> None:
        """Takes the newest process of each node."""
        self.nodes = {
            name: it.identity for name, it in processes.items() if it.identity is not None
        }
        self.on_hosts = {
            name: {"pid": it.pid, "running": it.running, "host": it.host}
            for name, it in processes.items()
            if it.host is not None
        }

    def processes(self) -> dict[str, dict[str, Any]]:
        """For each node with a process: `pid`, `running` and `host`, None for this machine."""
        here = {
            name: {"pid": it.pid, "running": it.alive, "host": None}
            for name, it in self.nodes.items()
        }
        there = {
            name: {**it, "running": it["running"] and self.alive}
            for name, it in self.on_hosts.items()
        }
        return here | there

    def settle(self, nodes: Iterable[NodeState]) -> bool:
        """Whether the lab is ready depends on whether all nodes run; returns whether it changed."""
        if self.state not in ("ready", "degraded"):
            return False
        before = self.state, self.text
        down = [f"'{node.name}'" for node in nodes if not node.running]
        self.state, self.text = "degraded" if down else "ready", ""
        if len(down) == 1:
            self.text = f"The node {down[0]} does not run."
        elif down:
            self.text = f"The nodes {', '.join(down[:-1])} and {down[-1]} do not run."
        return before != (self.state, self.text)

    def create(self) -> None:
        """Writes lab.json; raises `OSError`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        target = self.directory / "lab.json"
        draft = target.with_suffix(".json.new")
        try:
            draft.write_text(json.dumps(asdict(self), indent=2) + "\n")
            draft.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            # The error of a write names no file.
            raise OSError(error.errno, error.strerror, str(target)) from error

    def save(self) -> bool:
        """Replaces lab.json atomically; returns whether it could.

        The rack works without: if the disk is full, the file stays as it is until a later change.
        """
        try:
            self.create()
        except OSError:
            return False
        return True


def labs() -> Path:
    """The directory of all labs."""
    return home() / "labs"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Holds the lock of all labs, so that creation, removal and sweeping happen one at a time."""
    try:
        labs().mkdir(parents=True, exist_ok=True)
        descriptor = os.open(labs(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NetkvError(
            f"netkv cannot use its state directory '{home()}': {error.strerror}. "
            f"Set NETKV_HOME to a directory that can be written."
        ) from error
    try:
        # The lock is on the directory itself, so no lock file is left over.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def load(name: str) -> Lab | None:
    """The lab of that name; None if there is none or its file is damaged."""
    try:
        data = json.loads((labs() / name / "lab.json").read_text())
        supervisor = data.pop("supervisor")
        nodes = data.pop("nodes")
        return Lab(
            **data,
            supervisor=None if supervisor is None else Identity(**supervisor),
            nodes={node: Identity(**fields) for node, fields in nodes.items()},
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def names() -> list[str]:
    """Names of the labs on disk, those without a supervisor included."""
    try:
        return sorted(entry.name for entry in labs().iterdir() if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def create(name: str, spec: dict[str, Any], supervisor: Identity | None, kind: str = "lab") -> Lab:
    """Creates the directory of a new lab; raises `OSError`.

    The caller holds the lock and has called `sweep`.
    """
    lab = Lab(check_name(name), supervisor=supervisor, kind=kind, created=time.time(), spec=spec)
    lab.create()
    return lab


def remove(name: str) -> None:
    """Kills the running processes of a lab and deletes its directory."""
    lab = load(name)
    if lab is not None:
        processes = [*lab.nodes.values()]
        if lab.supervisor is not None and lab.supervisor.pid != os.getpid():
            processes.insert(0, lab.supervisor)
        _end(processes)
    directory = labs() / name
    for _ in range(_REMOVE_TRIES):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            break  # else an external client has just written its report


def sweep() -> list[str]:
    """Removes the labs without a supervisor; returns their names. Takes the lock."""
    swept = []
    with locked():
        for name in names():
            lab = load(name)
            if lab is None or not lab.alive:
                remove(name)
                swept.append(name)
    return swept


def _end(processes: list[Identity]) -> None:
    for process in processes:
        if process.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _GONE_TIMEOUT
    while any(process.alive for process in processes) and time.monotonic() < deadline:
        time.sleep(0.01)
