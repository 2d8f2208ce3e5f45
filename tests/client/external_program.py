"""An external client: writes its key, waits for the key of another client, and reports it.

It stays connected until its stdin ends.

python -m tests.client.external_program OWN OTHER
"""

from __future__ import annotations

import asyncio
import sys

from netkv.client import AsyncClient
from tests.waiting import PATIENCE_S, until_async


async def main(own: str, other: str) -> None:
    async with await AsyncClient.connect(timeout=PATIENCE_S) as rack:
        await rack.put(own, f"by {own}")

        async def written() -> bool:
            return await rack.get(other) == f"by {other}".encode()

        await until_async(written, f"{own} reads what {other} writes")
        print(f"{own} has read {other}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
