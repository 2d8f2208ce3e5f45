"""The FPGA cards of a rack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netkv.model.manifest import Manifest
    from netkv.model.spec import GenericRack

LIVE_CLOCK_MHZ = 2.0
"""Clock of a design in a live rack, at most: it is held back while idle cycles would be faster."""


@dataclass(frozen=True)
class CardDesign:
    """The FPGA cards of a rack: a design of `fpga/designs`.

    Its first port is cabled to the switch. Before a server, its host port is cabled to the server.
    Before clients, which `ClientCardOptions` divides among cards, each of its virtio functions is
    cabled to a client.
    """

    design: str
    """Name of the design."""
    changes: tuple[str, ...] = ()
    """Changes of its parameters, `NAME=VALUE` (`netkv.model.manifest.override`)."""
    settings: Mapping[str, int] = field(default_factory=dict)
    """Registers and the values that they get after a reset, in this order."""
    of_card: Callable[[int], Mapping[str, int]] | None = None
    """Registers of a card (from 0) that are written before `settings`; None: none."""
    live_settings: Mapping[str, int] = field(default_factory=dict)
    """Live, other values of some of the `settings`: a design in a live rack runs at most
    `LIVE_CLOCK_MHZ`, and its clock rests while no frame is on its way through it."""
    hits: str = "hits"
    """Its counter of reads that it answered; or several, one for each function: `hits.0`, …"""
    preload: Callable[[GenericRack, int], Iterable[tuple[str, bytes]]] | None = None
    """Frames that the card before a server (from 0) receives before time 0, each with the name of a
    port; None: none."""
    manifest: Manifest | None = None
    """The simulator only: replaces the manifest of `design`."""
