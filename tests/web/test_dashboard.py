"""The dashboard in a real browser: theme, designs."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.api.serving import Served
from tests.fpga.bench import CACHE
from tests.fpga.live_ends import Ends, running


def test_theme_is_kept_over_a_reload(served: Served, page: Page) -> None:
    page.goto(served.url)
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_designs_and_counters_of_a_running_one_are_shown(
    served: Served, page: Page, tmp_path: Path
) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache").symlink_to(CACHE)
    page.goto(served.url)
    expect(page.locator("#designs-list")).to_be_hidden()
    page.locator("#designs summary").click()
    row = page.locator("#designs-list tbody tr", has_text="LaKe")
    expect(row).to_contain_text("200 MHz")
    expect(row).to_contain_text("nf0, nf1, nf2, nf3, host")
    shown = page.locator("#designs-running")
    expect(shown).to_contain_text("No design runs.")
    ends = Ends()
    port = f"--port=nf0=udp:{','.join(ends.plug(0))}"
    try:
        with running(tmp_path, tmp_path / "log", "wire", "--name=mine", "--write=mode=0", port):
            expect(shown).to_contain_text("mine wire, 200 MHz")
            for _ in range(3):
                ends.send(0, bytes(70))
            frames = shown.locator("dl div", has_text="frames.0").locator("dd")
            expect(frames).to_have_text("3")
        expect(shown).to_contain_text("No design runs.")
    finally:
        ends.close()
