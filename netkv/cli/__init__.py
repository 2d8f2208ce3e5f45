"""The command `netkv`.

Results go to stdout (with `--json` one document and nothing else), logs and progress to stderr.
Exit status: 0 done, 1 failed or a threshold was missed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from netkv.cli import garbage

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (by default the process's own); returns the exit status."""
    garbage.defer()
    from netkv.cli import completion, faults, signals
    from netkv.cli.app import app
    from netkv.errors import NetkvError, of_disk

    if completion.requested():
        return completion.complete(lambda: app(prog_name="netkv"))
    try:
        signals.install()
        app(args=None if arguments is None else list(arguments), prog_name="netkv")
    except SystemExit as stop:
        if stop.code == _INTERRUPTED:
            signals.silence_interrupted_tasks()
        return _status(stop.code)
    except KeyboardInterrupt:
        signals.silence_interrupted_tasks()
        return _INTERRUPTED
    except NetkvError as error:
        faults.report(str(error))
        return error.exit_code
    except BrokenPipeError:
        faults.silence_stdout()
        return 1
    except OSError as error:
        if (sentence := of_disk(error)) is None:
            faults.report_unexpected(error)
        else:
            faults.report(sentence)
        return 1
    except Exception as error:
        faults.report_unexpected(error)
        return 1
    return 0


def _status(code: object) -> int:
    if isinstance(code, int):
        return code
    if code is None:
        return 0
    print(code, file=sys.stderr)
    return 1
