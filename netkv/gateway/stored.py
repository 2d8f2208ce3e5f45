"""Commands that the rack does."""

from __future__ import annotations

import asyncio

from netkv.client import ClientError
from netkv.gateway.backend import Rack, failure_of
from netkv.gateway.command import Request
from netkv.gateway.replies import OK, Failure, Reply

MAX_KEYS = 4096
"""Of one command: what it may ask for is held in memory until it is answered."""

_NOT_OF_RACKS = {
    **dict.fromkeys(("EX", "PX", "EXAT", "PXAT", "KEEPTTL"), "values do not expire"),
    **dict.fromkeys(("NX", "XX"), "a write cannot depend on what is stored"),
    "GET": "a write does not return what was stored before",
}


async def get(rack: Rack, request: Request) -> Reply:
    """GET key."""
    return await rack.get(request[1])


async def put(rack: Rack, request: Request) -> Reply:
    """SET key value."""
    await rack.put(request[1], request[2])
    return OK


async def multiget(rack: Rack, request: Request) -> Reply:
    """MGET key …: one request for the rack; all values or an error."""
    return list(await rack.multiget(request[1:]))


async def exists(rack: Rack, request: Request) -> Reply:
    """EXISTS key …: a key that is named twice counts twice."""
    keys = request[1:]
    if len(keys) == 1:
        return int(await rack.get(keys[0]) is not None)
    return sum(value is not None for value in await rack.multiget(keys))


async def delete(rack: Rack, request: Request) -> Reply:
    """DEL and UNLINK key …: how many there were; an error if one could not be deleted."""
    keys = list(dict.fromkeys(request[1:]))
    results: list[bool | BaseException] = await asyncio.gather(
        *(rack.delete(key) for key in keys), return_exceptions=True
    )
    for result in results:
        if isinstance(result, ClientError):
            done = sum(not isinstance(each, BaseException) for each in results)
            if len(keys) == 1:
                raise result
            return Failure(f"{failure_of(result).text} ({done} of {len(keys)} keys are deleted.)")
        if isinstance(result, BaseException):
            raise result
    return sum(result is True for result in results)


def check_set(request: Request) -> Failure | None:
    """SET's options: none of them can be had."""
    for word in request[3:]:
        option = word.decode(errors="replace").upper()
        if option in _NOT_OF_RACKS:
            return Failure(
                f"ERR SET with {option} cannot be had from a rack: {_NOT_OF_RACKS[option]}"
            )
        return Failure("ERR syntax error")
    return None


def check_count(request: Request) -> Failure | None:
    """Not more keys than are answered at once."""
    if len(request) - 1 > MAX_KEYS:
        return Failure(
            f"ERR one command of the gateway may have {MAX_KEYS} keys, not {len(request) - 1}: "
            f"send several"
        )
    return None
