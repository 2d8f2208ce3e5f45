"""The table of docs/use/scenarios.md has every scenario that ships."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from netkv import resources
from tests.docs.documents import ROOT


def test_table_has_every_scenario_that_ships() -> None:
    """A row names one or more, or those whose names begin alike: `netmc-*`."""
    text = (ROOT / "docs/use/scenarios.md").read_text()
    rows = text.split("| scenario | what it shows |\n|---|---|\n")[1].split("\n\n")[0]
    listed = [name for row in rows.splitlines() for name in re.findall("`([^`]+)`", _first(row))]
    shipped = resources.scenarios()
    assert [name for name in shipped if not any(fnmatchcase(name, it) for it in listed)] == []
    assert [it for it in listed if not any(fnmatchcase(name, it) for name in shipped)] == []


def _first(row: str) -> str:
    return row.split("|")[1]
