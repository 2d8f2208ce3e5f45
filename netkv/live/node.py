"""The program of a node process: `python -m netkv.live.node KIND`, a kind of `KINDS`.

The first line on stdin is the configuration (JSON); each further line is a command
`{"id": n, "do": NAME, ...}` that is answered on stdout with `{"id": n, "result": ...}` or
`{"id": n, "error": SENTENCE}`. Events are `{"event": "ready", ...}`, `{"event": "busy", "text"}`
(an address is in use) and `{"event": "failed", "text"}`. End of file on stdin ends the process at
once: a node never outlives its parent. Logs go to stderr.
"""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from netkv import roles

_PR_SET_PDEATHSIG = 1
_WATCH_INTERVAL = 0.25
"""Seconds between checks whether the node has failed."""


class Node(Protocol):
    """The interface of all kinds of nodes."""

    def start(self) -> dict[str, Any]:
        """Binds its addresses and starts; returns further fields of the ready event."""

    def handle(self, command: dict[str, Any]) -> Any:
        """Carries out a command and returns its result; ValueError: the command is invalid."""

    def failure(self) -> str | None:
        """Why the node has failed; None if it has not."""


class SwitchProcess:
    """A switch: the engine with its ports, and the P4Runtime server in front of it."""

    def __init__(self, config: dict[str, Any]) -> None:
        from netkv import _engine
        from netkv.switch.assertions import AssertionWatch

        bundle = Path(config["bundle"]).read_bytes()
        self._switch = _engine.Switch(
            bundle, config["seed"], config["executor"], config["pipelines"]
        )
        ports = [(port, bind, peer) for port, bind, peer in config["ports"]]
        self._node = _engine.SwitchNode(
            self._switch, ports, config["cpu_port"], seed=config["seed"]
        )
        for link in config["links"]:
            self._impair(link)
        self._assertions = AssertionWatch(self._switch)
        self._p4runtime = str(config["p4runtime"])

    def start(self) -> dict[str, Any]:
        from netkv.live.p4runtime import Served

        self._node.start()
        self._server = Served(self._switch, self._node, self._p4runtime)
        return {"p4runtime": self._server.address}

    def handle(self, command: dict[str, Any]) -> Any:
        if command["do"] == "statistics":
            program = self._switch.statistics()
            for text in self._assertions.new():
                roles.log.warning("%s", text)
            ports = self._node.port_statistics()
            names = ("received", "received_bytes", "sent", "sent_bytes")
            return {
                **self._node.statistics(),
                # Of the same moment as those of the ports, while frames pass.
                **{name: sum(port[name] for port in ports.values()) for name in names},
                **self._server.statistics(),
                "recirculated": program["recirculated"],
                "resubmitted": program["resubmitted"],
                "ports": ports,
            }
        if command["do"] == "capture":
            return self._node.capture(command["limit"])
        if command["do"] == "captured":
            return self._node.captured()
        if command["do"] == "end-capture":
            return [[port, frame.hex()] for port, frame in self._node.end_capture()]
        if command["do"] == "impair":
            return self._impair(command)
        if command["do"] == "pause":
            return self._node.pause()
        if command["do"] == "resume":
            return self._node.resume()
        raise ValueError(f"a switch does not know the command '{command['do']}'")

    def failure(self) -> str | None:
        return self._server.failure

    def _impair(self, link: dict[str, Any]) -> None:
        self._node.impair(link["port"], link["direction"], json.dumps(link["impairment"]))


class ServerProcess:
    """The shim of one or more storage servers, and their store."""

    def __init__(self, config: dict[str, Any]) -> None:
        from netkv import _engine

        self._backend = config.pop("backend")
        self._data = config.pop("data")
        self._stores = config.pop("stores")
        self._store_timeout = config.pop("store_timeout")
        self._slow = config.pop("slow")
        self._node = _engine.ServerNode(json.dumps(config))

    def start(self) -> dict[str, Any]:
        if self._backend == "rocksdb":
            from netkv.servers.rocksdb import RocksDB

            self._node.start(RocksDB(self._data))
        elif self._backend == "redis":
            from netkv.servers.redis import Redis
            from netkv.servers.redis_places import place

            timeout = self._store_timeout
            self._node.start([Redis(place(each), timeout=timeout) for each in self._stores])
        else:
            self._node.start()
        if self._slow > 1:
            self._node.slow(self._slow)
        return {}

    def handle(self, command: dict[str, Any]) -> Any:
        if command["do"] == "statistics":
            return self._node.statistics()
        if command["do"] == "slow":
            return self._node.slow(command["factor"])
        raise ValueError(f"a server does not know the command '{command['do']}'")

    def failure(self) -> str | None:
        failed = self._node.statistics().get("failed")
        return None if failed is None else str(failed)


class ClientProcess:
    """The load generator."""

    def __init__(self, config: dict[str, Any]) -> None:
        from netkv import _engine

        self._node = _engine.ClientNode(json.dumps(config))

    def start(self) -> dict[str, Any]:
        self._node.start()
        return {}

    def handle(self, command: dict[str, Any]) -> Any:
        if command["do"] == "sample":
            return self._node.sample()
        if command["do"] == "client":
            return json.loads(self._node.command(json.dumps(command["command"])))
        raise ValueError(f"a client does not know the command '{command['do']}'")

    def failure(self) -> str | None:
        return self._node.failure()


class CoordinatorProcess:
    """The coordinator of multigets."""

    def __init__(self, config: dict[str, Any]) -> None:
        from netkv import _engine

        self._node = _engine.CoordinatorNode(json.dumps(config))

    def start(self) -> dict[str, Any]:
        self._node.start()
        return {}

    def handle(self, command: dict[str, Any]) -> Any:
        if command["do"] == "statistics":
            return self._node.statistics()
        raise ValueError(f"a coordinator does not know the command '{command['do']}'")

    def failure(self) -> str | None:
        return self._node.failure()


def _bmv2(config: dict[str, Any]) -> Node:
    from netkv.live.external_switch import Bmv2Switch

    return Bmv2Switch(config)


def _external_switch(config: dict[str, Any]) -> Node:
    from netkv.live.external_switch import ExternalSwitch

    return ExternalSwitch(config)


def _card(config: dict[str, Any]) -> Node:
    from netkv.live.card_process import CardProcess

    return CardProcess(config)


KINDS: dict[str, Callable[[dict[str, Any]], Node]] = {
    "switch": SwitchProcess,
    "bmv2": _bmv2,
    "external-switch": _external_switch,
    "server": ServerProcess,
    "coordinator": CoordinatorProcess,
    "client": ClientProcess,
    "card": _card,
}


class Channel:
    """The process's output of the protocol; usable from any thread."""

    def __init__(self, output: IO[str]) -> None:
        self._output = output
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message as one line; ends the process if its parent has ended."""
        with self._lock:
            try:
                self._output.write(json.dumps(message) + "\n")
                self._output.flush()
            except (BrokenPipeError, ValueError):
                os._exit(0)

    def give_up(self, event: str, text: str) -> None:
        """Sends an event with the reason and ends the process."""
        self.send({"event": event, "text": text})
        sys.stderr.flush()
        os._exit(1)


def main() -> None:
    """Runs a node until its stdin ends."""
    kind = sys.argv[1] if len(sys.argv) == 2 else ""
    if kind not in KINDS:
        print(f"usage: python -m netkv.live.node {'|'.join(KINDS)}", file=sys.stderr)
        sys.exit(2)
    _die_with_parent()
    channel = _reserve_stdout()
    # Log messages of roles in Python go to the log of the node.
    logging.basicConfig()
    roles.log.setLevel(logging.INFO)
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    config = json.loads(line)

    # A thread of its own reads commands, so that the end of stdin ends the process even during the
    # start or a command.
    lines: list[str] = []
    arrived = threading.Condition()
    threading.Thread(target=_read, args=(lines, arrived), daemon=True, name="stdin").start()
    try:
        node = KINDS[kind](config)
        ready = node.start()
    except OSError as error:
        event = "busy" if error.errno == errno.EADDRINUSE or "in use" in str(error) else "failed"
        channel.give_up(event, str(error))
    except Exception as error:
        traceback.print_exc()
        channel.give_up("failed", f"{error}")
    channel.send({"event": "ready", "pid": os.getpid(), **ready})
    threading.Thread(target=_watch, args=(node, channel), daemon=True, name="watch").start()
    while True:
        with arrived:
            arrived.wait_for(lambda: bool(lines))
            line = lines.pop(0)
        _answer(node, channel, line)


def _answer(node: Node, channel: Channel, line: str) -> None:
    command = json.loads(line)
    number = command.pop("id")
    try:
        channel.send({"id": number, "result": node.handle(command)})
    except Exception as error:
        if not isinstance(error, ValueError):
            traceback.print_exc()
        channel.send({"id": number, "error": f"{error}"})


def _read(lines: list[str], arrived: threading.Condition) -> None:
    for line in sys.stdin:
        with arrived:
            lines.append(line)
            arrived.notify()
    os._exit(0)


def _watch(node: Node, channel: Channel) -> None:
    while True:
        time.sleep(_WATCH_INTERVAL)
        if (text := node.failure()) is not None:
            channel.give_up("failed", text)


def _reserve_stdout() -> Channel:
    """Reserves stdout for the protocol; all other output goes to the log."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return Channel(output)


def _die_with_parent() -> None:
    """Lets the kernel kill this process when its parent ends, in addition to the end of stdin."""
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    main()
