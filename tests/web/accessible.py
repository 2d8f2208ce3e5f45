"""What a page must hold for everybody: the rules of axe-core, and no wider than its window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
"""A theme, and the width of a window in pixels: a desk and a phone."""


def show(page: Page, theme: str, width: int) -> None:
    """Prepares a page for a theme and a width."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})


def violations(page: Page) -> list[dict[str, Any]]:
    """Of the rules up to level AA and of best practices: each with its elements."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    # The bundle of plotly draws its own elements; what they show is in the table behind the chart.
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run({exclude: ['.js-plotly-plot']}, {rules: Object.fromEntries("
        "axe.getRules().filter(rule => !rule.tags.some(tag => /aaa$|^deprecated$/.test(tag)))"
        ".map(rule => [rule.ruleId, {enabled: true}]))})).violations.map("
        "each => ({id: each.id, help: each.help, nodes: each.nodes.map(node => node.html)}))"
    )
    return found


def width(page: Page) -> int:
    """Of the page with what overflows, in pixels."""
    found: int = page.evaluate("document.documentElement.scrollWidth")
    return found
