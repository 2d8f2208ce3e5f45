"""How tests wait: until a condition holds, never for a fixed time.

The limit is generous, so that no test fails on a busy machine. Correct code never reaches it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

PATIENCE_S = 120.0
"""For a state, and for the end of a process. A test may take longer (pyproject.toml)."""


def until(condition: Callable[[], T | None], state: str, every_s: float = 0.02) -> T:
    """Wait until the condition is true, and return what it returned then.

    `state` says what is waited for. Raises AssertionError with it when `PATIENCE_S` is over.
    """
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        _check(end, state)
        time.sleep(every_s)
    return found


@overload
async def until_async(
    condition: Callable[[], Awaitable[T | None]], state: str, every_s: float = 0.02
) -> T: ...


@overload
async def until_async(
    condition: Callable[[], T | None], state: str, every_s: float = 0.02
) -> T: ...


async def until_async(condition: Callable[[], object], state: str, every_s: float = 0.02) -> object:
    """The same in an event loop. The condition may be a coroutine function."""
    end = time.monotonic() + PATIENCE_S
    while not (found := await _value(condition())):
        _check(end, state)
        await asyncio.sleep(every_s)
    return found


async def _value(found: object) -> object:
    return await found if isinstance(found, Awaitable) else found


def _check(end: float, state: str) -> None:
    assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {state}"
