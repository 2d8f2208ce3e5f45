"""The nodes of switches that are not netkv's own: a bmv2 that runs here, or one elsewhere.

Both have a bridge between the cables of the rack and the switch's ports; the node of bmv2 also
starts and monitors the switch. The controller uses only P4Runtime.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from netkv.lab.bmv2 import queues
from netkv.lab.bridge import Bridge
from netkv.lab.far_ends import STREAM, far_ends
from netkv.lab.ports import free_ports

START_TIMEOUT_S = 50.0
"""Seconds for bmv2 to listen; below `process.READY_TIMEOUT`, so that this error is reported."""
_POLL_S = 0.02
_PR_SET_PDEATHSIG = 1


class ExternalSwitch:
    """A switch that runs elsewhere: the bridge to its ports (`netkv.lab.node.Node`)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._bridge: Bridge | None = None

    def start(self) -> dict[str, Any]:
        self._connect(dict(self._config["via"]))
        return {"p4runtime": self._config["p4runtime"]}

    def handle(self, command: dict[str, Any]) -> Any:
        assert self._bridge is not None
        if command["do"] == "statistics":
            return self._bridge.statistics()
        if command["do"] == "impair":
            return self._bridge.impair(command["port"], command["direction"], command["impairment"])
        raise ValueError(f"this switch does not know the command '{command['do']}'")

    def failure(self) -> str | None:
        return None if self._bridge is None else self._bridge.failure()

    def _connect(self, via: dict[int, str]) -> None:
        config = self._config
        ends = far_ends(via, config["device_id"])
        cables = [(port, bind, peer) for port, bind, peer in config["ports"]]
        self._bridge = Bridge(cables, ends, config["seed"], self._died)
        for link in config["links"]:
            self._bridge.impair(link["port"], link["direction"], link["impairment"])
        self._bridge.start()

    def _died(self) -> str | None:
        return None


class Bmv2Switch(ExternalSwitch):
    """A simple_switch_grpc that this process starts and monitors; the two end together."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, Any]:
        dataplane, thrift = free_ports(2)
        config = self._config
        address = f"127.0.0.1:{dataplane}"
        words = command(
            config["program"],
            device_id=config["device_id"],
            cpu_port=config["cpu_port"],
            p4runtime=config["p4runtime"],
            dataplane=address,
            thrift=thrift if config["thrift"] else None,
        )
        if listens(config["p4runtime"]):
            raise OSError(f"{config['p4runtime']} is in use")
        print(f"starting {' '.join(words)}", file=sys.stderr)
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            stderr=sys.stderr,
            preexec_fn=end_with_parent,
        )
        addresses = [config["p4runtime"], address]
        if config["thrift"]:
            addresses.append(f"127.0.0.1:{thrift}")
        for each in addresses:
            self._wait_for(each)
        if config["thrift"]:
            with _as_value_error("the depth of its queues could not be set"):
                queues.set_depth(thrift)
        self._connect({port: f"{STREAM}{address}" for port, _, _ in config["ports"]})
        return {"p4runtime": config["p4runtime"]}

    def _wait_for(self, address: str) -> None:
        end = time.monotonic() + START_TIMEOUT_S
        while not listens(address):
            if (gone := self._died()) is not None:
                raise ValueError(gone)
            if time.monotonic() > end:
                raise ValueError(f"bmv2 has not listened at {address} in {START_TIMEOUT_S:g} s")
            time.sleep(_POLL_S)

    def _died(self) -> str | None:
        status = None if self._process is None else self._process.poll()
        if status is None:
            return None
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"{self._config['program']} {how}"


def command(
    program: str,
    *,
    device_id: int,
    cpu_port: int | None,
    p4runtime: str,
    dataplane: str,
    thrift: int | None,
) -> list[str]:
    """The command that starts a switch without a program; the controller loads one.

    Without a `cpu_port`, frames to the controller leave at a port like others. `thrift` is the
    port of the Thrift server; None for a bmv2 that was built without it.
    """
    return [
        program,
        "--no-p4",
        *("--device-id", str(device_id)),
        *(() if thrift is None else ("--thrift-port", str(thrift))),
        "--log-console",
        *("--log-level", "warn"),
        "--",
        *("--grpc-server-addr", p4runtime),
        *(() if cpu_port is None else ("--cpu-port", str(cpu_port))),
        *("--dp-grpc-server-addr", dataplane),
    ]


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1.0).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _as_value_error(what: str) -> Iterator[None]:
    """Raises ValueError for OSError, which `netkv.lab.node` may take for a busy address."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{what}: {error}") from error


def end_with_parent() -> None:
    """Call it in the new process: the kernel kills it when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
