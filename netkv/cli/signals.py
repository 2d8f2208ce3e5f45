"""Signals that stop a command: SIGINT, and SIGTERM and SIGHUP, which act as SIGINT does.

The first one stops the command in order: racks are taken down, results so far are stored. The
second SIGINT or SIGTERM ends the process at once, whatever it waits for.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_REPEAT_SECONDS = 0.01
"""Time until a lost interrupt is raised again: the code that lost it has returned by then."""
_SAME_SECONDS = 0.3
"""A signal of the same number within this time is the same: a terminal sends it to all processes of
a command, and programs that start netkv, such as `uv run`, pass theirs on as well."""
_NUDGE = signal.SIGURG
"""Without it, a signal would wait for as long as the system call that the main thread begins at the
moment when the signal arrives: Python's handlers run between system calls only. Its handler does
nothing, and it is a signal that nobody else needs."""
_NUDGE_SECONDS = 0.05
_MAX_NUDGES = 20
_ENDS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"

_own_interrupts = 0
"""SIGINTs that this process has sent to itself, and that have not been read yet."""
_nudged = False
"""Whether the handler of `_NUDGE` has run, and so those of earlier signals. A handler that takes a
lock (`Event.set`) would wait for itself if another nudge interrupts it."""


def install() -> None:
    """Let the three signals raise `KeyboardInterrupt` in the main thread, and none be lost."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A background job of a script (`netkv … &`) starts with SIGINT ignored. SIGTERM and the
        # dashboard's stop button end in SIGINT, so it must be handled.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Both stop the command in order, as Ctrl-C does. A signal that `nohup` ignores stays so.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _repeat_lost_interrupt
    end_at_second()


def end_at_second() -> None:
    """From now on the second SIGINT or SIGTERM ends the process at once.

    The main thread may be stuck then, or wait for a thread that is. So another thread reads the
    numbers of all signals; their handlers, those of asyncio and uvicorn included, do not change.
    """
    signal.signal(_NUDGE, _note_nudge)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watched = (reader, threading.main_thread().ident)
    threading.Thread(target=_watch, args=watched, name="signals", daemon=True).start()


def _watch(reader: int, main: int) -> None:
    global _own_interrupts, _nudged
    first: tuple[int, float] | None = None
    nudges = 0
    while True:
        # The first nudge is later than the signal, whose own interruption is enough mostly.
        if nudges and not select.select([reader], [], [], _NUDGE_SECONDS)[0]:
            nudges = 0 if _nudged else nudges - 1
            if nudges:
                signal.pthread_kill(main, _NUDGE)
            continue
        numbers = os.read(reader, 256)
        if any(number in (*_ENDS, signal.SIGHUP) for number in numbers):
            _nudged = False
            nudges = _MAX_NUDGES
        for number in numbers:
            if number == signal.SIGINT and _own_interrupts:
                _own_interrupts -= 1
            elif number not in (*_ENDS, signal.SIGHUP):
                continue
            elif first is None:
                first = number, time.monotonic()
            elif number in _ENDS and (
                number != first[0] or time.monotonic() - first[1] > _SAME_SECONDS
            ):
                _end(number)


def silence_interrupted_tasks() -> None:
    """From now on asyncio does not report tasks: one that an interrupt has ended is no error.

    It would do so when the task is freed, which is after the command has ended.
    """
    if "asyncio" in sys.modules:
        import logging

        logging.getLogger("asyncio").disabled = True


def _note_nudge(*_: object) -> None:
    global _nudged
    _nudged = True


def _end(number: int) -> None:
    with contextlib.suppress(OSError):
        if os.isatty(2):
            # Progress has hidden it.
            os.write(2, _SHOW_CURSOR)
    os._exit(128 + number)


def _interrupt(number: int, frame: Any) -> None:  # noqa: ARG001  # signal's signature
    global _own_interrupts
    _own_interrupts += 1
    signal.raise_signal(signal.SIGINT)


def _repeat_lost_interrupt(unraisable: UnraisableHookArgs) -> None:
    # Python drops exceptions of callbacks for freed objects (weak references, `__del__`), of which
    # SQLAlchemy has one for each row. An interrupt that is raised there would not stop the command.
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # Sent to the main thread, which may wait in a system call that only a signal ends.
        main = threading.main_thread().ident
        repeat = threading.Timer(_REPEAT_SECONDS, _send_interrupt, [main])
        repeat.daemon = True
        repeat.start()
    else:
        sys.__unraisablehook__(unraisable)


def _send_interrupt(thread: int) -> None:
    global _own_interrupts
    _own_interrupts += 1
    signal.pthread_kill(thread, signal.SIGINT)
