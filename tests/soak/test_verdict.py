"""Verdicts on racks whose reads may return replaced values for some time."""

from __future__ import annotations

from typing import Any

from netkv.soak.verdict import Judge


def sample(*kinds: str, **counts: int) -> dict[str, Any]:
    zero = ("completed", "unchecked_reads", "retries", "malformed", "errors", "phantom_reads")
    violations = [{"kind": kind, "text": "", "key": "00", "operations": []} for kind in kinds]
    common = dict.fromkeys((*zero, "longest_stale_ns"), 0)
    return {**common, "violations": violations, **counts}


def kinds(judge: Judge, *found: str, **counts: int) -> list[str]:
    return [each.kind for each in judge.take(1.0, sample(*found, **counts))]


def test_stale_reads_are_violations_unless_permitted() -> None:
    found = ("stale-read", "not-linearizable", "phantom-value", "refused-value")
    assert kinds(Judge(), *found) == list(found)
    assert kinds(Judge(0.5), *found) == ["phantom-value", "refused-value"]
    assert kinds(Judge(0.5), "lost-write") == ["lost-write"]


def test_reads_that_are_stale_for_too_long_are_violations() -> None:
    judge = Judge(0.5)
    assert kinds(judge, "stale-read", longest_stale_ns=500_000_000) == []
    assert kinds(judge, "stale-read", longest_stale_ns=500_000_001) == ["broken-rule"]
    assert kinds(Judge(), longest_stale_ns=900_000_000) == []


def test_malformed_frames_are_violations_unless_corrupted() -> None:
    judge = Judge()
    corrupted = 3
    for malformed, expected in ((2, []), (1, []), (0, []), (1, ["malformed-frame"])):
        found = judge.take(1.0, sample(malformed=malformed), lambda: corrupted)
        assert [each.kind for each in found] == expected
    wrong = Judge().take(1.0, sample(errors=1), lambda: corrupted)
    assert [each.kind for each in wrong] == ["malformed-frame"], "no burst makes a refusal"


def test_phantoms_beyond_the_reports_of_the_checker_are_violations() -> None:
    assert kinds(Judge(0.5), "stale-read", phantom_reads=2) == ["phantom-value"]
