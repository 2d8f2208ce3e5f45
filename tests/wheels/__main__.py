"""`python -m tests.wheels build [PROCESSOR...]`, and `try [SYSTEM...]`: the parts of `make wheels`.

`try` needs root, for `chroot` and mounts; what it runs there, an ordinary user runs.
"""

from __future__ import annotations

import argparse
import sys

from tests.wheels.build import NotBuiltError, build
from tests.wheels.systems import SYSTEMS, NoSystemError, make
from tests.wheels.targets import TARGETS
from tests.wheels.trial import FailedError, Trial, of_this_machine


def _try(names: list[str]) -> int:
    """Tries wheels in systems; exit status 1 if anything failed."""
    expected, failed = of_this_machine(), []
    for name in names:
        system = SYSTEMS[name]
        if system.target.wheel() is None:
            print(f"There is no wheel for {system.arch} in dist/.", file=sys.stderr)
            return 2
        make(system)
        trial = Trial(system)
        if not trial.run():
            failed.append(name)
        elif trial.figures != expected:
            print(f"    FAILED  simulated figures are not {expected}, but {trial.figures}")
            failed.append(name)
        else:
            print("            simulated figures are those of this machine")
    print(f"==> {len(names) - len(failed)} of {len(names)} systems run the wheels")
    return 1 if failed else 0


def main() -> int:
    """Runs one part."""
    parser = argparse.ArgumentParser(prog="python -m tests.wheels", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    building = parts.add_parser("build")
    building.add_argument("names", nargs="*", choices=[*TARGETS, []], metavar="PROCESSOR")
    trying = parts.add_parser("try")
    trying.add_argument("names", nargs="*", choices=[*SYSTEMS, []], metavar="SYSTEM")
    options = parser.parse_args()
    try:
        if options.part == "try":
            return _try(options.names or list(SYSTEMS))
        for name in options.names or TARGETS:
            build(TARGETS[name])
    except (NotBuiltError, NoSystemError, FailedError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
