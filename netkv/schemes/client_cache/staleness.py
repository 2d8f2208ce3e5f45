"""For how long reads may return a value that was replaced.

A card sees every write of the clients behind it. If all clients are behind one card and share its
entries, its reads are as fresh as those of the server. A write of another client does not pass the
card: then only `client_max_age` limits for how long the card answers with the value before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netkv.schemes.client_cache.options import ClientCacheOptions

if TYPE_CHECKING:
    from netkv.model.hardware import GenericLab


def has_other_writers(lab: GenericLab) -> bool:
    """Whether a client may write keys behind the back of a card, or of a group of its clients."""
    options = ClientCacheOptions.of(lab)
    shares = options.shares(lab.clients)
    return len(shares[0]) < lab.clients or options.groups > 1


def max_staleness(lab: GenericLab) -> float | None:
    """Seconds for which reads may return a replaced value; None: never.

    The reply that was stored had left the server up to a `packet_lifetime` before.
    """
    options = ClientCacheOptions.of(lab)
    if not has_other_writers(lab):
        return None
    if not options.client_max_age:
        return math.inf
    rounding = 4 * options.unit_cycles / (options.clock_mhz * 1e6)
    return options.client_max_age + options.packet_lifetime + rounding
