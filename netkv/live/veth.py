"""Network namespaces and veth pairs: hosts with IP stacks of their own, cabled to a switch.

A fabric is a namespace for the switch, with an interface `portN` for each port, and a namespace for
each host, in which the other end of the pair is `eth0`. Offloads are off, because no network card
computes checksums or splits segments, and a P4 program expects frames as they are on a wire.

Clean-up
--------
1. `close` deletes the namespaces, and with them their interfaces.
2. If the process ends in another way, its guard deletes them. The guard is a shell that waits for
   the end of a pipe, which only this process holds open.
3. If the guard was killed too, `sweep` deletes them, at the next `open` of any fabric and at
   `netkv down`. Each namespace stores the identity of its owner.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import NetkvError, UsageError
from netkv.processes import Identity, identity

PREFIX = "netkv-"
"""Prefix of the names of all namespaces that netkv makes."""
_MAX_NAME = 64
_NAMESPACES = Path("/run/netns")
_OWNER = "netkv owner "
_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
_OFFLOADS = {
    "rx checksums": 0x15,
    "tx checksums": 0x17,
    "scatter and gather": 0x19,
    "TCP segmentation": 0x1F,
    "flags (VLAN tags, LRO)": 0x26,
    "generic segmentation": 0x24,
    "generic receive": 0x2C,
}
"""Commands of ethtool that set an offload; all are set to 0."""
_GUARD = 'read -r _; for each in "$@"; do ip netns delete "$each"; done'


@dataclass(frozen=True)
class Host:
    """A host at the end of a cable."""

    name: str
    port: int
    """Port number of the switch."""
    address: str
    """With the prefix length: 10.0.0.1/24."""
    mac: str
    more_addresses: tuple[str, ...] = ()


class VethFabric:
    """Namespaces and cables of some hosts and one switch. A context manager; needs root."""

    def __init__(
        self, name: str, hosts: Sequence[Host], mtu: int = 1500, sinks: Sequence[int] = ()
    ) -> None:
        """`name` must be unique among the fabrics that are up. The fabric is made by `open`.

        `sinks` are UDP ports whose frames the nodes read from the interface. Sockets are bound to
        them; without a socket the host's network stack answers each frame with an ICMP error.
        """
        self.hosts = tuple(hosts)
        self._name = f"{PREFIX}{name}"
        self._mtu = mtu
        self._sinks = tuple(sinks)
        self._sink_sockets: list[socket.socket] = []
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def switch_namespace(self) -> str:
        """The namespace of the switch's interfaces."""
        return self._name

    def namespace(self, host: str) -> str:
        """The namespace of a host, for `ip netns exec`; its interface is `eth0`."""
        return f"{self._name}-{host}"

    def port(self, number: int) -> str:
        """The interface of a port, as `netkv switch run --port` takes it."""
        return f"{self.switch_namespace}/port{number}"

    def interface(self, host: str) -> str:
        """The interface of a host, in the same form."""
        return f"{self.namespace(host)}/eth0"

    def open(self) -> None:
        """Makes the fabric. Raises `NetkvError`: not root, no iproute2, or a name in use."""
        check()
        sweep()
        names = [self.switch_namespace, *(self.namespace(host.name) for host in self.hosts)]
        for name in names:
            if len(name) > _MAX_NAME:
                raise UsageError(f"'{name}' is too long for a network namespace.")
            if (_NAMESPACES / name).exists():
                raise NetkvError(
                    f"The network namespace '{name}' is there already and its owner is alive; "
                    f"choose another name, or stop the owner."
                )
        # The guard starts before the first namespace is made, so that none is left behind.
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "guard", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            for name in names:
                _ip("netns", "add", name)
                _store_owner(name)
            for host in self.hosts:
                self._plug(host)
                within(self.namespace(host.name), self._bind_sinks)
        except BaseException:
            self.close()
            raise

    def _plug(self, host: Host) -> None:
        switch, space, port = (
            self.switch_namespace,
            self.namespace(host.name),
            f"port{host.port}",
        )
        _ip(
            *("-n", space, "link", "add", "eth0", "address", host.mac, "mtu", str(self._mtu)),
            *("type", "veth", "peer", "name", port, "mtu", str(self._mtu), "netns", switch),
        )
        # The kernel must not send frames of its own (IPv6) at these interfaces.
        for name, interface in ((space, "eth0"), (switch, port)):
            within(name, lambda interface=interface: _configure(interface))  # type: ignore[misc]
            _ip("-n", name, "link", "set", interface, "up")
        for address in (host.address, *host.more_addresses):
            _ip("-n", space, "address", "add", address, "dev", "eth0")

    def _bind_sinks(self) -> None:
        """Binds the sinks, in a host's namespace. Their buffers fill up; the rest is dropped."""
        for port in self._sinks:
            sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sink_sockets.append(sink)
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
            sink.bind(("0.0.0.0", port))

    def neighbours(self) -> None:
        """Sets the MAC addresses of all hosts at each host, for switches that forward no ARP."""
        for host in self.hosts:
            for other in self.hosts:
                if other is host:
                    continue
                for address in (other.address, *other.more_addresses):
                    _ip(
                        *("-n", self.namespace(host.name), "neighbour", "replace"),
                        *(address.partition("/")[0], "lladdr", other.mac, "dev", "eth0"),
                    )

    def close(self) -> None:
        """Deletes the namespaces. A second call does nothing."""
        for sink in self._sink_sockets:
            sink.close()
        self._sink_sockets.clear()
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    def __enter__(self) -> VethFabric:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def missing() -> str | None:
    """Why this process cannot make a fabric, as a sentence; None if it can."""
    if os.geteuid() != 0:
        return (
            "The fabric 'veth' makes network namespaces, which only root may: run netkv with sudo, "
            "or take the fabric 'udp', which needs no privileges."
        )
    if shutil.which("ip") is None:
        return "The fabric 'veth' needs the program ip: apt-get install iproute2."
    return None


def check() -> None:
    """Raises `NetkvError` if this process cannot make a fabric."""
    if (reason := missing()) is not None:
        raise NetkvError(reason)


def sweep() -> list[str]:
    """Deletes the namespaces of fabrics whose owner has ended; returns their names."""
    if missing() is not None or not _NAMESPACES.is_dir():
        return []
    gone = []
    for path in sorted(_NAMESPACES.glob(f"{PREFIX}*")):
        owner = _owner(path.name)
        if owner is not None and not owner.alive:
            # Another process may delete it at the same time.
            with contextlib.suppress(NetkvError):
                _ip("netns", "delete", path.name)
                gone.append(path.name)
    return gone


def within(namespace: str, work: Callable[[], None]) -> None:
    """Calls `work` in a thread that is in a namespace. Raises OSError."""
    failed: list[OSError] = []

    def enter() -> None:
        try:
            with (_NAMESPACES / namespace).open("rb") as file:
                library = ctypes.CDLL(None, use_errno=True)
                if library.setns(file.fileno(), _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            work()
        except OSError as error:
            failed.append(error)

    # setns moves the calling thread only, so a thread of its own makes the call and ends.
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _configure(interface: str) -> None:
    """Disables offloads and IPv6 of an interface; call it in the namespace of the interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _OFFLOADS.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
            # An offload that the kernel does not have is off.
            with contextlib.suppress(OSError):
                fcntl.ioctl(control, _SIOCETHTOOL, request)
    with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
        Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")


def _store_owner(namespace: str) -> None:
    """Stores this process as the owner of the namespace, in the alias of its loopback."""
    own = identity(os.getpid())
    assert own is not None
    _ip(
        *("-n", namespace, "link", "set", "dev", "lo", "alias"),
        f"{_OWNER}{own.pid} {own.start} {own.boot}",
    )
    _ip("-n", namespace, "link", "set", "dev", "lo", "up")


def _owner(namespace: str) -> Identity | None:
    """The owner of the namespace; None if it is not netkv's, or the owner is not stored yet."""
    try:
        (loopback,) = json.loads(_ip("-n", namespace, "-j", "link", "show", "dev", "lo"))
        alias = str(loopback.get("ifalias", ""))
        pid, start, boot = alias.removeprefix(_OWNER).split()
        return Identity(int(pid), int(start), boot) if alias.startswith(_OWNER) else None
    except (NetkvError, ValueError):
        return None


def _ip(*arguments: str) -> str:
    done = subprocess.run(
        ["ip", *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise NetkvError(f"'ip {' '.join(arguments)}' failed: {reason}")
    return done.stdout
