"""Generates the tables of docs/internals/traps.md: `python -m tests.tables`, `make docs`.

A trap is a test of a failure scenario, and of mutants of the program that fail in it. A table is
between `<!-- begin traps PATH -->` and `<!-- end traps -->`; PATH is the file with the traps. That
of the RTL's comparisons is between `<!-- begin comparisons -->` and `<!-- end comparisons -->`.

- Rust: the file with the macro `traps!`. The first paragraph of a script's documentation is the
  scenario, the paragraph "Protection: …" names the rule that prevents the failure.
- Python: a module of tests. The first line of a test's docstring is the protection; a line
  "Mutant: …" names the rule that the test itself changes.

The table of comparisons (`tests/comparisons/comparisons.toml`) is written likewise.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.comparisons import register

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs/internals/traps.md"

_COMPARISONS = re.compile(r"(<!-- begin comparisons -->\n).*?(<!-- end comparisons -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- begin traps (\S+) -->\n).*?(<!-- end traps -->)", re.DOTALL)
_PROTOCOLS = re.compile(
    r"(<!-- begin comparisons of protocols -->\n).*?(<!-- end comparisons of protocols -->)",
    re.DOTALL,
)
_TRAP = re.compile(r"(\w+):\s*([\w:]+)\s*,(.*?);", re.DOTALL)
_FUNCTION = re.compile(r"((?:^[ \t]*///.*\n)+)^[ \t]*pub(?:\(\w+\))? fn (\w+)", re.MULTILINE)
_MUTANT = re.compile(r"(?:const (\w+): Mutant =[^;\"]*|(\w+) = \w+,\s*)\"([^\"]+)\"")


@dataclass(frozen=True)
class Trap:
    """A row of a table."""

    name: str
    scenario: str
    """Empty for traps in Python."""
    protection: str
    mutants: tuple[str, ...]
    """The rules that the mutants leave out, as Markdown."""


class MissingTextError(Exception):
    """A trap without the text that its row needs."""


def rust_traps(main: Path) -> Iterator[Trap]:
    """The traps of a file with the macro `traps!`, in their order."""
    sources = sorted(main.parent.rglob("*.rs"))
    documented: dict[str, str] = {}
    mutants: dict[str, str] = {}
    for source in sources:
        text = source.read_text()
        for comment, name in _FUNCTION.findall(text):
            plain = re.sub(r"^[ \t]*/// ?", "", comment, flags=re.MULTILINE)
            documented[f"{source.stem}::{name}"] = documented[name] = plain
        mutants.update({a or b: rule for a, b, rule in _MUTANT.findall(text)})
    body = main.read_text().partition("\ntraps! {\n")[2].partition("\n}\n")[0]
    for name, script, rest in _TRAP.findall(re.sub(r"//.*", "", body)):
        scenario, *others = re.split(r"\n\s*\n", documented.get(script, "").strip())
        protection = next((it for it in others if it.startswith("Protection: ")), "")
        if not scenario or not protection:
            raise MissingTextError(
                f"{main}: the script {script} of {name} needs documentation: what happens, an "
                "empty line, 'Protection: …'."
            )
        own = re.search(r"\[(.*?)\]", rest, re.DOTALL)
        used = re.findall(r"(\w+)(?: =>[^,]*)?(?:,|$)", own[1].strip()) if own else []
        named = [mutants.get(mutant, f"`{mutant}`") for mutant in used]
        protection = protection.removeprefix("Protection: ")
        yield Trap(name, _line(scenario), _line(protection), tuple(named))


def python_traps(module: Path) -> Iterator[Trap]:
    """The tests of a module that name a mutant, or that change a rule themselves."""
    tree = ast.parse(module.read_text())
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for test in tree.body:
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        if "documentation" in test.name:
            continue
        documentation = ast.get_docstring(test) or ""
        protection = documentation.split("\n")[0]
        if not protection:
            raise MissingTextError(f"{module}: {test.name} needs a docstring, its protection.")
        found = [
            (node.lineno, node.col_offset, name)
            for node in ast.walk(test)
            if isinstance(node, ast.expr) and (name := _mutant(node, classes)) is not None
        ]
        mutants = dict.fromkeys(f"`{name}`" for *_, name in sorted(found))
        mutants.update(dict.fromkeys(re.findall(r"^Mutant: (.*)\.$", documentation, re.MULTILINE)))
        if not mutants:
            raise MissingTextError(f"{module}: {test.name} uses no mutant; say 'Mutant: ….'")
        yield Trap(test.name, "", protection, tuple(mutants))


def _mutant(node: ast.expr, classes: set[str]) -> str | None:
    """The name of a mutant: a class of the module, or of a module `…mutants`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id.endswith("mutants") else None
    return node.id if isinstance(node, ast.Name) and node.id in classes else None


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(path: Path) -> str:
    """The Markdown of the traps in a file."""
    if path.suffix == ".py":
        rows = [f"| `{t.name}` | {t.protection} | {_list(t)} |" for t in python_traps(path)]
        head = "| trap and test | protection | mutants |\n|---|---|---|"
    else:
        rows = [
            f"| `{t.name}` | {t.scenario} | {t.protection} | {_list(t)} |" for t in rust_traps(path)
        ]
        head = "| trap and test | what happens | protection | mutants |\n|---|---|---|---|"
    return "\n".join([head, *rows, ""])


def _list(trap: Trap) -> str:
    return "; ".join(trap.mutants)


def updated(text: str) -> str:
    """The document with its tables generated again."""
    # They need what the tests of the RTL need.
    from tests.fpga import comparison_table

    text = _COMPARISONS.sub(lambda found: found[1] + comparison_table.table() + found[2], text)
    text = _PROTOCOLS.sub(lambda found: found[1] + register.table() + found[2], text)
    return _TABLE.sub(lambda found: found[1] + table(ROOT / found[2]) + found[3], text)


if __name__ == "__main__":
    try:
        DOCUMENT.write_text(updated(DOCUMENT.read_text()))
    except (MissingTextError, OSError) as error:
        sys.exit(str(error))
