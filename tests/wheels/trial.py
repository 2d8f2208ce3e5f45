"""A wheel in a clean system: installed by a user, and used for what netkv is there for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.p4programs.write import GENERATED, write
from tests.wheels.systems import USER, System, as_root
from tests.wheels.targets import DIST, WORK

HERE = Path(__file__).parent
SCENARIOS = ("write-back", "two-layers", "multigets")
"""In `scenarios/`: each scheme that is a P4 program or runs on one, simulated."""
_OWN = ("id", "finished_at", "latency_histogram")
"""What results of simulated runs need not have alike on every system; the last is compressed."""

_ENTER = """
set -e
root=$1 home=$2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$home" "$root/home/$3"
mkdir "$root/tmp/wheels" "$root/tmp/packets" "$root/tmp/scenarios"
mount --bind -o ro "$4" "$root/tmp/wheels"
mount --bind -o ro "$5" "$root/tmp/packets"
mount --bind -o ro "$6" "$root/tmp/scenarios"
chmod 1777 "$root/tmp"
# Certificates and name servers of this machine, which may reach packages through a proxy.
for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || mount --bind -o ro "$file" "$root$file"
done
shift 6
exec chroot --userspec=1000:1000 "$root" "$@"
"""
"""Enters a system, in a namespace of its own for mounts and processes, which end with it."""

_PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_CERT")


class FailedError(Exception):
    """What a step printed, and what was expected."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command in the system, and what its output must say."""

    name: str
    command: str
    check: Callable[[str], str]
    """Takes the output and returns a remark; raises `FailedError`."""
    status: int = 0


class Trial:
    """The wheel of a system's processor in it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.figures: dict[str, Any] = {}
        """Of each simulated scenario."""
        self._home = WORK / "homes" / system.name

    def run(self) -> bool:
        """Whether all steps are done; prints a line for each."""
        print(f"==> {self.system.name}", flush=True)
        write(GENERATED)
        as_root("rm", "-rf", self._home)
        self._home.mkdir(parents=True)
        as_root("chown", "1000:1000", self._home)
        for step in self._steps():
            begun = time.monotonic()
            try:
                remark = self._do(step)
            except FailedError as error:
                print(f"    FAILED  {step.name}: {error}", flush=True)
                return False
            took = time.monotonic() - begun
            print(f"    {took:6.1f} s  {step.name}{remark and f': {remark}'}", flush=True)
        as_root("rm", "-rf", self._home)
        return True

    def _steps(self) -> list[Step]:
        wheel = self.system.target.wheel()
        assert wheel is not None
        # Two seconds of each scheme do where instructions are translated; nothing is expected of
        # their speed.
        slower = " --set warmup=1 --set duration=2 --set expect=[]" if self.system.emulated else ""
        steps = [
            Step(
                "no compiler, no Rust, no root",
                "id -u; for it in cc c++ gcc g++ clang cargo rustc; do command -v $it; done; true",
                self._is("1000"),
            ),
            Step(
                "pip install, wheels only",
                f"{self.system.python} -m venv ~/netkv && ~/netkv/bin/pip install -q "
                f"--disable-pip-version-check --only-binary :all: /tmp/wheels/{wheel.name}",
                self._any,
            ),
            Step("netkv --version", "netkv --version", self._any),
            Step("quickstart", f"netkv scenario run quickstart --json{slower}", self._live),
        ]
        for name in SCENARIOS:
            command = f"netkv scenario run /tmp/scenarios/{name}.yaml --json"
            steps.append(Step(f"simulated: {name}", command, self._simulated(name)))
        for test in sorted(GENERATED.glob("*.stf")):
            program, _, servers = test.stem.partition("_")
            options = f" -D NETMC_SERVERS={servers}" if servers else ""
            for executor in ("compiled", "interpreter"):
                command = (
                    f"netkv p4 stf ~/netkv/lib/python3*/site-packages/netkv/data/p4/{program}/"
                    f"{program}.p4 /tmp/packets/{test.name} --executor {executor}{options}"
                )
                steps.append(Step(f"packets: {test.stem}, {executor}", command, self._last_line))
        seconds = 60 if self.system.emulated else 10
        steps.append(
            Step("both executors alike", f"netkv p4 fuzz --seconds {seconds}", self._last_line)
        )
        steps.append(
            Step(
                "a design without a compiler",
                "netkv scenario run lake-clock --set sweep={} 2>&1",
                self._names_compiler,
                status=1,
            )
        )
        return steps

    def _do(self, step: Step) -> str:
        environment = {
            "PATH": f"/home/{USER}/netkv/bin:/usr/bin:/bin",
            "HOME": f"/home/{USER}",
            "LANG": "C.UTF-8",
            "COLUMNS": "200",
            **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        }
        inside = ["env", "-i", *(f"{k}={v}" for k, v in environment.items())]
        inside += ["sh", "-c", f"cd && {step.command}"]
        folders = [self.system.folder, self._home, USER, DIST, GENERATED, HERE / "scenarios"]
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, "sh"]
        done = subprocess.run(
            [*([] if os.geteuid() == 0 else ["sudo"]), *enter, *map(str, folders), *inside],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != step.status:
            said = (done.stdout + done.stderr)[-3000:]
            raise FailedError(f"exit status {done.returncode}, not {step.status}:\n{said}")
        return step.check(done.stdout or done.stderr)

    @staticmethod
    def _is(expected: str) -> Callable[[str], str]:
        def check(printed: str) -> str:
            if printed.strip() != expected:
                raise FailedError(f"printed {printed.strip()!r}, not {expected!r}")
            return ""

        return check

    @staticmethod
    def _any(printed: str) -> str:
        return printed.strip()

    @staticmethod
    def _last_line(printed: str) -> str:
        lines = printed.strip().splitlines()
        if not lines:
            raise FailedError("it printed nothing")
        if "Traceback" in printed:
            raise FailedError(printed[-3000:])
        return lines[-1].strip()

    @staticmethod
    def _names_compiler(printed: str) -> str:
        if "apt install g++" not in printed or "Traceback" in printed:
            raise FailedError(printed[-3000:])
        return "says what to install"

    @staticmethod
    def _live(printed: str) -> str:
        runs = json.loads(printed)["runs"]
        if any(run["acked_writes_lost"] or not run["completed_ops"] for run in runs):
            raise FailedError(printed[-3000:])
        return ", ".join(f"{run['scheme']} {run['throughput_ops']:.0f} ops/s" for run in runs)

    def _simulated(self, name: str) -> Callable[[str], str]:
        def check(printed: str) -> str:
            runs = json.loads(printed)["runs"]
            self.figures[name] = _alike(runs)
            return ", ".join(f"{run['scheme']} {run['throughput_ops']:.0f} ops/s" for run in runs)

        return check


def of_this_machine() -> dict[str, Any]:
    """The figures of the simulated scenarios with the sources of this checkout."""
    netkv = Path(sys.executable).with_name("netkv")
    found = {}
    with tempfile.TemporaryDirectory() as home:
        for name in SCENARIOS:
            done = subprocess.run(
                [netkv, "scenario", "run", HERE / f"scenarios/{name}.yaml", "--json"],
                env={**os.environ, "NETKV_HOME": home},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise FailedError(f"{name} has failed in this checkout:\n{done.stderr[-3000:]}")
            found[name] = _alike(json.loads(done.stdout)["runs"])
    return found


def _alike(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in run.items() if key not in _OWN} for run in runs]
