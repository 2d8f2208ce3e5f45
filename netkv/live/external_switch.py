"""The nodes of switches that are not netkv's own: a bmv2 that runs here, or one elsewhere.

Both have a bridge between the cables of the rack and the switch's ports; the node of bmv2 also
starts and monitors the switch. The controller uses only P4Runtime.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from netkv.live.bmv2 import queues
from netkv.live.bmv2.process import SwitchProcess, listens
from netkv.live.bridge import Bridge
from netkv.live.bridge_ends import far_ends
from netkv.live.ports import free_ports
from netkv.model.hardware import STREAM


class ExternalSwitch:
    """A switch that runs elsewhere: the bridge to its ports (`netkv.live.node.Node`)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._bridge: Bridge | None = None

    def start(self) -> dict[str, Any]:
        if (thrift := self._config["thrift"]) is not None:
            with _as_value_error("the depth of its queues could not be set"):
                _set_depth(*thrift)
        self._connect(dict(self._config["via"]))
        return {"p4runtime": self._config["p4runtime"]}

    def handle(self, command: dict[str, Any]) -> Any:
        assert self._bridge is not None
        if command["do"] == "statistics":
            return {**self._bridge.statistics(), "ports": self._bridge.port_statistics()}
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
        self._process: SwitchProcess | None = None

    def start(self) -> dict[str, Any]:
        config = self._config
        dataplane, thrift = free_ports(2)
        address = f"127.0.0.1:{dataplane}"
        self._process = SwitchProcess(
            config["program"],
            device_id=config["device_id"],
            cpu_port=config["cpu_port"],
            p4runtime=config["p4runtime"],
            dataplane=address,
            thrift=f"127.0.0.1:{thrift}" if config["thrift"] else None,
        )
        if listens(config["p4runtime"]):
            raise OSError(f"{config['p4runtime']} is in use")
        print(f"starting {' '.join(self._process.command)}", file=sys.stderr)
        self._process.start(sys.stderr)
        if config["thrift"]:
            with _as_value_error("the depth of its queues could not be set"):
                queues.set_depth(("127.0.0.1", thrift))
        self._connect({port: f"{STREAM}{address}" for port, _, _ in config["ports"]})
        return {"p4runtime": config["p4runtime"]}

    def _died(self) -> str | None:
        return None if self._process is None else self._process.ended()


def _set_depth(host: str, port: int) -> None:
    """Sets the depth of the queues of a bmv2 elsewhere, unless it was built without Thrift."""
    try:
        queues.set_depth((host, port))
    except ConnectionRefusedError:
        print(f"no Thrift server at {host}:{port}: queues keep their depth", file=sys.stderr)


@contextlib.contextmanager
def _as_value_error(what: str) -> Iterator[None]:
    """Raises ValueError for OSError, which `netkv.live.node` may take for a busy address."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{what}: {error}") from error
