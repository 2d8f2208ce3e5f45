"""`--plot`: the files that it writes; an impossible path is refused before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.report.files import destination, write
from tests.report.test_drawing import LINES, STACKED


def test_directory_gets_both_files_of_each_figure(tmp_path: Path) -> None:
    written = write([destination(tmp_path)], [LINES, STACKED], lambda: "")
    names = ["lines.svg", "lines.png", "stacked.svg", "stacked.png"]
    assert [file.name for file in written] == names
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)


def test_missing_directory_is_created(tmp_path: Path) -> None:
    for name in ("new", "runs/2026/results-0.1"):
        to = destination(tmp_path / name)
        assert not (tmp_path / name).exists(), "created only by write()"
        write([to], [LINES], lambda: "")
        assert {file.name for file in (tmp_path / name).iterdir()} == {"lines.svg", "lines.png"}


def test_file_named_like_a_figure_gets_only_that_figure(tmp_path: Path) -> None:
    to = [destination(tmp_path / name) for name in ("stacked.svg", "all.SVG", "page.html")]
    one, every, page = write(to, [LINES, STACKED], lambda: "<!doctype html>")
    assert "Throughput over skew" not in one.read_text(encoding="utf-8")
    for title in ("Throughput over skew", "Who served what"):
        assert title in every.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == "<!doctype html>"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "figure.gif",
            "figure.gif: the name should end in '.svg', '.pdf', '.png' or '.html', or be that",
        ),
        ("no-such/figure.svg", "there is no directory 'no-such'."),
        ("pyproject.toml/figures", "pyproject.toml' is a file, not a directory."),
        ("Makefile", "Makefile' is a file, not a directory."),
    ],
)
def test_impossible_path_is_refused_at_once(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    with pytest.raises(UsageError) as caught:
        destination(Path(name))
    assert str(caught.value).startswith(f"--plot {Path(name)}: ")
    assert sentence in str(caught.value)


def test_unwritable_file_is_reported(tmp_path: Path) -> None:
    to = destination(tmp_path / "figure.svg")
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(NetkvError, match=r"figure.svg cannot be written: Is a directory\."):
        write([to], [LINES], lambda: "")
