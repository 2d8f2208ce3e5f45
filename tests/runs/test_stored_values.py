"""Both kinds of stores have the same values, also of what databases treat differently."""

from __future__ import annotations

import json
import math

import pytest

from netkv.errors import UsageError
from netkv.runs import Store, StoreSink
from netkv.runs.query import RunQuery
from netkv.runs.stored_values import to_json
from netkv.scenarios.results import RunEvent
from tests.runs.recorded_runs import result, samples, start


def test_what_no_database_stores_is_replaced(store: Store) -> None:
    run = start("r1", parameters={"text": "nothing\0", "rate": math.inf, "half": "\ud83d"})
    measured = list(samples(run))
    with StoreSink(store, command=["netkv", "\0"]) as sink:
        sink.begin(run)
        sink.event(run.id, RunEvent(time=1.0, kind="log", node="switch", text="\0 of \ud800"))
        sink.finish(result(run, measured).model_copy(update={"reason": "a\0b"}))
    record = store.record("r1")
    assert record.parameters == {
        "text": "nothing\N{REPLACEMENT CHARACTER}",
        "rate": None,
        "half": "\N{REPLACEMENT CHARACTER}",
    }
    assert record.events[0].text == "\N{REPLACEMENT CHARACTER} of \N{REPLACEMENT CHARACTER}"
    assert record.reason == "a\N{REPLACEMENT CHARACTER}b"
    assert store.search(RunQuery(sort="throughput_ops")).total == 1
    with pytest.raises(UsageError, match="There is no run"):
        store.head("\0")
    assert store.heads(scenario="\0") == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1.5, math.nan, -math.inf]}, '{"a": [1.5, null, null]}'),
        ("\0", r'"\ufffd"'),
        ("a smile 😀", r'"a smile \ud83d\ude00"'),
        ({"\0": "\udc00"}, r'{"\ufffd": "\ufffd"}'),
        (0.1 + 0.2, "0.30000000000000004"),
        ("\\u0000", r'"\\u0000"'),
    ],
)
def test_json_is_what_all_databases_can_read(value: object, text: str) -> None:
    assert to_json(value) == text
    json.loads(text)


def test_large_numbers_are_kept(store: Store) -> None:
    large = 2**62 + 1
    run = start("r1", seed=2**53 - 1)
    sample = next(samples(run)).model_copy(
        update={"lost_ops": large, "retries": large, "throughput_ops": 0.1 + 0.2}
    )
    with StoreSink(store) as sink:
        sink.begin(run)
        sink.sample(run.id, sample)
    assert store.samples("r1")[0] == [sample]
    assert store.head("r1").seed == 2**53 - 1


def test_ids_are_ordered_by_code_points(store: Store) -> None:
    """PostgreSQL would order them as a dictionary does, and SQLite's LIKE ignores case."""
    ids = ["B", "_a", "a", "a-b", "aa", "é"]
    with StoreSink(store) as sink:
        for each in ids:
            sink.begin(start(each, scenario=each))
    for sort in ("id", "scenario"):
        found = store.search(RunQuery(sort=sort, descending=False)).runs
        assert [head.id for head in found] == ids
    assert store.find(["_"]) == ["_a"]
    assert store.find(["B"]) == ["B"]
    with pytest.raises(UsageError, match="No run has an id"):
        store.find(["b"])
    with pytest.raises(UsageError, match="No run has an id"):
        store.find(["%"])


def test_query_may_name_many_runs(store: Store) -> None:
    with StoreSink(store) as sink:
        sink.begin(start("r1"))
    many = [f"x{number}" for number in range(30_000)]
    assert [head.id for head in store.search(RunQuery(ids=[*many, "r1"])).runs] == ["r1"]
    assert store.histograms([*many, "r1"]) == {"r1": ""}
