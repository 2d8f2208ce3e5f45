"""Changes of a scenario's text keep its comments, and assignments describe changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from netkv import resources
from netkv.errors import UsageError
from netkv.scenarios import editing, loader
from netkv.scenarios.editing import Change

TEXT = """\
# A load that is skewed.
name: mine
schemes: [nocache, netcache]  # the first is the baseline

lab:
  servers: 8
  # Slow, so that they are the bottleneck.
  service_rate: 500

workload:
  arrivals: {outstanding: 8}

duration: 12  # seconds

events:
  # A crash.
  - {at: 4, kill: switch}
  - {at: 5, start: switch}
"""


def changed(*changes: Change, text: str = TEXT) -> str:
    return editing.apply(text, changes, "mine.yaml")


def test_set_option_changes_one_line() -> None:
    after = changed(Change(("lab", "servers"), 16), Change(("duration",), 5))
    expected = TEXT.replace("servers: 8", "servers: 16").replace("duration: 12", "duration: 5")
    assert after == expected


def test_new_option_is_added_to_its_section() -> None:
    after = changed(Change(("lab", "cache_entries"), 100))
    assert after == TEXT.replace("rate: 500\n", "rate: 500\n  cache_entries: 100\n")


def test_new_section_has_its_usual_place() -> None:
    after = changed(Change(("mode",), "sim"), Change(("sweep", "workload.zipf"), [0, 0.9]))
    assert after.index("netcache]") < after.index("mode: sim") < after.index("lab:")
    assert after.endswith("  - {at: 5, start: switch}\n\nsweep:\n  workload.zipf: [0, 0.9]\n")
    assert "# Slow" in after


def test_events_are_added_changed_and_removed() -> None:
    after = changed(
        Change(("events", 2), {"at": 9, "kill": "servers-0"}),
        Change(("events", 0, "at"), 3.5),
        Change(("events", 1), remove=True),
    )
    assert after.endswith(
        "  # A crash.\n  - {at: 3.5, kill: switch}\n  - {at: 9, kill: servers-0}\n"
    )


def test_removed_option_takes_its_empty_section_with_it() -> None:
    after = changed(Change(("workload", "arrivals"), remove=True))
    assert "workload" not in after
    assert loader.parsed(after, "x")["duration"] == 12
    last = changed(Change(("events", 0), remove=True), Change(("events", 0), remove=True))
    assert "events" not in loader.parsed(last, "x")


def test_expectations_are_written_one_a_line() -> None:
    text = "each.lost_ops == 0"
    after = changed(Change(("expect",), [text, "netcache.hit_ratio >= 0.5"]))
    assert f"expect:\n  - {text}\n  - netcache.hit_ratio >= 0.5\n" in after


@pytest.mark.parametrize("value", ["a: b", "#x", "yes", "", "1", "{", "two\nlines", "ä, b", "- x"])
def test_texts_keep_their_meaning(value: str) -> None:
    after = changed(Change(("title",), value), Change(("expect",), [value]))
    found = loader.parsed(after, "x")
    assert found["title"] == value
    assert found["expect"] == [value]


def test_anchors_are_resolved_where_they_are_changed() -> None:
    text = "name: x\nschemes: &s [nocache]\nsweep: {lab.servers: *s}\n"
    after = changed(Change(("schemes",), ["netcache"]), text=text)
    assert loader.parsed(after, "x")["sweep"] == {"lab.servers": ["nocache"]}


def test_event_beyond_the_end_of_the_list_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"'events.7' does not exist: there are 2"):
        changed(Change(("events", 7), {"at": 1}))


def test_assignment_drops_the_other_alternative() -> None:
    after = editing.assign(TEXT, ["workload.arrivals.rate=100", "lab.servers=4"], "x")
    assert loader.parsed(after, "x")["workload"] == {"arrivals": {"rate": 100}}
    assert "servers: 4\n  # Slow" in after


def test_assignments_describe_all_changes() -> None:
    before = loader.parsed(TEXT, "x")
    after = changed(
        Change(("workload", "arrivals"), {"rate": 100}),
        Change(("lab", "topology", "kind"), "rack"),
        Change(("events",), remove=True),
        Change(("sweep", "workload.zipf"), [0, 0.9]),
    )
    assert editing.assignments(before, loader.parsed(after, "x")) == [
        "lab.topology={kind: rack}",
        "workload.arrivals={rate: 100}",
        "sweep={workload.zipf: [0, 0.9]}",
        "events=[]",
    ]
    assert editing.assignments(before, before) == []


def test_option_that_does_not_exist_has_no_assignment() -> None:
    before = loader.parsed(TEXT, "x")
    assert editing.assignments(before, {**before, "wrong": 1}) is None


def test_lines_of_options_are_known() -> None:
    lines = editing.lines(TEXT)
    assert TEXT.splitlines()[lines["lab.service_rate"] - 1] == "  service_rate: 500"
    assert TEXT.splitlines()[lines["events.1"] - 1] == "  - {at: 5, start: switch}"
    assert editing.lines("") == {}


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all options, sections included."""
    found = [path] if path else []
    if isinstance(data, list):
        data = dict(enumerate(data))
    for name, value in data.items() if isinstance(data, dict) else ():
        found += paths(value, (*path, name))
    return found


@pytest.mark.parametrize("file", resources.scenarios().values(), ids=lambda file: file.stem)
def test_random_changes_keep_comments_of_every_shipped_scenario(file: Any) -> None:
    draw = random.Random(file.stem)
    text = file.read_text(encoding="utf-8")
    data = loader.parsed(text, "x")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    for _ in range(6):
        path = draw.choice(paths(data))
        change = Change(path, draw.choice([7, "text: #", [1, 2]]))
        if draw.random() < 0.3:
            change = Change(path, remove=True)
        text = editing.apply(text, [change], "x")
        data = loader.parsed(text, "x")
        assert [line for line in text.splitlines() if line.startswith("#")] == comments
        if not data:
            break
