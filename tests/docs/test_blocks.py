"""The Python blocks of documents are programs, the YAML blocks scenarios or parts of them, or
evaluations."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from netkv import evaluation
from netkv.scenarios import loader
from tests import includes
from tests.docs.documents import DOCUMENTS, Block, blocks

INCLUDED = {part for document in DOCUMENTS for part in includes.parts(document.read_text())}
"""Parts of files, which are no programs by themselves. The files have tests of their own."""


@pytest.mark.parametrize(
    "block", [it for it in blocks("python") if it.text not in INCLUDED], ids=str
)
def test_python_block_is_a_program(block: Block) -> None:
    """The block compiles, so `async with` is in a function, and it has imports."""
    compile(block.text, str(block), "exec")
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(block.text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported, f"{block} imports nothing, so it is no program"


@pytest.mark.parametrize("block", [it for it in blocks("yaml") if it.text not in INCLUDED], ids=str)
def test_yaml_block_is_a_scenario_or_part_of_one_or_an_evaluation(
    block: Block, tmp_path: Path
) -> None:
    data = YAML(typ="safe").load(block.text)
    if "experiments" in data:
        file = tmp_path / "evaluation.yaml"
        file.write_text(block.text)
        assert evaluation.load(str(file)).experiments
        return
    complete = "schemes" in data or "extends" in data
    defaults = {
        "name": "part",
        "schemes": ["nocache", "netcache"],
        "sweep": {"workload.zipf": [0, 0.9]},
    }
    file = tmp_path / "scenario.yaml"
    if complete:
        file.write_text(block.text)
    else:
        with file.open("w") as out:
            YAML().dump({**defaults, **data}, out)
    assert loader.load(file).schemes
