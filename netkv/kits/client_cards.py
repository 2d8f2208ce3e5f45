"""FPGA cards in clients: the design `virtio-nic`, and the registers of all designs of this kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.model.card_design import CardDesign
from netkv.model.scheme_options import ClientCardOptions
from netkv.model.topology import client_ip, mac_of

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


def plain(lab: GenericLab) -> CardDesign:
    """The card without a cache."""
    options = ClientCardOptions.of(lab)
    return CardDesign(
        design="virtio-nic",
        changes=(options.clock_change, f"functions={options.card_functions}"),
        of_card=lambda card: addresses(lab, card),
    )


def addresses(lab: GenericLab, card: int) -> Mapping[str, int]:
    """The MAC addresses of the functions of a card."""
    options = ClientCardOptions.of(lab)
    registers: dict[str, int] = {}
    if options.card_functions == 1:
        # It gets every frame, so that live all clients can be behind it.
        return registers
    for function, client in enumerate(options.shares(lab.clients)[card]):
        mac = mac_of(client_ip(client)).to_bytes(6, "big")
        registers[f"mac_low.{function}"] = int.from_bytes(mac[:4], "little")
        registers[f"mac_high.{function}"] = int.from_bytes(mac[4:], "little")
    return registers
