"""Tables as a terminal shows them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def text_of(*tables: Table, width: int = 160) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get()
