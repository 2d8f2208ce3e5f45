"""A simple_switch_grpc: its command line, its start, and its end."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Sequence
from typing import IO

from netkv.live import ends_with_parent

START_TIMEOUT_S = 50.0
"""For bmv2 to listen; below `netkv.live.process.READY_TIMEOUT`, so that the error has a reason."""
_POLL_S = 0.02
_PRIORITIES = 8
"""Queues of a port, as many as `standard_metadata.priority` has values. bmv2 has one by default,
and drops packets whose priority has no queue."""


class SwitchProcess:
    """A bmv2 without a program, on loopback addresses. It is killed when its parent ends."""

    def __init__(
        self,
        program: str,
        *,
        device_id: int,
        cpu_port: int | None,
        p4runtime: str,
        dataplane: str,
        thrift: str | None,
    ) -> None:
        """Without a `cpu_port`, frames to the controller leave at a port like others. `thrift` is
        the address of the Thrift server; None for a bmv2 that was built without it."""
        self._program = program
        self._addresses = [each for each in (p4runtime, dataplane, thrift) if each is not None]
        self.command: Sequence[str] = [
            program,
            "--no-p4",
            *("--device-id", str(device_id)),
            *(() if thrift is None else ("--thrift-port", thrift.rpartition(":")[2])),
            "--log-console",
            *("--log-level", "warn"),
            "--",
            *("--grpc-server-addr", p4runtime),
            *(() if cpu_port is None else ("--cpu-port", str(cpu_port))),
            *("--dp-grpc-server-addr", dataplane),
            *("--priority-queues", str(_PRIORITIES)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, log: IO[bytes] | IO[str]) -> None:
        """Starts it and returns when it listens. Raises ValueError if it ends, or never listens."""
        self._process = subprocess.Popen(
            ends_with_parent.words(self.command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        end = time.monotonic() + START_TIMEOUT_S
        for address in self._addresses:
            while not listens(address):
                if (gone := self.ended()) is not None:
                    raise ValueError(gone)
                if time.monotonic() > end:
                    raise ValueError(f"bmv2 has not listened at {address} in {START_TIMEOUT_S:g} s")
                time.sleep(_POLL_S)

    def ended(self, wait_s: float = 0.0) -> str | None:
        """How it has ended by itself; None if it still runs after a wait."""
        if self._process is None:
            return None
        try:
            status = self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return None
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"{self._program} {how}"

    def kill(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def listens(address: str) -> bool:
    """Whether a server accepts connections at host:port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1.0).close()
    except OSError:
        return False
    return True
