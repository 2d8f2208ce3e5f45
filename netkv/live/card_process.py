"""The process of a card (`netkv.live.node`): a design that runs live between two links."""

from __future__ import annotations

from typing import Any

from netkv.fpga import build, live, replay
from netkv.model import manifest


class CardProcess:
    """A design whose first port is towards the switch, and whose last one towards a host."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._manifest = manifest.override(manifest.find(config["design"]), config["changes"])
        design = replay.prepared(
            build.build(self._manifest),
            seed=config["seed"],
            line_rate=False,
            settings=[replay.setting(self._manifest, text) for text in config["settings"]],
        )
        for port, frame in config["preload"]:
            design.preload(self._manifest.port(port), bytes.fromhex(frame))
        host = len(self._manifest.ports) - 1
        ports = [(0, *config["network"]), (host, *config["host"])]
        self._node = design.run_live(ports, config["idle_cycles"], config["max_mhz"])
        self._published = str(config["published"])

    def start(self) -> dict[str, Any]:
        live.publish(self._manifest, self._node, self._published)
        self._node.start()
        return {"published": self._published}

    def handle(self, command: dict[str, Any]) -> Any:
        match command["do"]:
            case "statistics":
                return self._node.statistics()
            case "registers":
                return replay.read_registers(self._manifest, self._node.read_register)
            case "counters":
                return replay.read_registers(self._manifest, self._node.read_register, "counter")
            case "write":
                self._node.write_register(*replay.setting(self._manifest, command["setting"]))
                return None
            case other:
                raise ValueError(f"a card does not know the command '{other}'")

    def failure(self) -> str | None:
        return self._node.failure()
