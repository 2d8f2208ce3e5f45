"""Linux guests that drive a card with their own virtio driver, and what is around the card.

    guest =vhost-user=> card (netkv fpga run --live) =TAP=> namespace `server` with memcached

A guest is User-Mode Linux, or Debian's kernel in QEMU without KVM. It runs commands that come over
its console.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netkv.fpga import build, live
from netkv.model import manifest
from tests import programs
from tests.fpga.memcached_servers import PORT, command, skip_without_memcached
from tests.switch.sandbox import ROOT, Sandbox, skip_without
from tests.waiting import PATIENCE_S, until

GUEST, SERVER = "10.9.0.1", "10.9.0.2"
MAC = "02:00:00:00:00:01"
"""Address of the card's first function."""
BUSYBOX = Path("/bin/busybox")
UML = "linux.uml"
QEMU = "qemu-system-x86_64"
KERNELS = (ROOT / ".cache" / "guest-kernel", Path("/"))
"""Where `make test-tools` unpacks Debian's kernel, and where it is once it is installed."""
MODULES = ("failover", "net_failover", "virtio_net")
"""The driver and what it needs, in the order of loading."""
PCI_MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"),
    *MODULES,
)

_CONSOLE = r"""
stty -echo -onlcr
printf '@@ ready\n'
while read -r line; do eval "$line"; printf '\n@@ %d\n' $?; done
"""
_CLIENT = """\
import sys
from tests.fpga.memcached_servers import Sockets
from tests.fpga.packets import memcached

server = Sockets((sys.argv[1], int(sys.argv[2])))

def ask(operation):
    server.send(0, b"\\0\\7\\0\\0\\0\\1\\0\\0" + operation.encode())
    (reply,) = memcached.decode(server.receive(0)[8:])
    return reply.value

ask(memcached.store(b"apple", b"red"))
for _ in range(20):
    assert ask(memcached.get(b"apple")) == b"red"
assert server.stream(b"get apple\\r\\n") == b"VALUE apple 0 3\\r\\nred\\r\\nEND\\r\\nMN\\r\\n"
print("all answers are right")
"""
_TO_THE_END = [
    *("setpriv", "--pdeathsig", "KILL", "unshare", "--fork", "--kill-child", "--mount-proc"),
    *("--pid", "sh", "-c", '"$@"; exit', "sh"),
]
"""A guest and all its processes end with the tests, however those end."""
_END = re.compile(rb"(?:\r?\n)?@@ (\w+)\r?\n")


class Guest:
    """A guest that runs. A context manager, which ends it."""

    def __init__(self, words: Iterable[str], log: Path, environment: dict[str, str]) -> None:
        self._log = log.open("wb")
        self._output = b""
        self._process = subprocess.Popen(
            [*_TO_THE_END, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            self._until_end("the guest starts")
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def run(self, script: str, status: int | None = 0) -> str:
        """Runs a shell command in the guest; returns its output and errors."""
        self.start(script)
        return self.finish(script, status)

    def start(self, script: str) -> None:
        """Starts a command that reads lines of `write`, or that takes its time; see `finish`."""
        self.write("{ " + script + "; } 2>&1")

    def finish(self, script: str, status: int | None = 0) -> str:
        """Waits until the command has ended; returns its output and errors."""
        output, found = self._until_end(f"'{script}' ends")
        assert status is None or found == str(status), f"{script}: status {found}\n{output}"
        return output

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        assert "\n" not in line
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def read(self) -> str:
        """The next line of output."""
        self._fill(lambda: b"\n" in self._output, "a line of output")
        line, _, self._output = self._output.partition(b"\n")
        return line.decode(errors="replace").strip()

    def restart(self, script: str) -> None:
        """Runs a command that makes the guest start again."""
        self.write(script)
        _, found = self._until_end("the guest starts again")
        assert found == "ready"

    def kill(self) -> None:
        """Ends the guest as a loss of power does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for each in (self._process.stdin, self._process.stdout, self._log):
            assert each is not None
            with contextlib.suppress(BrokenPipeError):
                each.close()

    def _until_end(self, state: str) -> tuple[str, str]:
        self._fill(lambda: _END.search(self._output), state)
        end = _END.search(self._output)
        assert end is not None
        output, self._output = self._output[: end.start()], self._output[end.end() :]
        return output.decode(errors="replace").replace("\r", ""), end[1].decode()

    def _fill(self, complete: Any, state: str) -> None:
        assert self._process.stdout is not None
        end = time.monotonic() + PATIENCE_S
        while not complete():
            ready, _, _ = select.select([self._process.stdout], [], [], 1.0)
            more = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            self._log.write(more)
            self._log.flush()
            self._output += more
            shown = self._output[-4000:].decode(errors="replace")
            assert more or not ready, f"the guest has ended before {state}:\n{shown}"
            assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {state}:\n{shown}"


# ---- User-Mode Linux --------------------------------------------------------------------------
def skip_without_uml() -> None:
    programs.need(UML, str(BUSYBOX))


def user_mode_linux(socket: Path, folder: Path) -> Guest:
    """A guest whose files are those of this machine, which it cannot change."""
    folder.mkdir()
    script = folder / "init"
    lines = [
        "#!/bin/sh",
        f"export PATH={Path(sys.executable).parent}:$PATH PYTHONPATH={ROOT}",
        "export PYTHONDONTWRITEBYTECODE=1",
        "mount -t proc proc /proc",
        "mount -t sysfs sys /sys",
        "ip link set lo up",
        f"cd {ROOT}",
        _CONSOLE,
    ]
    script.write_text("\n".join(lines))
    script.chmod(0o755)
    words = [UML, "mem=128M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={script}", "quiet"]
    words += ["con=null", "con0=fd:0,fd:1", f"virtio_uml.device={socket}:1", f"uml_dir={folder}"]
    try:
        return Guest(words, folder / "console", {"TMPDIR": str(folder)})
    except AssertionError as error:
        if re.search("ptrace|PROT_EXEC", str(error)):
            pytest.skip(f"this machine does not let User-Mode Linux run: {error}")
        raise


def load_driver(guest: Guest, address: str) -> None:
    """Loads the driver, and sets its interface up with an address."""
    for module in _uml_modules():
        guest.run(f"{BUSYBOX} insmod {module} 2>/dev/null || true")
    guest.run(up(address))


def unload_driver(guest: Guest) -> None:
    guest.run(f"{BUSYBOX} rmmod virtio_net")


def up(address: str) -> str:
    """The command that sets the interface of a guest up."""
    return f"ip link set eth0 up && ip address add {address}/24 dev eth0"


def await_answer(guest: Guest) -> None:
    """Waits until the server answers a ping of the guest.

    A flood that has ended leaves its last frames in the queues before the guest. What finds these
    full is dropped, as in any network, so pings may be lost until the guest has taken them.
    """
    guest.run(f"until ping -q -c 1 -W 5 {SERVER} >/dev/null; do :; done")


def write_client(folder: Path) -> Path:
    """A program for guests that asks a memcached at an address and port, and checks its answers."""
    file = folder / "client.py"
    file.write_text(_CLIENT)
    return file


@functools.cache
def _uml_modules() -> list[Path]:
    """The files of `MODULES`."""
    folders = sorted(Path("/usr/lib/uml/modules").iterdir())
    return [_module(folders[-1], name) for name in MODULES]


def _module(folder: Path, name: str) -> Path:
    found = list(folder.rglob(f"{name}.ko"))
    assert found, f"{folder} has no module {name}"
    return found[0]


# ---- QEMU -------------------------------------------------------------------------------------
def kernel() -> tuple[Path, Path] | None:
    """Debian's kernel and the folder of its modules."""
    for place in KERNELS:
        for image in sorted(place.glob("boot/vmlinuz-*-cloud-amd64"), reverse=True):
            modules = place / "lib/modules" / image.name.removeprefix("vmlinuz-")
            if modules.is_dir():
                return image, modules
    return None


def skip_without_qemu() -> None:
    programs.need(QEMU, "cc", str(BUSYBOX))
    if kernel() is None:
        pytest.skip(
            "there is no kernel for QEMU: 'make test-tools' unpacks linux-image-cloud-amd64"
        )


def qemu(socket: Path, folder: Path, files: dict[str, Path]) -> Guest:
    """A guest with Debian's kernel; its files are busybox, its modules and `files`."""
    found = kernel()
    assert found is not None
    image, modules = found
    folder.mkdir()
    lines = [
        "#!/bin/busybox sh",
        "export PATH=/bin",
        "/bin/busybox --install -s /bin",
        "mount -t proc proc /proc",
        "mount -t sysfs sys /sys",
        "mount -t devtmpfs dev /dev",
        *(f"insmod /{name}.ko" for name in PCI_MODULES),
        "ip link set lo up",
        _CONSOLE,
    ]
    content = {"init": "\n".join(lines).encode(), "bin/busybox": BUSYBOX.read_bytes()}
    content |= {f"{name}.ko": _module(modules, name).read_bytes() for name in PCI_MODULES}
    content |= {name: file.read_bytes() for name, file in files.items()}
    archive = folder / "initramfs"
    archive.write_bytes(b"".join(_archive(content)))
    size = "128M"
    words = f"""
        {QEMU} -accel tcg -machine pc,memory-backend=memory -m {size} -nodefaults -display none
        -object memory-backend-memfd,id=memory,size={size},share=on
        -chardev socket,id=card,path={socket} -netdev vhost-user,id=network,chardev=card
        -device virtio-net-pci,netdev=network,mac={MAC},vectors=0,romfile=
        -serial stdio -kernel {image} -initrd {archive}
    """.split()
    # A kernel that hangs says where: a panic shows the stack in spite of `quiet`.
    words += ["-append", "console=ttyS0 quiet softlockup_panic=1"]
    return Guest(words, folder / "console", {})


def _archive(files: dict[str, bytes]) -> Iterator[bytes]:
    """An archive of cpio, in the form "newc" that Linux unpacks at its start."""
    folders = ["bin", "proc", "sys", "dev"]
    entries = [(name, 0o040755, b"") for name in folders]
    entries += [(name, 0o100755, content) for name, content in files.items()]
    entries.append(("TRAILER!!!", 0, b""))
    for number, (name, mode, content) in enumerate(entries, 1):
        sizes = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % each for each in sizes) + name.encode() + b"\0"
        for part in (head, content):
            yield part + bytes(-len(part) % 4)


# ---- around the card --------------------------------------------------------------------------
class Rig:
    """A card whose function waits for a guest, and a server behind its network port."""

    def __init__(self, sandbox: Sandbox, folder: Path, *words: str) -> None:
        """`words`: further words of `netkv fpga run client-cache`."""
        self._sandbox = sandbox
        self._folder = folder
        self._started = 0
        self.log = folder / "card"
        self.socket = folder / "card.socket"
        sandbox.run("ip netns add server; ip -n server link set lo up")
        ports = f"--port fn0=vhost:{self.socket} --port nf0=tap:server/card0"
        self.card = sandbox.start(
            f"netkv fpga run client-cache --live {' '.join(words)} {ports}", self.log
        )
        until(self._runs, "the card runs")
        sandbox.run(
            "ip -n server link set card0 up; "
            f"ip -n server neighbour add {GUEST} lladdr {MAC} dev card0 nud permanent"
        )
        self.memcached(SERVER)

    def memcached(self, address: str) -> None:
        """Starts a memcached at another address of the server."""
        self.run(f"ip -n server address add {address}/24 dev card0")
        self.start_at_server(" ".join(command(address, PORT)))
        probe = f"ip netns exec server bash -c 'exec 3<>/dev/tcp/{address}/{PORT}' 2>/dev/null"
        until(lambda: "yes" in self.run(f"{probe} && echo yes || true"), "memcached listens")

    def _runs(self) -> bool:
        assert self.card.poll() is None, self.log.read_text()
        return "runs as" in self.log.read_text()

    def guest_folder(self) -> Path:
        """A place for the files of another guest."""
        self._started += 1
        return self._folder / f"guest-{self._started}"

    def run(self, script: str) -> str:
        return self._sandbox.run(script)

    def server(self, script: str) -> str:
        """Runs a command at the server."""
        return self.run(f"ip netns exec server {script}")

    def start_at_server(self, script: str) -> subprocess.Popen[bytes]:
        self._started += 1
        log = self._folder / f"server-{self._started}"
        return self._sandbox.start(f"ip netns exec server {script}", log)

    def registers(self) -> dict[str, int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NETKV_HOME", str(self._folder / "home"))
            found: dict[str, int] = live.request("client-cache", {"do": "registers"})["registers"]
        return found

    def warnings(self) -> list[str]:
        """What the card has said about front ends."""
        return [line for line in self.log.read_text().splitlines() if "disconnected" in line]


@contextlib.contextmanager
def rig(folder: Path, *words: str) -> Iterator[Rig]:
    """A rig in a sandbox."""
    skip_without("ping", "ethtool")
    skip_without_memcached()
    build.build(manifest.find("client-cache"))
    with Sandbox(folder) as sandbox:
        yield Rig(sandbox, folder, *words)
