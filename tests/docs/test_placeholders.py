"""No document has a placeholder of the form `@NAME@`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_has_no_placeholder(document: Path) -> None:
    left = re.findall(r"@[A-Z][A-Z0-9_]*@", document.read_text(encoding="utf-8"))
    assert left == [], f"{document.name}: replace the placeholders"
