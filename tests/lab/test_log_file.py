"""Reading the ends of log files."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.live.log_file import Tail, tail

LINES = [b"1700000000.000 line %d of a log\n" % number for number in range(20_000)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of 20,000 lines, and the beginning of another one."""
    file = tmp_path / "switch.log"
    file.write_bytes(b"".join(LINES) + b"unfinished")
    return file


def texts(found: Tail) -> list[str]:
    return [line.text for line in found.lines]


def test_pages_backwards_have_every_line_once(log: Path) -> None:
    found = tail(log, 3)
    assert texts(found) == ["line 19998 of a log", "line 19999 of a log", "unfinished"]
    assert found.lines[0].time == 1_700_000_000
    assert found.end == log.stat().st_size
    collected = texts(found)
    while found.start:
        found = tail(log, 4999, found.start)
        collected = texts(found) + collected
    assert collected == [*(f"line {number} of a log" for number in range(20_000)), "unfinished"]


def test_page_of_many_lines_has_limited_bytes(log: Path) -> None:
    found = tail(log, 1_000_000, max_bytes=10_000)
    assert 100 < len(found.lines) < 10_000
    assert found.end - found.start < 100_000
    assert len(tail(log, 1_000_000).lines) == len(LINES) + 1


def test_empty_log_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "empty.log"
    file.touch()
    assert tail(file, 10) == Tail([], 0, 0)
    assert tail(file, 10, before=-5) == Tail([], 0, 0)
