"""Labs that outlive a command: `netkv up`, `status` and `down`.

`up` starts a detached supervisor process (`python -m netkv.labs.supervisor NAME`) that runs the
rack and listens on the socket `control` in the lab's directory. `down` stops it and removes all its
processes and files, also after a crash of the supervisor.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from netkv import schemes
from netkv.errors import NetkvError, UsageError, suggest
from netkv.home import check_name, home, socket_path
from netkv.live import cores, state, veth
from netkv.live.node_start import child_environment
from netkv.model.report import COMPILER
from netkv.processes import Identity, identity
from netkv.schemes import checks
from netkv.schemes.spec import RackSpec

DEFAULT_LAB = state.DEFAULT_LAB
UP_TIMEOUT = 120.0
DOWN_TIMEOUT = 15.0
REQUEST_TIMEOUT = 15.0
_POLL = 0.05
_REAP_TIMEOUT = 1.0
_WATCH_INTERVAL = 0.5


@dataclass(frozen=True)
class LabStatus:
    """The status of a lab."""

    name: str
    state: str
    """`starting`, `ready`, `failed` (a node failed; `text` names it), `broken` (it did not come up;
    `text` has the reason), or `dead` (no supervisor)."""
    text: str
    scheme: str
    nodes: dict[str, dict[str, Any]]
    """Node → {"pid", "running", "host"}; `host` is None for this machine."""
    created: float
    """Seconds since the epoch."""
    directory: str
    events: list[dict[str, Any]]
    controller: dict[str, Any] | None = None
    """The controller, if one runs: `pid` (of the supervisor, in which it runs), and `switches`: for
    each switch its arbitration state (`netkv.live.arbitration`): `state` (`primary`, `backup`,
    `connecting`), `p4runtime` (host:port), `device_id`, `election_id` (None unless primary),
    `primary`, `other_election_id` (of another client that is primary)."""
    already: bool = False
    """Whether the lab was up before `up`."""

    @property
    def warnings(self) -> list[str]:
        """The warnings of p4c about the program."""
        return [str(event["text"]) for event in self.events if event["node"] == COMPILER]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return dict(vars(self))


def up(
    name: str,
    spec: RackSpec,
    note: Callable[[str], object] = lambda _: None,
    on_wait: Callable[[str, float | None], object] = lambda _, __: None,
) -> LabStatus:
    """Starts a lab, unless it is up already (`already`), and waits until it is ready.

    `note` is called with what takes long, `on_wait` several times a second while the lab starts:
    with what it does, and how far that is (0 to 1, or None). Raises `NetkvError` with the
    supervisor's error if the lab does not start; then it is removed. Raises `UsageError` if a lab
    of that name is up with another specification.
    """
    check_name(name)
    check(spec)
    # gRPC comes with it, which no other command of a lab needs.
    from netkv.live import cards

    # Here, because it takes longer than a lab may take to come up.
    if (found := cards.to_build(schemes.of(spec), spec.lab)) is not None:
        from netkv.fpga import build

        design, text = found
        note(text)
        build.build(design)
    already = begin(name, spec)
    _wait_until_up(name, on_wait)
    return _with(status(name), already=already)


def check(spec: RackSpec) -> None:
    """Raises `NetkvError` if the rack cannot run live on this machine: `UsageError` if its
    specification is wrong."""
    checks.check_live(schemes.of(spec), spec.lab, spec.workload)
    # With hosts, the rack itself knows which nodes are here.
    if not spec.lab.hosts:
        cores.check(spec.lab.cores)
    if spec.lab.fabric == "veth":
        veth.check()


def begin(name: str, spec: RackSpec) -> bool:
    """Starts the supervisor of a lab, which brings it up; returns whether the lab was up already.

    The caller has called `check`. If the lab does not come up, its state becomes `broken`, with the
    reason, until it is taken down or another one is brought up. Raises `UsageError` if a lab of
    that name is up with another specification.
    """
    _reap()
    state.sweep()
    wanted = spec.model_dump(mode="json")
    with state.locked():
        lab = state.load(name)
        if lab is not None and lab.alive:
            if lab.spec != wanted:
                raise UsageError(
                    f"The lab '{name}' is up with other settings (scheme "
                    f"'{lab.spec.get('scheme')}'). Take it down first ('netkv down {name}'), or "
                    f"choose another name."
                )
            return True
        state.remove(name)
        lab = state.create(name, wanted, None)
        lab.supervisor = _spawn(lab)
        try:
            lab.create()
        except OSError:
            # Nothing else knows this process. Its nodes end with it.
            _supervisors[-1].kill()
            raise
        return False


def watch(name: str) -> NoReturn:
    """Stays as long as the lab is up, and raises `NetkvError` when it has ended."""
    while True:
        time.sleep(_WATCH_INTERVAL)
        _reap()
        lab = state.load(name)
        if lab is None:
            raise NetkvError(f"The lab '{name}' was taken down.")
        if not lab.alive:
            raise NetkvError(f"The supervisor of the lab '{name}' has ended.{_tail(lab)}")


def down(name: str) -> bool:
    """Stops a lab and removes all its processes and files; returns False if there was none."""
    check_name(name)
    lab = state.load(name)
    if lab is not None and lab.alive:
        assert lab.supervisor is not None
        with contextlib.suppress(NetkvError):
            request(name, {"do": "stop"})
            deadline = time.monotonic() + DOWN_TIMEOUT
            while lab.supervisor.alive and time.monotonic() < deadline:
                _reap()
                time.sleep(_POLL)
            _reap(lab.supervisor.pid)
    with state.locked():
        there = (state.labs() / name).exists()
        state.remove(name)
    return there or lab is not None


def status(name: str) -> LabStatus:
    """The state of one lab; raises `UsageError` if there is none of that name."""
    lab = found(name)
    live: dict[str, Any] = {}
    if lab.alive and lab.state in state.UP:
        with contextlib.suppress(NetkvError):
            live = request(name, {"do": "status"})
    now, text = state_of(lab)
    return LabStatus(
        name=name,
        state=now,
        text=text,
        scheme=str(lab.spec.get("scheme", "")),
        nodes=lab.processes(),
        created=lab.created,
        directory=str(lab.directory),
        events=live.get("events", []),
        controller=live.get("controller"),
    )


def found(name: str) -> state.Lab:
    """The lab of that name on disk; raises `UsageError` if there is none."""
    lab = state.load(check_name(name))
    if lab is None:
        names = state.names()
        hint = f"\n  {suggest(name, names, label='Labs')}" if names else " No lab is up."
        raise UsageError(f"There is no lab '{name}'.{hint}")
    return lab


def state_of(lab: state.Lab) -> tuple[str, str]:
    """State and text of a lab (`LabStatus`)."""
    if lab.alive or lab.state == "broken":
        return lab.state, lab.text
    return "dead", "Its supervisor does not run; 'netkv down' cleans up."


def all_labs() -> list[LabStatus]:
    """Every lab on disk, those without a supervisor included."""
    found = []
    for name in state.names():
        with contextlib.suppress(UsageError):
            found.append(status(name))
    return found


def request(name: str, message: dict[str, Any], timeout: float = REQUEST_TIMEOUT) -> dict[str, Any]:
    """Sends a request to the process that runs the rack of a lab; raises `NetkvError` if it fails,
    `RefusedError` if the rack does not support it.

    `netkv.scenarios.requests` lists the requests. A supervisor knows one more: `{"do": "stop"}`
    ends the lab.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        try:
            with socket_path(state.labs() / name) as path:
                connection.connect(path)
            connection.sendall(json.dumps(message).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
            reply: dict[str, Any] = json.loads(line)
        except (OSError, ValueError) as error:
            raise NetkvError(f"The supervisor of the lab '{name}' does not answer.") from error
    if "refused" in reply:
        raise RefusedError(str(reply["refused"]), tuple(reply["path"]))
    if "error" in reply:
        raise NetkvError(str(reply["error"]))
    return reply


class RefusedError(UsageError):
    """A rack does not support a request, or not in its present state.

    `path`: field names from the request to the wrong value, if one is wrong.
    """

    def __init__(self, text: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(text)
        self.path = path


def logs(name: str) -> dict[str, Path]:
    """Log files of a lab by node, the supervisor's included; raises `UsageError`."""
    status(name)
    return {file.stem: file for file in sorted((state.labs() / name / "logs").glob("*.log"))}


def _spawn(lab: state.Lab) -> Identity | None:
    environment = {**child_environment(), "NETKV_HOME": str(home())}
    directory = lab.directory / "logs"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "netkv.labs.supervisor", lab.name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    _supervisors.append(process)
    return identity(process.pid)


_supervisors: list[subprocess.Popen[bytes]] = []
"""Supervisors started by this process, which must reap them when they end."""


def _reap(ended: int | None = None) -> None:
    """Reaps the supervisors that have ended; waits for the one with the pid `ended`.

    A process can look ended while the kernel still ends its threads.
    """
    for process in list(_supervisors):
        if process.pid == ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_REAP_TIMEOUT)
        if process.poll() is not None:
            with contextlib.suppress(ValueError):  # another thread has removed it
                _supervisors.remove(process)


def _wait_until_up(name: str, on_wait: Callable[[str, float | None], object]) -> None:
    deadline = time.monotonic() + UP_TIMEOUT
    text = f"was not up within {UP_TIMEOUT:g} s"
    while time.monotonic() < deadline:
        _reap()
        lab = state.load(name)
        if lab is None:
            text = "was taken down while it came up"
            break
        if lab.state in state.UP:
            return
        if lab.state == "broken" or not lab.alive:
            text = f"did not come up: {lab.text or 'its supervisor ended.' + _tail(lab)}"
            break
        on_wait("starting" if lab.filled is None else "filling the cache", lab.filled)
        time.sleep(_POLL)
    with state.locked():
        state.remove(name)
    _reap()
    raise NetkvError(f"The lab '{name}' {text}")


def _tail(lab: state.Lab) -> str:
    try:
        lines = (lab.directory / "logs/supervisor.log").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "".join(f"\n  {line}" for line in lines[-5:])


def _with(found: LabStatus, *, already: bool) -> LabStatus:
    return LabStatus(**{**vars(found), "already": already})
