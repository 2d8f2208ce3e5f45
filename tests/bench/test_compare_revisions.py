"""`make bench-compare REV=...`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import compare_revisions
from tests.compare_revisions import Ratio, parsed

OUTPUT = """\
farreach: front end 7.7 ms, load 0.4 ms interpreted, 101.2 ms compiled
  read-hit           interpreter        150010 packets/s  (1.00x the interpreter)  p50 1 ns
  read-hit           compiled          2125481 packets/s  (14.24x the interpreter)  p50 455.2 ns
  write-cached-sampled compiled          1447043 packets/s  (14.34x the interpreter)  p50 1 ns
"""


def test_figures_of_the_compiled_executor_are_read() -> None:
    assert parsed(OUTPUT) == {"read-hit": 2_125_481, "write-cached-sampled": 1_447_043}


def test_ratios_are_of_turns_and_name_what_became_slower(
    capsys: pytest.CaptureFixture[str],
) -> None:
    this, other = Path("this"), Path("other")
    order: list[Path] = []

    def measure(binary: Path, program: str, path: str) -> dict[str, float]:
        if program == "new" and binary == other:
            return {}
        paths = {"read": 200.0, "write": 90.0} if binary == this else {"read": 100, "write": 100}
        if path != "all":
            order.append(binary)
        return dict(paths)

    compare_revisions.compare(this, other, ["netcache", "new"], 3, measure)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["netcache", "read", "2.00", "2.00", "to", "2.00", "faster"]
    assert lines[2].split() == ["netcache", "write", "0.90", "0.90", "to", "0.90", "slower"]
    assert lines[3].split() == ["new", "is", "not", "in", "both", "revisions"]
    assert order[:6] == [this, other, other, this, this, other]


def test_noise_is_no_verdict() -> None:
    assert Ratio.of([0.8, 1.0, 1.2, 1.0]).verdict == ""
    assert Ratio.of([0.9]) == Ratio(0.9, 0.9, 0.9)


def test_unknown_revision_is_refused_with_a_sentence() -> None:
    command = [sys.executable, "-m", "tests.compare_revisions", "no-such-revision"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "REV=no-such-revision is no commit of this repository; try REV=HEAD~1.\n"
    )


def test_benchmark_that_fails_ends_the_comparison_with_its_error(tmp_path: Path) -> None:
    broken = tmp_path / "bench"
    broken.write_text("#!/bin/sh\necho 'no memory' >&2; exit 1\n")
    broken.chmod(0o755)
    assert compare_revisions.run(broken, "netcache", "all") == {}
    with pytest.raises(SystemExit, match=r"netcache read-hit .* failed: no memory"):
        compare_revisions.run(broken, "netcache", "read-hit")
