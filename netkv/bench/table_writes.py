"""Time to fill a lookup table through P4Runtime, as a controller has it: gRPC, server, engine."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from netkv import _engine


@dataclass(frozen=True)
class Lookup:
    """The table that holds the cached keys of a program, and an action with its parameters."""

    table: str
    key: str
    action: str
    numbered: tuple[str, ...]
    """Parameters that take the number of the entry."""
    others: dict[str, int]


TABLES = {
    "cache_read": Lookup("I.lookup", "h.kv.key", "I.hit", ("idx",), {"bitmap": 255}),
    "netcache": Lookup(
        "NetkvIngress.lookup.cache",
        "key",
        "NetkvIngress.lookup.cached",
        ("entry", "index"),
        {"bitmap": 255, "generation": 1},
    ),
}
"""Of the programs that have such a table."""


class TableWrites(BaseModel):
    """Entries of one table, inserted through P4Runtime."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: str
    table: str
    entries: int
    seconds: float
    """From the first entry that is put together to the last answer of the switch."""


async def measure(program: str, bundle: bytes, entries: int) -> TableWrites:
    """Load the program, write `entries` entries with netkv's own client, and read them back.

    Client and server share one thread of this process, so they do not work side by side as those
    of a lab do. Raises ValueError with a sentence for a program that has not this table.
    """
    from netkv.p4rt.client import P4RuntimeClient
    from netkv.p4rt.entities import Call, insert
    from netkv.p4rt.errors import RpcError
    from netkv.p4rt.server import P4RuntimeServer

    lookup = TABLES[program]
    server = P4RuntimeServer(_engine.Switch(bundle))
    await server.start()
    try:
        async with P4RuntimeClient(server.address) as client:
            await client.set_pipeline(bundle)
            names, loop = client.names, asyncio.get_running_loop()
            start = loop.time()
            updates = []
            for number in range(entries):
                params = {**dict.fromkeys(lookup.numbered, number), **lookup.others}
                call = Call(lookup.action, params)
                updates.append(insert(names.table_entry(lookup.table, {lookup.key: number}, call)))
            await client.write(updates)
            seconds = loop.time() - start
            found = [entry async for entry in client.read(names.table_entries(lookup.table))]
    except RpcError as error:
        raise ValueError(f"The lookup table of '{program}' cannot be filled: {error}") from error
    finally:
        await server.stop()
    if len(found) != entries:
        raise AssertionError(f"{entries} entries were written, but {len(found)} are there.")
    return TableWrites(program=program, table=lookup.table, entries=entries, seconds=seconds)
