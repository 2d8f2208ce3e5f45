"""Runs a scenario for a command and stores its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.cli.output import notify

if TYPE_CHECKING:
    from netkv.runs import StoreSink
    from netkv.runs.walltime import History
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import ScenarioResult


def run_stored(
    scenario: Scenario,
    group: str | None = None,
    *,
    jobs: int,
    history: History,
    resume: bool = False,
) -> tuple[ScenarioResult, str]:
    """Runs it with progress on stderr; returns the result and the id of its group in the store.

    `jobs` simulated runs are executed at a time, each in a process if there is more than one.
    `history`: what runs on this machine have taken. With `resume`, simulated runs whose results are
    in the store are not repeated. An interrupt prints which runs were stopped and which are stored.
    """
    import asyncio

    from netkv.cli import progress
    from netkv.runs import Store, StoreSink, walltime
    from netkv.scenarios.runner import run_scenario

    expected = walltime.phases_of_runs(scenario, history)
    with Store() as store:
        sink = StoreSink(store, group=group)
        try:
            with sink, progress.scenario(scenario.title or scenario.name) as shown:
                result = asyncio.run(
                    run_scenario(
                        scenario,
                        sink=sink,
                        on_progress=shown.progress,
                        finished=store.result if resume else lambda _: None,
                        jobs=jobs,
                        expected=expected,
                        on_state=shown.state,
                    )
                )
        except KeyboardInterrupt:
            notify(_interrupted(sink, len(expected)))
            if resume:
                notify("The same command resumes.")
            raise
    return result, sink.group


def _interrupted(sink: StoreSink, planned: int) -> str:
    """The message for a scenario that was stopped; `planned` is the number of its runs."""
    if not sink.cancelled and not sink.finished:
        return "Interrupted before a run began: nothing is stored."
    lines = ["Interrupted."]
    lines += [
        f"Run {each} was cancelled; it is stored with its samples so far."
        for each in sink.cancelled
    ]
    if sink.finished:
        lines.append(f"{len(sink.finished)} of {planned} runs had ended before and are stored.")
    left = planned - len(sink.finished) - len(sink.cancelled)
    if left > 0:
        lines.append(f"{left} of {planned} runs did not begin.")
    lines.append(f"Stored as {sink.group}: 'netkv runs compare {sink.group}' shows the runs.")
    return "\n".join(lines)
