"""Time to fill a lookup table through P4Runtime, with gRPC, server and engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from netkv import _engine, schemes
from netkv.control.base import InsertEntry
from netkv.model.topology import KEY_BYTES
from netkv.schemes import parts

YARDSTICK = "cache_read"
"""The program with which bmv2 was measured; it is built into the engine."""


MakeEntry = Callable[[int, bytes], InsertEntry]
"""Makes the lookup entry of a cached key from a number and the key (`Probes.entry`)."""


def entries_of(program: str) -> MakeEntry | None:
    """Makes the lookup entries of a program; None if its lookup table is not known."""
    if program == YARDSTICK:
        return _yardstick_entry
    for scheme in schemes.all_schemes():
        if scheme.program_path.stem == program and (probes := parts.probes(scheme)) is not None:
            return probes.entry
    return None


def _yardstick_entry(number: int, key: bytes) -> InsertEntry:
    params = {"idx": number, "bitmap": 255}
    return InsertEntry(number, "I.lookup", {"h.kv.key": int.from_bytes(key)}, "I.hit", params)


class TableWrites(BaseModel):
    """Entries of one table, inserted through P4Runtime."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: str
    table: str
    entries: int
    seconds: float
    """From building the first update to the last response of the switch."""


async def measure(program: str, bundle: bytes, make: MakeEntry, entries: int) -> TableWrites:
    """Load the program, write `entries` entries with netkv's own client, and read them back.

    Client and server share one thread of this process, so they do not run in parallel as those of
    a lab do. Raises ValueError with a sentence for a program without this table.
    """
    from netkv.p4rt.client import P4RuntimeClient
    from netkv.p4rt.errors import RpcError
    from netkv.p4rt.server import P4RuntimeServer

    made = [make(number, number.to_bytes(KEY_BYTES)) for number in range(entries)]
    table = made[0].table
    server = P4RuntimeServer(_engine.Switch(bundle))
    await server.start()
    try:
        async with P4RuntimeClient(server.address) as client:
            await client.set_pipeline(bundle)
            names, loop = client.names, asyncio.get_running_loop()
            start = loop.time()
            encode = client.encoder.encode
            await client.write([encode(entry) for entry in made])
            seconds = loop.time() - start
            found = [entry async for entry in client.read(names.table_entries(table))]
    except RpcError as error:
        raise ValueError(f"The lookup table of '{program}' cannot be filled: {error}") from error
    finally:
        await server.stop()
    if len(found) != entries:
        raise AssertionError(f"{entries} entries were written, but {len(found)} are there.")
    return TableWrites(program=program, table=table, entries=entries, seconds=seconds)
