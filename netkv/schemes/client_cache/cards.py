"""The cards in clients: the designs `client-cache` and `virtio-nic`, and their registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.control.topology import client_ip, mac_of
from netkv.schemes.client_cache.options import ClientCacheOptions
from netkv.schemes.options import ClientCardOptions
from netkv.schemes.scheme import LIVE_CLOCK_MHZ, CardDesign

if TYPE_CHECKING:
    from netkv.lab.spec import LabSpec

_FRAME_HEADER, _SAFE_WRITES, _FILL, _REPLIES_COPIED = 1, 2, 4, 8
"""Bits of the register `options`."""
_SET_MODES = {"invalidate": 0, "update": 16, "store": 32}


def cache(lab: LabSpec) -> CardDesign:
    """The card with the cache."""
    options = ClientCacheOptions.of(lab)
    safe = options.set_visible == "acknowledged"
    return CardDesign(
        design="client-cache",
        changes=(
            options.clock_change,
            f"functions={options.card_functions}",
            f"CONTROLLERS={options.controllers}",
        ),
        of_card=lambda card: _addresses(lab, card),
        settings={
            # First: what is written next makes everything stored invalid for a packet lifetime.
            "lifetime": options.units(options.packet_lifetime),
            "max_age": options.units(options.client_max_age),
            "second": options.units(1.0),
            "options": _FRAME_HEADER
            | (_SAFE_WRITES if safe else 0)
            | (_FILL if options.fill else 0)
            | (_REPLIES_COPIED if options.replies_copied else 0)
            | _SET_MODES[options.set_mode],
            **_groups(options),
            "mode": 1,
        },
        live_settings={
            "lifetime": options.units(options.packet_lifetime, LIVE_CLOCK_MHZ),
            "max_age": options.units(options.client_max_age, LIVE_CLOCK_MHZ),
            "second": options.units(1.0, LIVE_CLOCK_MHZ),
            # Its clock may be later than that of the server by any part of a delay.
            "accuracy": 0,
        },
    )


def plain(lab: LabSpec) -> CardDesign:
    """The card without a cache."""
    options = ClientCardOptions.of(lab)
    return CardDesign(
        design="virtio-nic",
        changes=(options.clock_change, f"functions={options.card_functions}"),
        of_card=lambda card: _addresses(lab, card),
    )


def _addresses(lab: LabSpec, card: int) -> Mapping[str, int]:
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


def _groups(options: ClientCacheOptions) -> Mapping[str, int]:
    """The group of each function, and the controller and the entries of each group."""
    registers = {
        f"group.{function}": min(function, options.groups - 1)
        for function in range(options.card_functions)
    }
    for group in range(options.groups):
        slice_, controller = divmod(group, options.controllers)
        registers[f"controller.{group}"] = controller
        registers[f"slice_base.{group}"] = slice_ * options.room
        registers[f"slice_mask.{group}"] = options.entries - 1
    return registers
