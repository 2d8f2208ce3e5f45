"""Control characters in texts of files, requests and stores do not reach the terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from netkv.cli import logs, output, visible
from netkv.cli.console import VisibleConsole
from netkv.labs import daemon

ESCAPES = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\rover",
    "\x08back",
    "\x7f",
    "\u202egnp.exe",
    "\u2066",
]


@pytest.fixture
def terminal() -> io.StringIO:
    return io.StringIO()


def console(terminal: io.StringIO) -> VisibleConsole:
    return VisibleConsole(file=terminal, force_terminal=True, width=200, color_system=None)


@pytest.mark.parametrize("text", ESCAPES)
def test_console_shows_control_characters_as_escapes(terminal: io.StringIO, text: str) -> None:
    table = Table(title=text)
    table.add_column(text)
    table.add_row(Text(text))
    shown = console(terminal)
    shown.print(text, markup=False)
    shown.print(table)
    printed = terminal.getvalue()
    assert "red" in printed or text != ESCAPES[0]
    assert visible.visible(printed) == printed


def test_colours_of_netkv_itself_stay(terminal: io.StringIO) -> None:
    shown = VisibleConsole(file=terminal, force_terminal=True, color_system="standard")
    shown.print("error: ", style="bold red", end="")
    assert "\x1b[1;31m" in terminal.getvalue()


def test_tabs_lines_and_letters_stay() -> None:
    text = "a\tb\nc é 漢 🎉"
    assert visible.visible(text) == text


@pytest.mark.parametrize("text", ESCAPES)
def test_json_is_the_same_value_without_control_characters(text: str) -> None:
    printed = visible.document({"title": text})
    assert json.loads(printed) == {"title": text}
    assert visible.visible(printed) == printed


def test_logs_of_a_lab_execute_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "switch.log"
    file.write_text("1700000000.000 \x1b[31mred\nnext \u202e\n", encoding="utf-8")
    monkeypatch.setattr(daemon, "logs", lambda _: {"switch": file})
    logs.logs("mine", lines=5)
    printed = capsys.readouterr().out
    assert "\\x1b[31mred\nswitch | next \\u202e\n" in printed
    assert visible.visible(printed) == printed


def test_files_get_text_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output.write("\x1b[31m", end="")
    assert capsys.readouterr().out == "\x1b[31m"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output.write("\x1b[31m", end="")
    assert capsys.readouterr().out == "\\x1b[31m"
