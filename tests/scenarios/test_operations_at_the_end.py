"""Operations that are not done when the measured part ends are in a figure of their own."""

from __future__ import annotations

from netkv.report import columns
from netkv.runs import Store, StoreSink
from netkv.runs.compare import compare
from netkv.scenarios import loader
from netkv.scenarios.results import RunResult
from netkv.scenarios.runner import run_scenario

RATE = 20_000
TEXT = f"""\
name: overloaded
schemes: [nocache]
mode: sim
lab: {{servers: 2, service_rate: 500}}
workload: {{keys: 100, arrivals: {{rate: {RATE}}}}}
deadline: 30
warmup: 0
duration: 1
"""


async def run(*changes: str) -> RunResult:
    (found,) = (await run_scenario(loader.loads(TEXT, "overloaded.yaml", changes))).runs
    return found


async def test_every_operation_of_an_open_loop_is_in_one_figure() -> None:
    """Most had arrived and were never sent: neither the latency nor the losses showed them."""
    found = await run()
    assert found.queued_ops > RATE / 4
    assert found.pending_ops > 0
    ended = found.completed_ops + found.lost_ops
    arrived = ended + found.queued_ops + found.unsent_ops + found.pending_ops
    assert 0.9 * RATE < arrived < 1.1 * RATE


async def test_closed_loop_has_no_queue() -> None:
    found = await run("workload.arrivals={outstanding: 8}")
    assert (found.queued_ops, found.unsent_ops, found.pending_ops) == (0, 0, 8)


async def test_queued_operations_have_a_column_if_there_are_any(store: Store) -> None:
    with StoreSink(store) as sink:
        await run_scenario(loader.loads(TEXT, "overloaded.yaml"), sink=sink)
    (record,) = store.records(sink.finished)
    assert record.queued_ops > 0
    rows = compare([record]).rows
    headings = [column.heading for column in columns.of(rows)]
    assert "queued ops" in headings
    quiet = record.model_copy(update={"queued_ops": 0})
    assert "queued ops" not in [it.heading for it in columns.of(compare([quiet]).rows)]
