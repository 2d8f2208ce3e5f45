"""Clean Debian systems in folders, for `chroot`: what a user has before `pip install netkv`."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.wheels.targets import ROOT, TARGETS, WORK, Target

MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
USER = "netkv"
"""Uid 1000: nobody needs root to use netkv."""

_PYTHON = (
    "pool/main/p/python3.11/python3.11_3.11.2.orig.tar.gz",
    "2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849",
)
"""Of Debian 12, with its SHA-256. Debian 11 has Python 3.9, so it is built there."""
_PYTHON_NEEDS = ("libssl1.1", "libffi7", "libsqlite3-0", "libbz2-1.0", "liblzma5", "zlib1g")
_PYTHON_BUILD = (
    *("build-essential", "libssl-dev", "libffi-dev", "libsqlite3-dev", "libbz2-dev"),
    *("liblzma-dev", "zlib1g-dev"),
)


class NoSystemError(Exception):
    """A sentence: why a system cannot be made, and what to do."""


@dataclass(frozen=True, slots=True)
class System:
    """A Debian release on a processor."""

    name: str
    suite: str
    arch: str = "x86_64"
    python: str = "/usr/bin/python3"
    packages: tuple[str, ...] = ("python3", "python3-venv")

    @property
    def target(self) -> Target:
        """Its processor."""
        return TARGETS[self.arch]

    @property
    def folder(self) -> Path:
        """The root of its files."""
        return WORK / "systems" / self.name

    @property
    def emulated(self) -> bool:
        """Whether QEMU translates its programs."""
        return self.arch != platform.machine()


SYSTEMS = {
    it.name: it
    for it in (
        System(
            "debian-11",
            "bullseye",
            python="/opt/python3.11/bin/python3.11",
            packages=_PYTHON_NEEDS,
        ),
        System("debian-12", "bookworm"),
        System("debian-13", "trixie"),
        System("debian-12-aarch64", "bookworm", arch="aarch64"),
    )
}


def as_root(*command: str | Path) -> None:
    """Runs a command as root; raises `NoSystemError` with the end of what it printed."""
    done = subprocess.run(
        [*([] if os.geteuid() == 0 else ["sudo"]), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-15:])
        raise NoSystemError(f"{command[0]} has failed:\n{end}")


def make(system: System) -> None:
    """Makes the system, if it is not there."""
    if (system.folder / "etc/debian_version").exists():
        return
    print(f"==> debootstrap: {system.name}", flush=True)
    _needs("debootstrap", "debootstrap")
    if system.emulated:
        _emulate(system.target)
    new = _bootstrapped(system, system.folder.with_suffix(".new"), system.packages)
    if not system.python.startswith("/usr"):
        _build_python(system, new)
    as_root("chroot", new, "useradd", "--uid", "1000", "--create-home", USER)
    as_root("mv", new, system.folder)


def _bootstrapped(system: System, folder: Path, packages: tuple[str, ...]) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    as_root("rm", "-rf", folder)
    include = ",".join(("ca-certificates", *packages))
    arch = f"--arch={system.target.debian}"
    as_root(
        *("debootstrap", arch, "--variant=minbase", f"--include={include}"),
        *(system.suite, folder, MIRROR),
    )
    return folder


def _build_python(system: System, folder: Path) -> None:
    """Python at `system.python`, built in another folder, so that no compiler is left in this."""
    path, digest = _PYTHON
    print(f"==> {system.name}: Python from {Path(path).name} (a few minutes)", flush=True)
    try:
        with urllib.request.urlopen(f"{MIRROR}/{path}", timeout=180) as answer:
            source = answer.read()
    except OSError as error:
        raise NoSystemError(f"{MIRROR}/{path} cannot be fetched: {error}.") from error
    if hashlib.sha256(source).hexdigest() != digest:
        raise NoSystemError(f"{MIRROR}/{path} is not the file that was tried.")
    builder = _bootstrapped(system, folder.with_suffix(".builder"), _PYTHON_BUILD)
    archive = WORK / "python.tar.gz"
    archive.write_bytes(source)
    as_root("mv", archive, builder / "tmp/python.tar.gz")
    prefix = Path(system.python).parents[1]
    steps = (
        "cd /tmp && tar -xf python.tar.gz --strip-components=1",
        f"./configure -q --prefix={prefix} --disable-test-modules",
        f"make -s -j{os.cpu_count()} && make -s install",
    )
    as_root("chroot", builder, "sh", "-ec", " && ".join(steps))
    as_root("mkdir", "-p", folder / "opt")
    as_root("cp", "-a", builder / str(prefix).lstrip("/"), folder / "opt")
    as_root("rm", "-rf", builder)


def _emulate(target: Target) -> None:
    """Lets the kernel start programs for the processor through QEMU."""
    name = f"qemu-{target.arch}"
    _needs(f"{name}-static", "qemu-user-static")
    _needs("update-binfmts", "binfmt-support")
    registered = Path("/proc/sys/fs/binfmt_misc")
    if not (registered / "register").exists():
        as_root("mount", "-t", "binfmt_misc", "binfmt_misc", registered)
    if not (registered / name).exists():
        as_root("update-binfmts", "--enable", name)


def _needs(program: str, package: str) -> None:
    if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        why = "systems in which wheels are tried"
        subprocess.run([ROOT / ".ci/apt-install", why, package], check=False)
    if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        raise NoSystemError(f"There is no {program}: install the Debian package {package}.")
