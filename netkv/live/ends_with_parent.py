"""Starts a program that ends with its parent: `ends_with_parent.py PARENT PROGRAM [ARGUMENT...]`.

It replaces itself with the program by `exec`, so that the parent knows its process id. The kernel
kills the program when the parent ends for any reason. It imports the standard library only, so
that it starts quickly as a script.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def words(command: Sequence[str]) -> list[str]:
    """The command line of a program that ends with this process."""
    return [sys.executable, "-E", "-S", __file__, str(os.getpid()), *command]


def main() -> None:
    """See above."""
    parent, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):
        sys.exit("The parent process has ended.")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
