"""The lists of modules that a page requests at once."""

from __future__ import annotations

from tests.web import modules


def test_lists_of_modules_are_those_of_the_imports() -> None:
    written = modules.LIST.read_text(encoding="utf-8")
    assert written == modules.text(), "python -m tests.web.modules writes them"


def test_every_module_of_a_view_is_in_its_list() -> None:
    found = modules.lists()
    assert set(found) == {
        "main", "live", "scenarios", "runs", "compare", "figures", "labs", "packet",
    }  # fmt: skip
    assert "parts/chart.js" in found["compare"]
    assert "core/stream.js" in found["main"]
