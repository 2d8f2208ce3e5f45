"""Progress of a scenario or a benchmark on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from netkv.cli.output import notify, stderr
from netkv.metrics import is_shown
from netkv.report import text

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from netkv.scenarios.execution import Progress

_PHASES = {
    "starting": "starting",
    "warmup": "warm-up",
    "measure": "measuring",
    "drain": "draining",
    "verify": "verifying",
    "stopping": "stopping",
    "done": "done",
    "known": "stored already",
}


@contextmanager
def progress(title: str) -> Iterator[Callable[[Progress], None]]:
    """Shows the progress of `run_scenario`; pass it as `on_progress`."""
    notify(title)
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[phase]:<10}"),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(compact=True),
        console=stderr(),
    )
    with bars:
        yield _Bars(bars)


@contextmanager
def steps() -> Iterator[Callable[[int, int, str], None]]:
    """Progress of a benchmark; call it with the step (from 0), the number of steps, and a label.

    If interrupted, it prints the step that was reached.
    """
    reached = ""

    def remember(at: int, count: int, label: str) -> None:
        nonlocal reached
        if at < count:
            reached = f" at step {at + 1} of {count} ({label})"
        show(at, count, label)

    try:
        with _shown_steps() as show:
            yield remember
    except KeyboardInterrupt:
        notify(f"Interrupted{reached}: there is no result, and nothing is stored.")
        raise


@contextmanager
def _shown_steps() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal, a line for each step elsewhere."""
    if not sys.stderr.isatty():
        yield lambda at, count, label: notify(f"[{at + 1}/{count}] {label}") if at < count else None
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bar = Bars(
        BarColumn(bar_width=28),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.description}"),
        console=stderr(),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda at, count, label: bar.update(
            task, completed=at, total=count, description=label
        )


class _Lines:
    """Prints a line when a phase begins, and none for each sample."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        """The newest phase of each run."""

    def __call__(self, now: Progress) -> None:
        if self._phases.get(now.run.id) == now.phase or now.phase in ("drain", "stopping"):
            return
        self._phases[now.run.id] = now.phase
        notify(f"{_name(now)}: {_PHASES.get(now.phase, now.phase)}")


class _Bars:
    """A bar per run, with figures of its newest sample."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, now: Progress) -> None:
        task = self._tasks.get(now.run.id)
        if task is None:
            task = self._bars.add_task(_name(now), total=now.duration, phase="", figures="")
            self._tasks[now.run.id] = task
        self._bars.update(task, completed=now.elapsed, phase=_PHASES.get(now.phase, now.phase))
        if now.sample is not None:
            figures = f"{text.rate(now.sample.throughput_ops)} ops/s"
            if now.sample.hit_ratio is not None and is_shown("hit_ratio", now.run.scheme):
                figures += f", {text.share(now.sample.hit_ratio)} hits"
            self._bars.update(task, figures=figures)


def _name(now: Progress) -> str:
    point = text.params(now.run.params)
    parts = [f"[{now.index + 1}/{now.count}]", now.run.scheme, point]
    if now.run.repeat:
        parts.append(f"#{now.run.repeat + 1}")
    return " ".join(part for part in parts if part)
