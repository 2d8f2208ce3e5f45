"""Vendored code has the documented hash and licence."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

VENDOR = Path(__file__).parents[2] / "web" / "vendor"
TEXTS = ("README.md", "LICENSE", "NOTICE", "LICENSE.txt")
CODE = sorted(file.name for file in VENDOR.iterdir() if not file.name.endswith(TEXTS))


@pytest.mark.parametrize("name", CODE)
def test_vendored_file_has_the_documented_hash(name: str) -> None:
    digest = hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()
    assert digest in (VENDOR / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "licence"),
    [("plotly-LICENSE", "MIT"), ("swagger-ui-LICENSE", "Apache License")],
)
def test_vendored_code_has_its_licence(file: str, licence: str) -> None:
    assert licence in (VENDOR / file).read_text(encoding="utf-8")
