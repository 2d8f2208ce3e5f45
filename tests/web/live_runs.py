"""Runs that report to a store while a page shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Page

from netkv.runs import Store, StoreSink
from netkv.scenarios.results import RunSample, RunStart
from tests.runs.recorded_runs import result, samples, start


@dataclass
class LiveRun:
    """A run that has begun, and reports as many of its samples as the test wants."""

    sink: StoreSink
    run: RunStart
    feed: list[RunSample]
    """All samples of the run, in order."""
    reported: int = 0

    def report(self, count: int | None = None) -> None:
        """Report samples until there are so many; by default all of them."""
        for sample in self.feed[self.reported : count]:
            self.sink.sample(self.run.id, sample)
            self.reported += 1

    def finish(self) -> None:
        """Report the result of the samples so far."""
        measured = [each for each in self.feed[: self.reported] if each.phase == "measure"]
        self.sink.finish(result(self.run, measured))


@contextmanager
def live_run(
    store: Store, run_id: str = "live", *, group: str = "glive", reported: int = 0
) -> Iterator[LiveRun]:
    """A run of NetCache that has begun, and has reported so many samples."""
    run = start(run_id, "netcache")
    with StoreSink(store, group=group) as sink:
        sink.begin(run)
        live = LiveRun(sink, run, list(samples(run)))
        live.report(reported)
        yield live


@contextmanager
def pressed_until_answer(page: Page, place: str, answer: str) -> Iterator[None]:
    """Presses the mouse button on an element, and releases it when the page has had time to draw
    what the server answered meanwhile."""
    page.locator(place).hover()
    page.mouse.down()
    with page.expect_response(answer):
        yield
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    page.mouse.up()
