"""Tests wait until a condition is true, never for a fixed time.

The time-out is so long that no test of correct code reaches it on a busy machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

PATIENCE_S = 120.0
"""Time-out for a condition and for the end of a process; that of a test is in pyproject.toml."""


def until(condition: Callable[[], T | None], state: str, every_s: float = 0.02) -> T:
    """Wait until the condition is true; return its result.

    After `PATIENCE_S`, raises AssertionError with `state`, the description of the condition.
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
    """`until` for an event loop. The condition may be a coroutine function."""
    end = time.monotonic() + PATIENCE_S
    while not (found := await _value(condition())):
        _check(end, state)
        await asyncio.sleep(every_s)
    return found


async def settle() -> None:
    """Let all tasks of the loop that are ready run, and those that they make ready."""
    for _ in range(100):
        await asyncio.sleep(0)


async def _value(found: object) -> object:
    return await found if isinstance(found, Awaitable) else found


def _check(end: float, state: str) -> None:
    assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {state}"
