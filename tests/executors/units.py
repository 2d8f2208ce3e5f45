"""Units for tests of executors."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from netkv.errors import UsageError
from netkv.executors.executor import Unit


def double(number: int, unit: Unit) -> int:
    unit.tell(f"{number} is doubled")
    unit.tell("now")
    return 2 * number


def refuse(number: int, _: Unit) -> None:
    raise UsageError(f"{number} is refused.")


def break_down(number: int, _: Unit) -> float:
    return number / 0


def process_id(_argument: None, _: Unit) -> int:
    return os.getpid()


def die(_argument: None, _: Unit) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(marker: Path, unit: Unit) -> str:
    """Dies in the first attempt, which leaves a file."""
    unit.tell("begun")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def sleep(marker: Path, unit: Unit) -> None:
    """Sleeps until it is interrupted; files say that it has begun and ended."""

    async def run() -> None:
        task = asyncio.create_task(asyncio.sleep(1000))
        stop = unit.cancel_when_interrupted(task)
        marker.with_suffix(".begun").touch()
        try:
            await task
        except asyncio.CancelledError:
            marker.with_suffix(".ended").touch()
            raise UsageError("It was interrupted.") from None
        finally:
            stop()

    asyncio.run(run())
