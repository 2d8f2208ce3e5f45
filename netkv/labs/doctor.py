"""Checks of the machine that netkv runs on, with advice."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from netkv import resources, schemes
from netkv.errors import NetkvError
from netkv.home import home
from netkv.live import ports, veth
from netkv.live.bmv2 import toolchain
from netkv.schemes import registry
from netkv.schemes.spec import LabSpec

Status = Literal["ok", "warn", "fail"]

_WANTED_BUFFER = 4 * 1024 * 1024
"""Bytes of socket buffer that a busy port should get."""
_OLDEST_REDIS = 6
_WANTED_DISK = 200 * 1024 * 1024


@dataclass(frozen=True)
class Check:
    """One finding. `fail` means that runs will not work."""

    name: str
    status: Status
    text: str
    """The finding."""
    hint: str = ""
    """How to fix it."""

    def to_json(self) -> dict[str, Any]:
        """The entry of `--json`."""
        return asdict(self)


def run() -> list[Check]:
    """All checks, in the order in which they build on each other."""
    checks: list[Callable[[], Check]] = [
        _python,
        _engine,
        _schemes,
        _programs,
        _bmv2,
        _loopback,
        _buffers,
        _processors,
        _veth,
        _rocksdb,
        _redis,
        _state,
        _disk,
        _chromium,
    ]
    return [_guarded(check) for check in checks]


def healthy(checks: list[Check]) -> bool:
    """Whether netkv can run here."""
    return all(check.status != "fail" for check in checks)


def _guarded(check: Callable[[], Check]) -> Check:
    name = check.__name__.lstrip("_")
    try:
        return check()
    except Exception as error:
        return Check(name, "fail", f"the check itself failed: {error}", "Please report this.")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if not sys.platform.startswith("linux"):
        return Check("python", "fail", f"Python {version} on {sys.platform}", "netkv needs Linux.")
    return Check("python", "ok", f"Python {version}")


def _engine() -> Check:
    try:
        engine = importlib.import_module("netkv._engine")
    except ImportError as error:
        hint = "Run 'make setup' in the checkout, or install the wheel again."
        return Check("engine", "fail", f"the engine does not load: {error}", hint)
    return Check("engine", "ok", f"loaded from {engine.__file__}; labs can use it as target")


def _schemes() -> Check:
    found = registry.catalogue()
    if found.problems:
        hint = "Install another version of the package, or remove it."
        return Check("schemes", "warn", " ".join(found.problems.values()), hint)
    return Check("schemes", "ok", ", ".join(found.schemes))


def _programs() -> Check:
    lab = LabSpec()
    # Several schemes may share a program, and one program may be compiled in several ways.
    variants = {
        (program, tuple(sorted(scheme.programs.defines(lab).items())))
        for scheme in schemes.all_schemes()
        for program in (scheme.programs.main, *scheme.programs.others.values())
    }
    for program, defines in sorted(variants):
        path = resources.path("p4") / program
        try:
            schemes.compile_program(path, dict(defines))
        except Exception as error:
            first = str(error).splitlines()[0]
            hint = f"'netkv p4 check {path}' has the details."
            return Check("programs", "fail", f"{program} does not compile: {first}", hint)
    names = sorted({program for program, _ in variants})
    return Check("programs", "ok", f"{', '.join(names)} compile")


def _bmv2() -> Check:
    found, missing = [], []
    for name, find in (("p4c", toolchain.compiler), (toolchain.SWITCH, toolchain.switch)):
        try:
            program = find()
        except toolchain.MissingError:
            missing.append(name)
        except NetkvError as error:
            return Check("bmv2", "warn", str(error), toolchain.HOW_TO_GET)
        else:
            found.append(f"{program.path} {program.version}")
    if missing:
        text = f"no {' and no '.join(missing)} on PATH: labs cannot use the target 'bmv2'"
        if toolchain.SWITCH in missing and found:
            text = f"{', '.join(found)}; {text}, but 'bmv2://HOST'"
        return Check("bmv2", "warn", text, toolchain.HOW_TO_GET)
    if not toolchain.switch().thrift:
        hint = (
            "This simple_switch_grpc was built without Thrift, so its egress queues hold 64 "
            "packets and drop the rest of a burst. One built with '--with-thrift' has longer ones."
        )
        return Check("bmv2", "warn", ", ".join(found), hint)
    return Check("bmv2", "ok", f"{', '.join(found)}; labs can use it as target")


def _loopback() -> Check:
    try:
        first, second = ports.free_ports(2)
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        ):
            sender.bind(("127.0.0.1", first))
            receiver.bind(("127.0.0.1", second))
            receiver.settimeout(1)
            sender.sendto(b"netkv", ("127.0.0.1", second))
            arrived = receiver.recv(16) == b"netkv"
    except OSError as error:
        return Check("loopback", "fail", f"UDP on 127.0.0.1: {error}", "Bring up 'lo'.")
    if not arrived:
        return Check(
            "loopback", "fail", "UDP on 127.0.0.1 changes datagrams", "Check the firewall."
        )
    return Check("loopback", "ok", "UDP on 127.0.0.1 works")


def _buffers() -> Check:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WANTED_BUFFER)
        # The kernel reports twice what it grants.
        granted = probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    text = f"a socket can buffer {granted // 1024} KiB"
    if granted >= _WANTED_BUFFER:
        return Check("buffers", "ok", text)
    hint = (
        f"Bursts may be lost (and retried) at high load; "
        f"'sysctl -w net.core.rmem_max={_WANTED_BUFFER} net.core.wmem_max={_WANTED_BUFFER}' helps."
    )
    return Check("buffers", "warn", text, hint)


def _processors() -> Check:
    count = len(os.sched_getaffinity(0))
    if count < 2:
        hint = "Switch, servers and clients share it: expect low throughput."
        return Check("processors", "warn", "one processor", hint)
    return Check("processors", "ok", f"{count} processors")


def _veth() -> Check:
    if os.geteuid() != 0:
        return Check("veth", "ok", "not without root; the fabric 'udp' needs no privileges")
    if (reason := veth.missing()) is not None:
        return Check("veth", "warn", "there is no fabric 'veth'", reason)
    wanted = [name for name in ("ethtool", "ping", "iperf3") if shutil.which(name) is None]
    more = f"; not installed: {', '.join(wanted)}" if wanted else ""
    removed = veth.sweep()
    swept = f"; removed namespaces left by a crash: {', '.join(removed)}" if removed else ""
    return Check("veth", "ok", f"labs and switches can use network namespaces{more}{swept}")


def _rocksdb() -> Check:
    try:
        importlib.import_module("rocksdict")
    except ImportError as error:
        hint = "'pip install rocksdict'; the back end 'memory' works without."
        return Check("rocksdb", "warn", f"rocksdict does not load: {error}", hint)
    return Check("rocksdb", "ok", "rocksdict loads")


def _redis() -> Check:
    try:
        client = importlib.import_module("redis").__version__
        importlib.import_module("hiredis")
    except ImportError as error:
        hint = "'pip install redis[hiredis]'; the other back ends work without."
        return Check("redis", "warn", f"redis-py does not load: {error}", hint)
    server = shutil.which("redis-server")
    if server is None:
        hint = (
            "The back end 'redis' needs one: 'apt install redis-server'. It can also use servers "
            "that run elsewhere ('lab.redis.addresses')."
        )
        return Check("redis", "warn", f"redis-py {client}, no redis-server on PATH", hint)
    done = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=10)
    version = re.search(r"\bv=(\S+)", done.stdout)
    if done.returncode != 0 or version is None:
        text = f"{server} does not print its version: {(done.stdout + done.stderr).strip()[:80]}"
        return Check("redis", "warn", text, "Install redis-server again.")
    found = version.group(1)
    if int(found.split(".")[0]) < _OLDEST_REDIS:
        hint = f"netkv is tested with redis-server {_OLDEST_REDIS} and later."
        return Check("redis", "warn", f"{server} {found}, redis-py {client}", hint)
    return Check("redis", "ok", f"{server} {found}, redis-py {client} with hiredis")


def _state() -> Check:
    directory = home()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        hint = "Set NETKV_HOME to a directory that can be written."
        return Check("state", "fail", f"{directory}: {error.strerror}", hint)
    return Check("state", "ok", f"{directory} can be written")


def _disk() -> Check:
    place = next(p for p in (home(), *home().parents) if p.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GiB free in {place}"
    if free < _WANTED_DISK:
        return Check("disk", "warn", text, "Delete old runs ('netkv runs delete') or make room.")
    return Check("disk", "ok", text)


def _chromium() -> Check:
    found = shutil.which("chromium-headless-shell")
    if found is None:
        hint = "Only the tests of the dashboard need it: 'apt install chromium-headless-shell'."
        return Check("chromium", "warn", "no chromium-headless-shell on PATH", hint)
    return Check("chromium", "ok", found)
