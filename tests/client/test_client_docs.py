"""The programs in docs/use/client.md and README.md run and print the documented output."""

from __future__ import annotations

import re

import pytest

from netkv import schemes
from tests.docs.documents import ROOT, blocks, run_python
from tests.labs import BringUp

DOCUMENT = ROOT / "docs/use/client.md"
EXAMPLE = blocks("python", DOCUMENT)[0].text
OUTPUT = blocks("text", DOCUMENT)[0].text


# Cards: tests/fpga/test_live_cards.py, tests/fpga/test_cards_in_time.py.
@pytest.mark.parametrize(
    "scheme", [scheme.name for scheme in schemes.all_schemes() if scheme.card is None]
)
def test_example_prints_the_documented_output(scheme: str, bring_up: BringUp) -> None:
    bring_up(scheme)
    assert run_python(EXAMPLE) == OUTPUT


def test_readmes_example_prints_the_documented_output(bring_up: BringUp) -> None:
    (program,) = blocks("python", ROOT / "README.md")
    (output,) = re.findall(r"# (\[.*\])$", program.text, re.MULTILINE)
    bring_up("netcache")
    assert run_python(program.text) == f"{output}\n"


def test_example_has_ten_lines_at_most() -> None:
    lines = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(lines) <= 10
