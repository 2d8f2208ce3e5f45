"""Compares the data plane of another revision with this one: `make bench-compare REV=...`.

Both are built with the same settings, the other one in a worktree of its own. Then the two
benchmarks take turns on one core, path by path, so that other work on the machine affects both. A
line has the median ratio of packets per second, this revision over the other, and its quartiles.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "engine/target/compare"
"""Worktrees and builds of other revisions; ignored by git."""
PROGRAMS = "yardstick,forwarding,netcache,farreach,distreach-tail"
_LINE = re.compile(r"^\s+(\S+)\s+compiled\s+(\d+) packets/s", re.MULTILINE)

Measure = Callable[[Path, str, str], dict[str, float]]
"""Packets per second of the paths of a program, by path; `all` for all of them."""


@dataclass(frozen=True)
class Ratio:
    """This revision over the other, over the rounds."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Ratio:
        if len(ratios) < 2:
            return cls(ratios[0], ratios[0], ratios[0])
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        return cls(low, median(ratios), high)

    @property
    def verdict(self) -> str:
        """`slower` or `faster` if all but a quarter of the rounds say so by more than 3%."""
        if self.high < 0.97:
            return "slower"
        return "faster" if self.low > 1.03 else ""


def parsed(output: str) -> dict[str, float]:
    """Packets per second of the compiled executor, by path, from the output of the benchmark."""
    return {path: float(pps) for path, pps in _LINE.findall(output)}


def run(binary: Path, program: str, path: str, seconds: float = 0.3) -> dict[str, float]:
    """Runs a benchmark; with `all`, empty if its revision does not know the program."""
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, str(binary), program, path, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and path != "all":
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return parsed(done.stdout)


def compare(
    this: Path, other: Path, programs: Sequence[str], rounds: int, measure: Measure
) -> None:
    """Prints a line for each path that both revisions know."""
    print(f"{'program':<18} {'path':<22} {'this over the other':>20}  quartiles")
    for program in programs:
        known = [measure(binary, program, "all") for binary in (this, other)]
        paths = [path for path in known[0] if path in known[1]]
        if not paths:
            print(f"{program:<18} is not in both revisions")
        for path in paths:
            ratios = []
            for turn in range(rounds):
                order = (this, other) if turn % 2 == 0 else (other, this)
                pps = {binary: measure(binary, program, path)[path] for binary in order}
                ratios.append(pps[this] / pps[other])
            found = Ratio.of(ratios)
            print(
                f"{program:<18} {path:<22} {found.middle:>20.2f}  "
                f"{found.low:.2f} to {found.high:.2f}  {found.verdict}".rstrip(),
                flush=True,
            )


def build(root: Path, target: Path) -> Path:
    """Builds the benchmark of a checkout; returns the program."""
    command = ["cargo", "build", "--release", "--locked", "-p", "netkv-bench", "--example", "bench"]
    subprocess.run(
        command,
        cwd=root / "engine",
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True,
    )
    return target / "release/examples/bench"


def checkout(revision: str) -> Path:
    """A worktree of another revision."""
    try:
        commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        sys.exit(f"REV={revision} is no commit of this repository; try REV=HEAD~1.")
    place = PLACE / commit[:12]
    if not place.is_dir():
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", str(place), commit)
    return place


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Builds both revisions, and compares them."""
    options = argparse.ArgumentParser(prog="make bench-compare")
    options.add_argument("revision")
    options.add_argument("--programs", default=PROGRAMS, help=f"default: {PROGRAMS}")
    options.add_argument("--rounds", type=int, default=10)
    given = options.parse_args()
    if given.rounds < 1:
        options.error(f"--rounds {given.rounds}: at least 1 round is needed.")
    place = checkout(given.revision)
    print(f"==> building {given.revision} in {place} (some minutes the first time)", flush=True)
    try:
        other = build(place, PLACE / "build")
        print("==> building this revision", flush=True)
        this = build(ROOT, ROOT / "engine/target")
    except subprocess.CalledProcessError:
        sys.exit("The benchmark of one revision cannot be built; see above.")
    compare(this, other, given.programs.split(","), given.rounds, run)


if __name__ == "__main__":
    main()
