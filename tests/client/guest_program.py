"""A program that is a guest: writes a key of its own, reads one of another, says so; lives on.

python guest_program.py OWN OTHER
"""

from __future__ import annotations

import asyncio
import sys

from netkv.client import AsyncClient


async def main(own: str, other: str) -> None:
    async with await AsyncClient.connect(timeout=10) as rack:
        await rack.put(own, f"by {own}")
        for _ in range(500):
            if await rack.get(other) == f"by {other}".encode():
                break
            await asyncio.sleep(0.02)
        else:
            sys.exit(f"{own} does not find {other}")
        print(f"{own} has read {other}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
