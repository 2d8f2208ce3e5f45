"""Stores profiles of users on a rack that is up, by the client library.

python profiles.py [LAB]
"""

import asyncio
import json
import sys

from netkv.client import AsyncClient

USERS = 100
PAGE = 10


def key(user: int) -> str:
    return f"profile:{user}"


def profile(user: int) -> bytes:
    return json.dumps({"name": f"user {user}", "visits": user * user}).encode()


async def page(rack: AsyncClient, first: int) -> list[bytes | None]:
    """The profiles of a page: one multiget, which a rack of NetMC splits in the switch."""
    return await rack.multiget([key(user) for user in range(first, first + PAGE)])


async def main(lab: str | None = None) -> None:
    async with await AsyncClient.connect(lab, timeout=10) as rack:
        # Any number of operations may be under way.
        await asyncio.gather(*(rack.put(key(user), profile(user)) for user in range(USERS)))
        print(f"{USERS} profiles are written")

        starts = range(0, USERS, PAGE)
        pages = await asyncio.gather(*(page(rack, first) for first in starts))
        read = [value for each in pages for value in each]
        assert read == [profile(user) for user in range(USERS)]
        first = (read[0] or b"").decode()
        print(f"{len(read)} profiles are read in {len(pages)} pages; the first is {first}")

        await asyncio.gather(*(rack.delete(key(user)) for user in range(PAGE)))
        left = [value for first in starts for value in await page(rack, first) if value]
        print(f"{PAGE} profiles are deleted; {len(left)} are left")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
