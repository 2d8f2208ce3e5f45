"""Emu: memcached in one state machine of an FPGA, with all data on the chip.

The baseline of LaKe. Nothing is forwarded to the server behind the card, so the card gets the
initial value of every key before the load starts. Its table is direct mapped: of two keys in one
line it keeps the one that was written last, and answers "not found" for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.kits.memcached import ROLE
from netkv.model.card_design import CardDesign
from netkv.model.nodes import Card, Client, Servers
from netkv.model.scheme_options import CardOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab
    from netkv.model.spec import GenericRack

KEY_BYTES, LINE_BYTES = 16, 64
"""A key and its value share a line."""
MAX_KEYS = 16_384
"""Entries of the table."""


def _initial_values(spec: GenericRack, server: int) -> Iterator[tuple[str, bytes]]:
    """SETs of all keys of a server; raises `MisfitError` if they do not fit."""
    from netkv import _engine

    load = spec.workload
    size, room = load.value_size, LINE_BYTES - KEY_BYTES
    if not isinstance(size, int) or size > room:
        raise MisfitError(
            f"The scheme 'emu' keeps values of at most {room} bytes: 'workload.value_size' is "
            f"{size}.",
            *("workload", "value_size"),
        )
    if load.keys > MAX_KEYS:
        raise MisfitError(
            f"The scheme 'emu' keeps all keys on the chip, at most {MAX_KEYS:,}: 'workload.keys' "
            f"is {load.keys:,}.",
            *("workload", "keys"),
        )
    for number in range(load.keys):
        key = _engine.key_of_record(number, load.placement)
        if _engine.owner_index(key, spec.lab.servers) == server:
            yield "nf0", _engine.initial_set(key, size, server)


def _addresses(server: int) -> Mapping[str, int]:
    """The addresses of the card in place of a server: it takes no frame for another one."""
    from netkv.model.topology import mac_of, server_ip

    mac = mac_of(server_ip(server)).to_bytes(6, "big")
    return {
        "mac_low": int.from_bytes(mac[:4], "little"),
        "mac_high": int.from_bytes(mac[4:], "little"),
        "address": int.from_bytes(server_ip(server).to_bytes(4, "big"), "little"),
    }


def _card(lab: GenericLab) -> CardDesign:
    options = CardOptions.of(lab)
    return CardDesign(
        design="emu",
        changes=(options.clock_change, f"ENTRIES={MAX_KEYS}"),
        of_card=_addresses,
        settings={"options": 1},
        preload=_initial_values,
    )


SCHEME = Scheme(
    name="emu",
    about=About(
        title="Emu",
        order=80,
        paper="Sultana et al., Emu, ATC 2017; baseline of LaKe (ReConFig 2018)",
        summary="Memcached in one state machine of an FPGA card, with all data on the chip.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, ROLE), Host(Servers, ROLE), Host(Card, card=_card)),
    traits=Traits(caches=True),
    options=CardOptions,
    limits=Limits(pipelines=4),
)
