"""Interrupts (SIGINT, Ctrl-C) in a part that must be done as a whole or not at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held() -> Iterator[None]:
    """An interrupt in this block takes effect at its end.

    SQLAlchemy cannot be interrupted between the commit of a database and its own account of it:
    the interrupt is lost in an error of its clean-up, and nobody knows what was stored.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Python raises interrupts in the main thread only.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(*arrived[0])
