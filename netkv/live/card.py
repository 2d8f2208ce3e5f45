"""A card: a design for FPGAs (docs/use/fpga.md) between the link of a server or client and the
switch.

The network port of the design is towards the switch, its last port towards the host. The node is
a process (`netkv.live.card_process`). Its end is a card without power: no frame passes, and after a
new start the design has forgotten everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netkv.live.cable import Cable
from netkv.live.rack_nodes import LiveLinkedNode, RackOfNodes
from netkv.model import nodes
from netkv.model.nodes import Storage

if TYPE_CHECKING:
    from netkv.fpga.build import Library, Progress

_LAB_CHARACTERS = 30
"""Of a lab's name, in the name of a running design."""


@dataclass(frozen=True)
class CardSpec:
    """What the process of a card runs."""

    design: str
    """Name of a design, or path of a manifest."""
    changes: tuple[str, ...] = ()
    """Changed parameters, each `NAME=VALUE`."""
    settings: tuple[str, ...] = ()
    """Registers that are written after a reset, each `NAME=VALUE`."""
    seed: int = 1
    """Seed of memory models."""
    idle_cycles: int = 4096
    """Cycles that the clock runs after the last frame."""
    max_mhz: float | None = None
    """Its clock at most, so that times in cycles are not shorter than meant; None: no limit."""
    preload: tuple[tuple[str, bytes], ...] = ()
    """Frames that the design receives at its first start, each with the name of a port; what it
    sends meanwhile is dropped."""

    def build(self, progress: Progress | None = None) -> Library:
        """Builds the design, unless it is in the cache; before a node starts, for it may take
        minutes. Raises `NetkvError`: a tool is missing, or the card is wrong."""
        from netkv.fpga import build, replay
        from netkv.model import manifest

        found = manifest.override(manifest.find(self.design), self.changes)
        for text in self.settings:
            replay.setting(found, text)
        return build.build(found, progress=progress)


@dataclass(frozen=True)
class Ends:
    """The links of a card, each as `_engine.SwitchNode` takes it (`Cable.switch_end`)."""

    network: Sequence[str]
    """Towards the switch."""
    host: Sequence[str]
    """Towards the server or client."""


class LiveCard(LiveLinkedNode, nodes.Card):
    """The process of a card."""

    KIND = "card"
    COUNTERS = "counters"

    def __init__(
        self, index: int, card: CardSpec, ends: Callable[[], Ends], rack: RackOfNodes
    ) -> None:
        """`index` is that of the process behind the card; `ends` is called at each start,
        after the addresses of the rack have been chosen."""
        super().__init__(f"{self.NAME}{index}", rack)
        self.launches = 0
        """Processes so far."""
        self._index = index
        self._card = card
        self._preload = card.preload
        self._ends = ends

    async def start(self, storage: Storage | None = None) -> None:
        self._preload = ()
        await super().start(storage)

    async def registers(self) -> dict[str, int]:
        """All registers that can be read; raises `NodeError`."""
        found: dict[str, int] = await self.request("registers")
        return found

    async def counters(self, within: float) -> dict[str, int]:
        """Its counters and its number of `restarts`; empty if it does not answer in time."""
        found = await self.poll(within)
        return {**found.counts, "restarts": self.launches - 1} if found and found.counts else {}

    async def write(self, setting: str) -> None:
        """Writes a register, given as `NAME=VALUE`, until the next start; raises `NodeError`."""
        await self.request("write", {"setting": setting})

    @property
    def _published(self) -> str:
        """The name under which `netkv fpga registers --live` and the dashboard find it."""
        lab = re.sub("[^a-z0-9]+", "-", self._rack.directory.name.lower()).strip("-")
        return f"{lab[:_LAB_CHARACTERS]}-{self.name}"

    @property
    def _cable(self) -> Cable:
        return self._rack.cabling.servers[self._index]

    def _configuration(self) -> dict[str, Any]:
        self.launches += 1
        ends = self._ends()
        return {
            "design": self._card.design,
            "changes": list(self._card.changes),
            "settings": list(self._card.settings),
            "seed": self._card.seed,
            "idle_cycles": self._card.idle_cycles,
            "max_mhz": self._card.max_mhz,
            "preload": [[port, frame.hex()] for port, frame in self._preload],
            "network": list(ends.network),
            "host": list(ends.host),
            "published": self._published,
        }


class LiveClientCard(LiveCard, nodes.ClientCard):
    """The process of the card before the clients of the load."""

    NAME = nodes.ClientCard.NAME

    @property
    def _cable(self) -> Cable:
        return self._rack.cabling.client
