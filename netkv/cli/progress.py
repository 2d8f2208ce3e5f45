"""Progress of what takes long, on stderr: bars on a terminal, plain lines elsewhere.

A bar has a percentage and the time left. Elsewhere there is a line for each phase or step, and, for
long work, at most every 10 s a line with percentage and time left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from netkv.cli.output import notify, stderr
from netkv.report import text
from netkv.scenarios.schedule import ENDED, TEXTS
from netkv.schemes.metric_table import is_shown
from netkv.steps import Steps, time_left

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from netkv.scenarios.execution import Progress
    from netkv.scenarios.schedule import RunState, State

EVERY_S = 10.0
"""Seconds between two lines with percentage and time left."""
_LONG_S = 3.0
"""Seconds of waiting after which something is shown."""


class ShownScenario(Protocol):
    """Shows a scenario while it runs."""

    def progress(self, now: Progress) -> None:
        """`on_progress` of `run_scenario`."""

    def state(self, now: State) -> None:
        """`on_state` of `run_scenario`."""


@contextmanager
def scenario(title: str) -> Iterator[ShownScenario]:
    """Shows the progress of `run_scenario`."""
    notify(title)
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with bars() as shown:
        yield _Bars(shown)


@contextmanager
def pool(title: str) -> Iterator[Callable[[State], None]]:
    """Shows the progress of many scenarios together, without a line for each run."""
    notify(title)
    if not sys.stderr.isatty():
        yield _PoolLines()
        return
    with bars() as shown:
        yield _Bars(shown).state


@contextmanager
def steps() -> Iterator[Callable[[int, int, str], None]]:
    """Progress of a benchmark; call it with the step (from 0), the number of steps, and a label.

    If interrupted, it prints the step that was reached.
    """
    reached = ""
    written = Steps()

    def remember(at: int, count: int, label: str) -> None:
        nonlocal reached
        if at < count:
            reached = f" at step {at + 1} of {count} ({label})"
        written(at, count, label)
        show(at, count, label)

    try:
        with _shown_steps() as show:
            yield remember
    except KeyboardInterrupt:
        notify(f"Interrupted{reached}: there is no result, and nothing is stored.")
        raise


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str, float | None], None]]:
    """Shows that a command waits for `what`, once that has taken some seconds.

    Call it often, with what is done and how far that is (0 to 1, or None).
    """
    began = time.monotonic()
    if not sys.stderr.isatty():
        yield _WaitingLines(what, began)
        return
    with bars() as shown:
        yield _WaitingBar(shown, what, began)


def how_far(fraction: float, left_seconds: float | None) -> str:
    """`34%, about 2 min 10 s left`."""
    left = "" if left_seconds is None else f", about {text.duration(left_seconds)} left"
    # 100% would say that it is over.
    return f"{int(min(fraction, 0.99) * 100)}%{left}"


@contextmanager
def bars() -> Iterator[RichProgress]:
    """Bars on the terminal. The fields of a task: `left` (text), and `label` behind it."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]:>12}"),
        TextColumn("{task.fields[label]}"),
    )
    with Progress(*columns, console=stderr(), transient=True) as shown:
        yield shown


def left_text(seconds: float | None) -> str:
    """The field `left` of a bar."""
    return "" if seconds is None else f"{text.duration(seconds)} left"


@contextmanager
def _shown_steps() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal, a line for each step elsewhere."""
    began = time.monotonic()
    if not sys.stderr.isatty():

        def line(at: int, count: int, label: str) -> None:
            passed = time.monotonic() - began
            left = time_left(at / count, passed)
            far = f" ({how_far(at / count, left)})" if passed >= EVERY_S else ""
            if at < count:
                notify(f"[{at + 1}/{count}] {label}{far}")

        yield line
        return
    with bars() as shown:
        task = shown.add_task("", total=None, left="", label="")

        def show(at: int, count: int, label: str) -> None:
            left = time_left(at / count, time.monotonic() - began)
            shown.update(
                task,
                completed=at,
                total=count,
                description=f"{min(at + 1, count)}/{count}",
                left=left_text(left),
                label=label,
            )

        yield show


class _WaitingLines:
    """A line every `EVERY_S`."""

    def __init__(self, what: str, began: float) -> None:
        self._what = what
        self._began = began
        self._shown_at = began + _LONG_S - EVERY_S

    def __call__(self, label: str, fraction: float | None) -> None:
        now = time.monotonic()
        if now - self._shown_at >= EVERY_S:
            self._shown_at = now
            far = "" if fraction is None else _far(fraction, now - self._began)
            notify(f"{self._what}: {label}{far}")


class _WaitingBar:
    """A bar, after `_LONG_S`."""

    def __init__(self, bars: RichProgress, what: str, began: float) -> None:
        self._bars = bars
        self._what = what
        self._began = began
        self._task: TaskID | None = None

    def __call__(self, label: str, fraction: float | None) -> None:
        passed = time.monotonic() - self._began
        if passed < _LONG_S:
            return
        if self._task is None:
            self._task = self._bars.add_task(self._what, total=None, left="", label="")
        left = None if fraction is None else time_left(fraction, passed)
        total = None if fraction is None else 1.0
        self._bars.update(
            self._task, completed=fraction or 0.0, total=total, left=left_text(left), label=label
        )


def _far(fraction: float, passed: float) -> str:
    return f" ({how_far(fraction, time_left(fraction, passed))})"


class _Lines:
    """A line when a phase of a run begins, and every `EVERY_S` one about the whole scenario."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        """The newest phase of each run."""
        self._shown_at = time.monotonic()

    def progress(self, now: Progress) -> None:
        if self._phases.get(now.run.id) == now.phase or now.phase in ("drain", "stopping"):
            return
        self._phases[now.run.id] = now.phase
        notify(f"{_name(now)}: {TEXTS.get(now.phase, now.phase)}")

    def state(self, now: State) -> None:
        if time.monotonic() - self._shown_at < EVERY_S or now.done == now.total:
            return
        self._shown_at = time.monotonic()
        done = f"{now.done} of {now.total} runs done; " if now.total > 1 else ""
        runs = ", ".join(
            f"[{run.index + 1}/{now.total}] {run.scheme} {int(run.share * 100)}%, {run.text}"
            for run in now.runs
        )
        # Of a cluster, runs are known when they have ended.
        about = f"{done}{runs}" if runs else _units(now)
        notify(f"{how_far(now.fraction, now.left_seconds)} ({about})")


class _PoolLines:
    """A line every `EVERY_S`."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()

    def __call__(self, now: State) -> None:
        if time.monotonic() - self._shown_at < EVERY_S or now.done == now.total:
            return
        self._shown_at = time.monotonic()
        far = how_far(now.fraction, now.left_seconds)
        notify(f"{far} ({_units(now)})")


class _Bars:
    """A bar for the scenario, and one for each run in progress; ended runs leave a line."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._whole: TaskID | None = None
        self._tasks: dict[int, TaskID] = {}
        self._names: dict[int, str] = {}
        self._figures: dict[int, str] = {}

    def progress(self, now: Progress) -> None:
        self._names[now.index] = _name(now)
        if now.sample is not None:
            figures = f"{text.rate(now.sample.throughput_ops)} ops/s"
            if now.sample.hit_ratio is not None and is_shown("hit_ratio", now.run.scheme):
                figures += f", {text.share(now.sample.hit_ratio)} hits"
            self._figures[now.index] = figures
        if now.phase in ENDED:
            line = f"{_name(now)}: {TEXTS[now.phase]}"
            self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def state(self, now: State) -> None:
        if now.total > 1:
            if self._whole is None:
                self._whole = self._bars.add_task("", total=1.0, left="", label="")
            self._bars.update(
                self._whole,
                completed=now.fraction,
                description=f"{now.done} of {now.total} runs",
                left=left_text(now.left_seconds),
                label=", ".join(_workers(now)),
            )
        running = {run.index for run in now.runs}
        for index in self._tasks.keys() - running:
            self._bars.remove_task(self._tasks.pop(index))
        for run in now.runs:
            self._show(run, now.total)

    def _show(self, run: RunState, total: int) -> None:
        name = self._names.get(run.index, f"[{run.index + 1}/{total}] {run.scheme}")
        if run.index not in self._tasks:
            self._tasks[run.index] = self._bars.add_task(name, total=1.0, left="", label="")
        far = f" {int(run.fraction * 100)}%" if run.phase == "preload" else ""
        figures = self._figures.get(run.index)
        self._bars.update(
            self._tasks[run.index],
            description=name,
            completed=run.share,
            left=left_text(run.left_seconds),
            label=f"{run.text}{far}" + (f", {figures}" if figures else ""),
        )


def _units(now: State) -> str:
    """`340 of 1000 runs done, 12.3 per second, 8 workers, 2 failed`."""
    return ", ".join([f"{now.done} of {now.total} runs done", *_workers(now)])


def _workers(now: State) -> list[str]:
    """The parts of `_units` about those who execute runs."""
    count = sum(each.refused is None for each in now.workers)
    parts = []
    if now.rate is not None:
        often = now.rate >= 1
        parts.append(f"{now.rate:.3g} per second" if often else f"{60 * now.rate:.3g} per minute")
    if count > 1:
        parts.append(f"{count} workers")
    if now.failed:
        parts.append(f"{now.failed} failed")
    return parts


def _name(now: Progress) -> str:
    point = text.params(now.run.params)
    parts = [f"[{now.index + 1}/{now.count}]", now.run.scheme, point]
    if now.run.repeat:
        parts.append(f"#{now.run.repeat + 1}")
    return " ".join(part for part in parts if part)
