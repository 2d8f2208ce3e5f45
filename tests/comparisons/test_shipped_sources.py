"""Mutants are edits beside the tests: the sources that ship have no place for them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_roles_have_no_mutants() -> None:
    """`engine/roles/mutants/` edits a copy of them; its build refuses a place that is not found
    exactly once."""
    sources = sorted((ROOT / "engine/roles/src").rglob("*.rs"))
    named = [
        str(path.relative_to(ROOT))
        for path in sources
        if re.search(r"mutant|mutat|cfg\(feature", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert len(sources) > 50
    assert named == []


def test_what_ships_has_no_roles_with_mutants() -> None:
    """Only the tests of the roles depend on the copy."""
    users = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "engine").glob("**/Cargo.toml"))
        if "target" not in path.parts
        for section in re.split(r"^\[", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if "netkv-roles-mutants" in section
        and not section.startswith(("dev-dependencies]", "workspace", "package]"))
    ]
    assert users == []


def test_rtl_has_no_mutants() -> None:
    """`fpga/mutants/edits.toml` has them."""
    sources = sorted((ROOT / "fpga/rtl").rglob("*.*v*"))
    named = [
        str(path.relative_to(ROOT))
        for path in sources
        if "mutant" in path.read_text(encoding="utf-8").lower()
    ]
    assert len(sources) > 60
    assert named == []
