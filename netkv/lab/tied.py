"""Starts a program that ends with its parent: `tied.py PARENT PROGRAM [ARGUMENT...]`.

Becomes the program, so that its process id is the one that the parent knows. The kernel kills it
when the parent goes, however that ends. Only the standard library: it is run as a file, quickly.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """See above."""
    parent, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):
        sys.exit("The process that wanted this is gone.")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
