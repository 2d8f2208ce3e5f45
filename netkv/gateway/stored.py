"""Commands on stored records, which the rack executes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from netkv.client import ClientError, NotConnected, Rejected
from netkv.gateway.backend import MAX_COUNTED, Rack, failure_of, shown
from netkv.gateway.command import Request
from netkv.gateway.replies import OK, Failure, Reply, Simple

_T = TypeVar("_T")

MAX_KEYS = 4096
"""Limit of the keys of one command: its values are in memory until the reply is written."""

_MAX_NAMED = 100
"""Limit of the keys that an error names for each outcome."""

_NOT_OF_RACKS = {
    **dict.fromkeys(("EX", "PX", "EXAT", "PXAT", "KEEPTTL"), "values do not expire"),
    **dict.fromkeys(("NX", "XX"), "a write cannot depend on the stored value"),
    "GET": "a write does not return the previous value",
}


async def get(rack: Rack, request: Request) -> Reply:
    """GET key."""
    return await rack.get(request[1])


async def put(rack: Rack, request: Request) -> Reply:
    """SET key value."""
    await rack.put(request[1], request[2])
    return OK


async def multiget(rack: Rack, request: Request) -> Reply:
    """MGET key …: one multiget of the rack; all values or an error."""
    return list(await rack.multiget(request[1:]))


async def exists(rack: Rack, request: Request) -> Reply:
    """EXISTS key …: a repeated key counts each time."""
    keys = request[1:]
    if len(keys) == 1:
        return int(await rack.get(keys[0]) is not None)
    return sum(value is not None for value in await rack.multiget(keys))


async def length(rack: Rack, request: Request) -> Reply:
    """STRLEN key."""
    return len(await rack.get(request[1]) or b"")


async def kind(rack: Rack, request: Request) -> Reply:
    """TYPE key: every value is a string."""
    return Simple("none" if await rack.get(request[1]) is None else "string")


async def expiry(rack: Rack, request: Request) -> Reply:
    """TTL and PTTL key: -1: it never expires; -2: it does not exist."""
    return -2 if await rack.get(request[1]) is None else -1


async def count(rack: Rack, request: Request) -> Reply:  # noqa: ARG001
    """DBSIZE: keys that were stored through this gateway. A rack cannot list its keys."""
    found = rack.known_keys
    if found is None:
        return Failure(
            f"ERR DBSIZE counts up to {MAX_COUNTED:,} keys that were stored through this gateway; "
            f"there were more"
        )
    return found


async def delete(rack: Rack, request: Request) -> Reply:
    """DEL and UNLINK key …: number of deleted keys; an error if one could not be deleted."""
    keys = list(dict.fromkeys(request[1:]))
    results = await _each(keys, rack.delete)
    errors = [result for result in results.values() if isinstance(result, ClientError)]
    if not errors:
        return sum(result is True for result in results.values())
    error = errors[0]
    if len(keys) == 1:
        raise error
    done = len(keys) - len(errors)
    return Failure(f"{failure_of(error).text} ({done} of {len(keys)} keys are deleted.)")


async def put_each(rack: Rack, request: Request) -> Reply:
    """MSET key value …: one SET for each key, all concurrently.

    If some fail, the error names the keys that are written and those that are not. If the rack has
    rejected some keys and written all others, the error begins with the number of written keys.
    """
    values = dict(zip(request[1::2], request[2::2], strict=True))
    results = await _each(list(values), lambda key: rack.put(key, values[key]))
    errors = [result for result in results.values() if isinstance(result, ClientError)]
    if not errors:
        return OK
    # Errors after which a key may be written come before rejections ("nothing was done").
    first = next((error for error in errors if not isinstance(error, Rejected)), errors[0])
    if len(values) == 1:
        raise first
    written = [key for key, result in results.items() if result is None]
    parts = {
        "written": written,
        "perhaps written": [
            key
            for key, result in results.items()
            if isinstance(result, ClientError) and not isinstance(result, Rejected)
        ],
        "not written": [key for key, result in results.items() if isinstance(result, Rejected)],
    }
    counts = "; ".join(f"{how}: {_named(keys)}" for how, keys in parts.items())
    code, _, sentence = failure_of(first).text.partition(" ")
    if written and isinstance(first, Rejected):
        sentence = f"only {len(written)} of {len(values)} keys are written: {sentence}"
    return Failure(f"{code} {sentence} (Of this MSET's {len(values)} keys, {counts}.)")


async def _each(
    keys: Sequence[bytes], do: Callable[[bytes], Coroutine[Any, Any, _T]]
) -> dict[bytes, _T | ClientError]:
    """The result or error of each key; the operations are concurrent.

    Raises `NotConnected` if the rack is unreachable, and errors other than `ClientError`.
    """
    results = await asyncio.gather(*map(do, keys), return_exceptions=True)
    found: dict[bytes, _T | ClientError] = {}
    for key, result in zip(keys, results, strict=True):
        if isinstance(result, NotConnected):
            raise result
        if isinstance(result, BaseException) and not isinstance(result, ClientError):
            raise result
        found[key] = result
    return found


def _named(keys: Sequence[bytes]) -> str:
    more = len(keys) - _MAX_NAMED
    names = ", ".join(map(shown, keys[:_MAX_NAMED]))
    return f"{names} and {more} more" if more > 0 else names or "none"


def check_set(request: Request) -> Failure | None:
    """An error for every option of SET: a rack supports none."""
    for word in request[3:]:
        option = word.decode(errors="replace").upper()
        if option in _NOT_OF_RACKS:
            return Failure(f"ERR SET with {option} is not supported: {_NOT_OF_RACKS[option]}")
        return Failure("ERR syntax error")
    return None


def check_count(request: Request) -> Failure | None:
    """Not more than `MAX_KEYS` keys."""
    return _check_keys(len(request) - 1)


def check_mset(request: Request) -> Failure | None:
    """A value for each key, and not more than `MAX_KEYS` keys."""
    if len(request) % 2 == 0:
        return Failure("ERR wrong number of arguments for 'mset' command")
    return _check_keys(len(request) // 2)


def _check_keys(number: int) -> Failure | None:
    if number > MAX_KEYS:
        return Failure(
            f"ERR a command may have up to {MAX_KEYS} keys, not {number}: send several commands"
        )
    return None
