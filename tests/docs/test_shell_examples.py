"""The commands, options and scenarios in shell examples and prose of the documents exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main

from netkv.cli.app import app
from netkv.scenarios import loader
from netkv.scenarios.lab_options import LabOptions
from tests.docs.documents import DOCUMENTS, ROOT, Block, blocks, commands, inline, scenario
from tests.docs_site.links import targets
from tests.examples import write_around

NETKV: Any = typer.main.get_command(app)
SHELL = blocks("sh")


def parsed(words: list[str]) -> dict[str, Any]:
    """The name and the parameters of a command line. Raises its usage error if it is wrong."""
    found, name, rest = NETKV, "netkv", words[1:]
    while hasattr(found, "commands"):
        if found.invoke_without_command and (not rest or rest[0].startswith("-")):
            break
        if rest[0] not in found.commands:
            raise LookupError(f"There is no command '{name} {rest[0]}'.")
        found = found.commands[rest[0]]
        name, rest = f"{name} {rest[0]}", rest[1:]
    with found.make_context(name, rest) as context:
        return {"command": name, **context.params}


def check(words: list[str], directory: Path) -> None:
    """Raises if a command, an option, a scenario or a path of `--set` does not exist.

    A scenario that a document shows is written to a file in `directory`.
    """
    found = parsed(words)
    changes = found.get("changes") or []
    if found["command"] in ("netkv scenario run", "netkv scenario show"):
        given = {"mode": found.get("mode"), "repeat": found.get("repeat")}
        changes += [f"{path}={value}" for path, value in given.items() if value is not None]
        name = found["name"]
        if name in write_around.files():
            return  # its scheme must be installed: `tests/examples/test_write_around.py` does that
        if name.endswith(".yaml") and (shown := scenario(name.removesuffix(".yaml"))):
            name = str(directory / name)
            Path(name).write_text(shown.text)
        loader.load(loader.find(name), changes)
    elif found["command"] == "netkv up":
        scheme = None if "$" in (found["scheme"] or "") else found["scheme"]
        LabOptions(scheme, found["scenario"], changes).rack()


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_commands_of_a_shell_block_exist(block: Block, tmp_path: Path) -> None:
    subprocess.run(["bash", "-n", "-c", block.text], check=True)
    for words in commands(block.text):
        if words[0] == "netkv":
            check(words, tmp_path)
        elif words[0] == "make":
            for target in words[1:]:
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_commands_within_prose_exist() -> None:
    """Prose has placeholders such as NAME and [--json]; commands and options must exist."""
    for where, text in inline():
        words = [word for word in re.sub(r"[\[\]…]|\.\.\.", " ", text).split() if word != "|"]
        options = [word for word in words if word.startswith("-")]
        names = [word for word in words if not word.startswith("-")]
        group: Any = NETKV
        for name in names[1:]:
            if not hasattr(group, "commands"):
                break
            assert name in group.commands, f"{where}: {text}"
            group = group.commands[name]
        known = {name for each in group.params for name in (*each.opts, *each.secondary_opts)}
        known.add("--help")
        assert {option.partition("=")[0] for option in options} <= known, f"{where}: {text}"
        for path in re.findall(r"--set (\S+=\S+)", text):
            LabOptions(changes=[path]).rack()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("netkv scenario rum quickstart", "no command 'netkv scenario rum'"),
        ("netkv doctor; netkv up --schema farreach", "No such option"),
        ("netkv up --set lab.sarvers=2", "'lab.sarvers' is not an option of a lab"),
        ("netkv scenario run quickstart --set workload.zipf=7", "less than or equal to 1.2"),
        ("netkv scenario run quikstart", "There is no scenario 'quikstart'"),
        ("for x in a b; do netkv gateway --prot 1 2> log & done", "No such option"),
        ("netkv gateway --port many", "valid integer"),
        ("netkv runs show", "Missing"),
    ],
)
def test_wrong_example_is_found(line: str, error: str, tmp_path: Path) -> None:
    *right, last = (words for words in commands(line) if words[0] == "netkv")
    for words in right:
        check(words, tmp_path)
    with pytest.raises(Exception) as raised:  # noqa: PT011 (typer's and netkv's usage errors)
        check(last, tmp_path)
    assert error in str(raised.value)


def test_blocks_with_netkv_commands_are_shell_blocks() -> None:
    """A block without a language is not checked, so it must not look like commands."""
    for block in blocks(""):
        assert not re.search(r"^netkv ", block.text, re.MULTILINE), str(block)
    assert len(SHELL) > 10


def test_every_document_is_reached_from_the_readme() -> None:
    """The README links to the indexes of docs/ and examples/, and one of the three to each other
    document."""
    readme = ROOT / "README.md"
    indexes = {ROOT / folder / "README.md" for folder in ("docs", "examples")}
    linked = {it: {file for file, _, _ in targets(it)} for it in (readme, *indexes)}
    assert indexes <= linked[readme]
    assert set(DOCUMENTS) <= {readme}.union(*linked.values())
