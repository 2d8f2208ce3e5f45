"""CPU time of a multiget on its client, as a table."""

from __future__ import annotations

from rich import box
from rich.table import Table

from netkv import schemes
from netkv.bench.multigets import Multigets


def table(found: Multigets) -> Table:
    """A row for each number of servers: groups of a request, microseconds of each scheme, ratios
    to the first scheme."""
    table = Table(box=box.SIMPLE_HEAD)
    first, *others = (schemes.get(name) for name in found.schemes)
    titles = [f"{each.about.title} us" for each in (first, *others)]
    ratios = [f"{each.about.title} / {first.about.title}" for each in others]
    for title in ("servers", "groups", *titles, *ratios):
        table.add_column(title, justify="right")
    for row in found.rows:
        table.add_row(
            str(row.servers),
            f"{row.groups:.1f}",
            *(f"{row.client_us[name]:.1f}" for name in found.schemes),
            *(f"{row.over_first[each.name]:.2f}" for each in others),
        )
    return table
