"""Network cards with virtio functions in clients, without a cache.

The baseline of the cache in the client's network card: the same card without its cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.kits.memcached import ROLE
from netkv.model.card_design import CardDesign
from netkv.model.nodes import Client, ClientCard, Servers
from netkv.model.scheme_options import ClientCardOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


def _card(lab: GenericLab) -> CardDesign:
    from netkv.kits.client_cards import plain

    return plain(lab)


SCHEME = Scheme(
    name="client-nic",
    about=About(
        title="Plain NIC",
        order=95,
        paper="Baseline of the client-side cache",
        summary="memcached's clients behind FPGA cards with virtio functions and no cache.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, ROLE), Host(Servers, ROLE), Host(ClientCard, card=_card)),
    traits=Traits(caches=False, conditional_writes=True),
    options=ClientCardOptions,
    limits=Limits(pipelines=4),
)
