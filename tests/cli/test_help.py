"""Help lists all commands in sections, each with a whole sentence."""

from __future__ import annotations

import pytest

from netkv.cli.app import _SECTIONS
from tests.cli.commands import ROOT, Netkv

GROUPS = ("", "scenario", "runs", "p4", "switch", "fpga", "bench", "jobs", "node")


@pytest.mark.parametrize("group", GROUPS)
def test_no_description_of_a_command_is_cut(netkv_in_process: Netkv, group: str) -> None:
    shown = netkv_in_process(*group.split(), "--help").out
    commands = shown[shown.index("Options:") :]
    assert "..." not in commands.replace("...]", "")
    assert commands.rstrip().endswith(".")


def test_commands_are_listed_by_section(netkv_in_process: Netkv) -> None:
    lines = netkv_in_process("--help").out.splitlines()
    places = [lines.index(f"{title}:") for title in _SECTIONS]
    assert places == sorted(places)
    for title, names in _SECTIONS.items():
        start = lines.index(f"{title}:")
        section = lines[start + 1 : [*lines, ""].index("", start)]
        listed = [line.split()[0] for line in section if line.startswith("  ") and line[2] != " "]
        assert listed == list(names)


def test_command_without_arguments_names_first_steps(netkv_in_process: Netkv) -> None:
    done = netkv_in_process()
    assert (done.status, done.err) == (0, "")
    lines = [line.strip() for line in done.out.splitlines()]
    commands = [line.split("  ")[0] for line in lines if line.startswith("netkv ") and "  " in line]
    assert commands == ["netkv scenario run quickstart", "netkv serve --open", "netkv --help"]
    assert (ROOT / "docs/learn/first-session.md").is_file()
    for command in commands:
        assert netkv_in_process(*command.split()[1:], "--help").status == 0


@pytest.mark.parametrize(
    ("word", "suggested"),
    [
        ("run", "'netkv scenario run' or 'netkv switch run' or 'netkv fpga run'"),
        ("stf", "'netkv p4 stf'"),
        ("sceario", "'scenario'"),
    ],
)
def test_unknown_commands_suggest_those_of_groups(
    netkv_in_process: Netkv, word: str, suggested: str
) -> None:
    done = netkv_in_process(word)
    assert done.status == 2
    assert f"No such command '{word}'. Did you mean {suggested}?" in done.err
