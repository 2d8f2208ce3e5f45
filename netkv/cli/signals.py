"""Signals that stop a command: SIGINT, and SIGTERM and SIGHUP, which act as SIGINT does."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_REPEAT_SECONDS = 0.01
"""Time until a lost interrupt is raised again: the code that lost it has returned by then."""


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


def _interrupt(number: int, frame: Any) -> None:  # noqa: ARG001  # signal's signature
    signal.raise_signal(signal.SIGINT)


def _repeat_lost_interrupt(unraisable: UnraisableHookArgs) -> None:
    # Python drops exceptions of callbacks for freed objects (weak references, `__del__`), of which
    # SQLAlchemy has one for each row. An interrupt that is raised there would not stop the command.
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # Sent to the main thread, which may wait in a system call that only a signal ends.
        main = threading.main_thread().ident
        repeat = threading.Timer(_REPEAT_SECONDS, signal.pthread_kill, [main, signal.SIGINT])
        repeat.daemon = True
        repeat.start()
    else:
        sys.__unraisablehook__(unraisable)
