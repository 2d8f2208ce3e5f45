"""The command `netkv`.

Results go to stdout (with `--json` one document and nothing else), logs and progress to stderr.
Exit status: 0 done, 1 failed or a threshold was missed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (by default the process's own); returns the exit status."""
    # Most objects of a command come from its imports and live as long as it does. By default the
    # garbage collector visits them after each 700 new ones: a tenth of the time of a short command.
    gc.set_threshold(100_000)
    from netkv.cli import completion, faults, signals
    from netkv.cli.app import app
    from netkv.errors import NetkvError

    if completion.requested():
        return completion.complete(lambda: app(prog_name="netkv"))
    signals.install()
    try:
        app(args=None if arguments is None else list(arguments), prog_name="netkv")
    except SystemExit as stop:
        return _status(stop.code)
    except KeyboardInterrupt:
        return 130
    except NetkvError as error:
        faults.report(str(error))
        return error.exit_code
    except BrokenPipeError:
        faults.silence_stdout()
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
