"""Programs that tests start, and the Debian packages that have them."""

from __future__ import annotations

import shutil

import pytest

from netkv.live.bmv2 import toolchain

PACKAGES = {
    "c++": "g++",
    "cc": "gcc",
    "chromium-headless-shell": "chromium-headless-shell",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "linux.uml": "user-mode-linux",
    "memcached": "memcached",
    "nsenter": "util-linux",
    "ping": "iputils-ping",
    "qemu-system-x86_64": "qemu-system-x86",
    "redis-benchmark": "redis-tools",
    "redis-cli": "redis-tools",
    "redis-server": "redis-server",
    "setpriv": "util-linux",
    "tcpdump": "tcpdump",
    "unshare": "util-linux",
    "/bin/busybox": "busybox-static",
}
"""Program → its package; `make test-tools` installs those that are missing."""

needs_bmv2 = pytest.mark.skipif(
    not any(map(shutil.which, toolchain.COMPILERS)) or not shutil.which(toolchain.SWITCH),
    reason="there is no p4c, or no simple_switch_grpc, on PATH: Debian has no package of them, "
    "the images of p4lang have them (docs/use/bmv2.md)",
)


def missing(*programs: str) -> str | None:
    """The sentence for the programs that are not on PATH; None if all of them are."""
    absent = [program for program in programs if shutil.which(program) is None]
    if not absent:
        return None
    packages = " ".join(dict.fromkeys(PACKAGES[program] for program in absent))
    return (
        f"{', '.join(absent)}: not on PATH. 'make test-tools' installs what is missing, "
        f"'apt-get install {packages}' this."
    )


def need(*programs: str) -> None:
    """Skip the test, with the packages that it lacks, if a program is missing."""
    if (sentence := missing(*programs)) is not None:
        pytest.skip(sentence)


def find(program: str) -> str:
    """The path of a program; skips the test, with the package that has it, if it is missing."""
    need(program)
    return shutil.which(program) or program
