"""An export of one store is an import of another, whatever kind each is."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import NetkvError, StoreError
from netkv.runs import Store, StoreSink
from netkv.runs.importing import Imported, import_archive
from tests.runs.recorded_runs import (
    record,
    record_comparison,
    record_recovery,
    record_sweep,
    start,
)


def archive(store: Store, *groups: str) -> str:
    return "".join(store.archived(set(groups) if groups else None))


def read(store: Store, text: str, *, replace: bool = False) -> Imported:
    return import_archive(store, "runs.jsonl", io.BytesIO(text.encode()), replace=replace)


@pytest.fixture
def filled(store: Store) -> Store:
    """Three groups: with a verdict, of a sweep, and with a recovery, remarks and progress."""
    record_comparison(store, repeats=2)
    record_sweep(store)
    run = start("sim-ü", "netcache", mode="sim", started_at=1_790_000_500.123456)
    with StoreSink(store, group="glast", command=["netkv", "--set", 'name="x y"']) as sink:
        sink.plan([{"scheme": "netcache", "params": {}, "repeat": 0}])
        record_recovery(sink, run, collect=0.5, restore=0.1 + 0.2)
        sink.progress({"done": 1, "total": 1})
        sink.begin(start("cut"))
    store.tag(["sim-ü"], add=["paper"])
    store.note("sim-ü", "größer\nals 😀")
    store.pin(["sim-ü"], True)
    return store


def other_url(tmp_path: Path, number: int) -> str:
    return f"sqlite:///{tmp_path / f'other-{number}.db'}"


def test_archive_is_the_same_after_a_way_through_both(
    filled: Store, server_url: str, tmp_path: Path
) -> None:
    text = archive(filled)
    urls = [other_url(tmp_path, 1), server_url, other_url(tmp_path, 2)]
    for url in urls if not filled.is_shared else urls[::2]:
        with Store(url) as store:
            done = read(store, text)
            assert len(done.added) == 10
            assert archive(store) == text
            assert store.heads() == filled.heads()
            assert store.record("sim-ü") == filled.record("sim-ü")
            assert store.thresholds("gcompared") == filled.thresholds("gcompared")


def test_archive_of_a_group_has_no_other(filled: Store, tmp_path: Path) -> None:
    with Store(other_url(tmp_path, 1)) as store:
        read(store, archive(filled, "gsweep"))
        assert {head.group for head in store.heads()} == {"gsweep"}
        done = read(store, archive(filled))
        assert (len(done.added), len(done.skipped)) == (6, 4)
        assert archive(store) == archive(filled)


def test_run_that_differs_is_refused_or_replaced(filled: Store) -> None:
    text = archive(filled)
    first, second = filled.find(["gcompared"])[:2]
    filled.tag([second], add=["later"])
    with pytest.raises(NetkvError, match=rf"jsonl:\d+: Run {second} is in the store .* differs"):
        read(filled, text)
    done = read(filled, text, replace=True)
    assert (done.added, done.replaced) == ([], [second])
    assert archive(filled) == text
    filled.delete([first])
    filled.pin([second], True)
    with pytest.raises(NetkvError, match="it is pinned; unpin it first"):
        read(filled, text, replace=True)
    assert first not in [head.id for head in filled.heads()], "nothing was imported"


def test_run_in_another_group_is_replaced_with_its_group(store: Store, tmp_path: Path) -> None:
    """A simulation was repeated: the id of its run follows from its content."""
    run = start("sim-x", mode="sim")
    with StoreSink(store, group="ghere") as sink:
        record(sink, run)
    with Store(other_url(tmp_path, 1)) as other:
        with StoreSink(other, group="gthere") as sink:
            record(sink, run)
        text = archive(other)
    with pytest.raises(NetkvError, match="Run sim-x is in the store already and differs"):
        read(store, text)
    assert [head.group for head in store.heads()] == ["ghere"]
    read(store, text, replace=True)
    assert archive(store) == text


def test_group_with_a_run_in_progress_is_no_archive(store: Store) -> None:
    record_comparison(store)
    with StoreSink(store, group="gbusy") as sink:
        sink.begin(start("busy"))
        with pytest.raises(NetkvError, match="Run busy of gbusy is in progress"):
            archive(store)
        assert archive(store, "gcompared")


def changed(part: str, change: Callable[[dict[str, Any]], object]) -> Callable[[list[str]], None]:
    """Changes the first line of a part."""

    def apply(lines: list[str]) -> None:
        at = next(at for at, line in enumerate(lines) if line.startswith(f'{{"{part}"'))
        document = json.loads(lines[at])
        change(document[part])
        lines[at] = json.dumps(document)

    return apply


WRONG: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "empty": (list.clear, "jsonl:1: The file is empty."),
    "other file": (lambda lines: lines.pop(0), "jsonl:1: This is no archive of runs"),
    "no JSON": (lambda lines: lines.__setitem__(4, "{"), "jsonl:5: This is not JSON"),
    "NaN": (lambda lines: lines.__setitem__(4, '{"x": NaN}'), "JSON has no NaN"),
    "list": (lambda lines: lines.__setitem__(2, "[]"), "jsonl:3: A line is an object"),
    "cut": (list.pop, "the line 'end': it is not complete"),
    "too many": (lambda lines: lines.append(lines[1]), "lines after the line 'end'"),
    "one less": (lambda lines: lines.pop(5), "not the lines that its end counts"),
    "twice": (lambda lines: lines.insert(-1, lines[3]), "run 'compared-nocache-0' is in the file"),
    "order": (lambda lines: lines.pop(1), "A line 'verdict' cannot follow the line 'archive'"),
    "part": (lambda lines: lines.insert(4, '{"sampel": {}}'), "Did you mean 'sample'?"),
    "newer": (changed("archive", lambda it: it.update(version=99)), "Update netkv."),
    "unknown": (changed("sample", lambda it: it.update(tine=1)), "A sample has no 'tine'"),
    "lacks": (changed("run", lambda it: it.pop("seed")), "jsonl:4: This run lacks 'seed'."),
    "type": (
        changed("run", lambda it: it.update(seed="x")),
        """'seed' of this run is "x", not an""",
    ),
    "large": (changed("run", lambda it: it.update(seed=2**70)), "not an integer"),
    "bool": (changed("verdict", lambda it: it.update(ok=1)), "is 1, not true or false"),
    "null": (changed("sample", lambda it: it.update(time=None)), "is null, not a number"),
    "status": (changed("run", lambda it: it.update(status="running")), "It can be: "),
    "content": (changed("event", lambda it: it.update(change={"x": 1})), "cannot be shown"),
    "figures": (changed("run", lambda it: it.update(tags="x")), "This run cannot be shown"),
    "command": (changed("group", lambda it: it.update(command="x")), "This group cannot be shown"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_line_is_named_and_nothing_is_imported(
    case: str, file_url: str, tmp_path: Path
) -> None:
    with Store(other_url(tmp_path, 1)) as source:
        record_comparison(source)
        lines = archive(source).splitlines()
    change, sentence = WRONG[case]
    change(lines)
    with Store(file_url) as store:
        with pytest.raises(NetkvError) as refused:
            read(store, "\n".join(lines))
        assert sentence in str(refused.value)
        assert str(refused.value).startswith("runs.jsonl:")
        assert str(refused.value).endswith((".", "?"))
        assert store.heads() == []
        assert store.planned("gcompared") == []


def test_import_that_ended_early_can_be_repeated(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(other_url(tmp_path, 1)) as source:
        record_comparison(source, repeats=3)
        text = archive(source)
    of_store, left = store.transaction, [4]

    def failing(*arguments: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise StoreError("The store is full.", "full")
        return of_store(*arguments)

    monkeypatch.setattr(store, "transaction", failing)
    with pytest.raises(StoreError):
        read(store, text)
    done = read(store, text)
    assert (len(done.added), len(done.skipped)) == (4, 2)
    assert archive(store) == text
