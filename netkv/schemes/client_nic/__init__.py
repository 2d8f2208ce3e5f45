"""Network cards with virtio functions in clients, without a cache.

The baseline of the cache in the client's network card: the same card without its cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.kits.memcached import ROLE
from netkv.model.card_design import CardDesign
from netkv.model.scheme_options import ClientCardOptions
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


def _card(lab: GenericLab) -> CardDesign:
    from netkv.kits.client_cards import plain

    return plain(lab)


SCHEME = Scheme(
    name="client-nic",
    title="Plain NIC",
    order=95,
    program="nocache/nocache.p4",
    server_role=ROLE,
    client_role=ROLE,
    caches=False,
    paper="Baseline of the client-side cache",
    summary="memcached's clients behind FPGA cards with virtio functions and no cache.",
    max_pipelines=4,
    conditional_writes=True,
    options=ClientCardOptions,
    card=_card,
    card_before="clients",
)
