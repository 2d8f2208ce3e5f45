"""The figures that `netkv runs plot` and `netkv scenario run --plot` write to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.runs import Store, StoreSink
from tests.cli.commands import Netkv
from tests.runs.recorded_runs import record, record_comparison, start

PLOTS = [
    {"y": "throughput_ops", "x": "scheme", "title": "Throughput"},
    {"y": "throughput_ops", "x": "time", "title": "Over time"},
    {"y": "latency_us", "x": "scheme", "title": "Latency"},
]


@pytest.fixture
def stored(home: Path) -> None:
    """Groups of runs: `gplotted` with plots, `gcompared` without, `gfailed` without samples."""
    assert home
    with Store() as store:
        record_comparison(store)
        with StoreSink(store, group="gplotted") as sink:
            for scheme in ("nocache", "netcache"):
                record(sink, start(f"plotted-{scheme}", scheme, parameters={"plots": PLOTS}))
        with StoreSink(store, group="gfailed") as sink:
            sink.begin(start("failed"))


@pytest.mark.usefixtures("stored")
def test_stored_runs_are_drawn_into_files_and_directories(netkv: Netkv, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    page = tmp_path / "page.html"
    result = netkv("runs", "plot", "gplotted", "--out", str(folder), "-o", str(page), "--json")
    assert result.status == 0, result.err
    names = ["latency.png", "latency.svg", "over-time.png", "over-time.svg"]
    names += ["throughput.png", "throughput.svg"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert set(result.document["files"]) == {str(page), *(str(folder / name) for name in names)}
    assert "The figures are in" in result.err
    assert "Over time" in page.read_text(encoding="utf-8")
    one = tmp_path / "over-time.svg"
    result = netkv("runs", "plot", "plotted-nocache", "plotted-netcache", "--out", str(one))
    assert result.status == 0, result.err
    assert result.err.strip() == f"The figure is in {one}."
    assert one.read_bytes() == (folder / "over-time.svg").read_bytes(), "equal figures"


@pytest.mark.usefixtures("stored")
def test_runs_without_a_figure_are_reported(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv("runs", "plot", "gfailed", "--out", str(tmp_path / "figure.svg"))
    assert result.status == 1
    assert "No figure can be drawn." in result.err
    assert "all 1 runs failed" in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "figure.svg").exists()


def test_run_draws_its_figures_when_it_is_over(
    netkv: Netkv, short_scenario: Path, tmp_path: Path
) -> None:
    text = short_scenario.read_text(encoding="utf-8")
    text += "plots:\n  - {title: Throughput}\n  - {y: served_by, title: Who served what}\n"
    short_scenario.write_text(text, encoding="utf-8")
    drawn = tmp_path / "who-served-what.png"
    page = tmp_path / "page.html"
    result = netkv(
        *("scenario", "run", str(short_scenario), "--json"),
        *("--plot", str(drawn), "--plot", str(page), "--plot", str(tmp_path)),
    )
    assert result.status == 0, result.err
    assert {run["scheme"] for run in result.document["runs"]} == {"nocache", "netcache"}
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert "Who served what" in page.read_text(encoding="utf-8")
    assert "NetCache" in (tmp_path / "throughput.svg").read_text(encoding="utf-8")
