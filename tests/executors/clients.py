"""`python -m tests.executors.clients NAME ARGUMENTS`: netkv with one thing changed.

- `committed`: netkv as from a checkout without changes, so that stored runs are not repeated.
- `other`: a netkv with other files.
"""

from __future__ import annotations

import sys

from netkv.cli import main


def run(name: str, arguments: list[str]) -> int:
    """Runs netkv."""
    if name == "committed":
        from netkv.scenarios import provenance

        provenance._revision = lambda: "abc"  # type: ignore[assignment]
    else:
        from netkv.executors import unit_processes

        vars(unit_processes)["identity"] = lambda: "netkv 0.0.1 (0123456789)"
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
