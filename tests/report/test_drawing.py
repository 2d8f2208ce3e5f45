"""Files of figures are deterministic, and their text overlaps nothing."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib import image

from netkv.report import drawing, layout
from netkv.report.figure import Axis, Band, Figure, Mark, Reference, Series
from netkv.report.style import nth

ROOT = Path(__file__).parents[2]
TIMES = tuple(float(second) for second in range(-3, 41))
LINES = Figure(
    name="lines",
    title="Throughput over skew",
    x=Axis("Zipf exponent"),
    y=Axis("Throughput", "operations/s", low=0.0),
    series=(
        Series("NoCache", (0, 0.9, 0.99), (2000, 1000, 800), spread=(20, 50, 90)),
        Series(
            "NetCache", (0, 0.9, 0.99), (2000, 4000, None), style=nth(1), spread=(20, None, None)
        ),
    ),
    references=(Reference(1500, "predicted"),),
)
OVER_TIME = Figure(
    name="time",
    title="A server dies",
    x=Axis("Time", "s"),
    y=Axis("Hit ratio", share=True, low=0.0, high=1.0),
    series=tuple(
        Series(name, TIMES, (0.4,) * 44, style=nth(at), spread=(0.1,) * 44, marked=False)
        for at, name in enumerate(("NoCache", "NetCache", "FarReach", "DistCache"))
    ),
    bands=(Band(-3, 0, "warm-up", "warmup"), Band(30, 40, "servers-127 down", "down")),
    marks=(Mark(5, "shift hot-in of 200 keys"), Mark(6, "shift hot-out of 200 keys")),
)
STACKED = Figure(
    name="stacked",
    title="Who served what, with a title that is too long for one line of a column of a paper",
    x=Axis("Workload", categories=("uniform", "a workload with a long name", "zipf 0.99", "hot")),
    y=Axis("Throughput relative to NoCache at zipf 0, writes 0.05, value_size 128", low=0.0),
    series=(
        Series("NoCache", (0, 1, 2, 3), (1, 0.9, 0.5, 0.4), "bars", spread=(0.1, None, None, None)),
        Series("NetCache: servers", (0, 1, 2, 3), (1, 1, 1, 1), "bars", nth(1), slot=1),
        Series(
            "NetCache: cache", (0, 1, 2, 3), (0.1, 1, 4, 6), "bars", nth(1),
            base=(1, 1, 1, 1), spread=(None, 0.5, 0.5, 0.5), slot=1, part=1,
        ),
    ),
)  # fmt: skip
SIDEWAYS = Figure(
    name="sideways",
    title="End to end over UDP",
    x=Axis("", categories=("netcache read-hit-trains (compiled, 128 B)", "redis")),
    y=Axis("Throughput", "requests/s", log=True),
    series=(Series("", (0, 1), (1e7, 300.0), "bars", labels=("10,000,000", "300")),),
    sideways=True,
    note="Intel(R) Xeon(R) Processor, 2 cores, Linux 6.18.44",
)
ALL = (LINES, OVER_TIME, STACKED, SIDEWAYS)


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)


@pytest.mark.slow
def test_same_figure_gives_the_same_bytes_for_every_user(tmp_path: Path) -> None:
    """User settings of matplotlib, the hash seed and earlier drawings have no effect."""
    settings = tmp_path / "matplotlibrc"
    settings.write_text("font.size: 20\nsvg.fonttype: none\naxes.grid: True\n", encoding="utf-8")
    script = (
        "import hashlib; import tests.report.test_drawing as t; "
        "kinds = ('svg', 'pdf', 'png'); "
        "print([hashlib.sha256(t.drawing.draw(t.ALL, k)).hexdigest() for k in kinds])"
    )
    other = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "MATPLOTLIBRC": str(settings), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [hashlib.sha256(drawing.draw(ALL, kind)).hexdigest() for kind in ("svg", "pdf", "png")]
    assert other.stdout.strip() == str(here)
    again = [hashlib.sha256(drawing.draw(ALL, kind)).hexdigest() for kind in ("svg", "pdf", "png")]
    assert again == here


def test_figures_can_be_drawn_by_several_threads() -> None:
    size = mpl.rcParams["font.size"]
    alone = {figure.name: drawing.draw([figure], "svg") for figure in ALL}
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda figure: drawing.draw([figure], "svg"), ALL * 3))
    assert drawn == [alone[figure.name] for figure in ALL * 3]
    assert mpl.rcParams["font.size"] == size, "the settings of the process are unchanged"


@each()
def test_figure_is_as_wide_as_a_column_and_nothing_is_cut_off(figure: Figure) -> None:
    svg = drawing.draw([figure], "svg").decode()
    assert re.search(r'<svg [^>]*width="252pt"', svg), "3.5 inches"
    pixels = image.imread(io.BytesIO(drawing.draw([figure], "png")))[:, :, :3]
    assert pixels.shape[1] == 3.5 * drawing.DPI
    edge = int(layout.MARGIN * drawing.DPI) - 3
    for strip in (pixels[:edge], pixels[-edge:], pixels[:, :edge], pixels[:, -edge:]):
        assert (strip == 1).all(), "something reaches the edge"
    assert (pixels < 0.9).any()


@each()
def test_legend_and_texts_of_events_cover_no_data(figure: Figure) -> None:
    """They are above the area of the data and do not overlap."""
    with mpl.rc_context(drawing._STYLE):
        sheet = drawing._sheet([figure])
        (axes,) = sheet.axes
        top = axes.get_window_extent().y1
        boxes = [text.get_window_extent() for text in axes.texts if not figure.sideways]
        if (legend := axes.get_legend()) is not None:
            boxes.append(legend.get_window_extent())
        assert len(boxes) == len(layout.event_texts(figure)) + bool(figure.legend())
        for number, box in enumerate(boxes):
            assert box.y0 >= top - 1
            for other in boxes[:number]:
                assert not box.overlaps(other)


def test_text_of_a_user_is_not_interpreted() -> None:
    nasty = "<b>$x_1$ & $y$ --> \x00\x1b[0m \ud800 丢失 </svg>"
    from netkv.report.figure import plain

    figure = replace(
        LINES,
        title=plain(nasty),
        x=Axis(plain(nasty)),
        series=tuple(replace(series, name=plain(nasty)) for series in LINES.series),
    )
    root = ElementTree.fromstring(drawing.draw([figure], "svg").decode())
    assert not list(root.iter("{http://www.w3.org/2000/svg}b"))
    assert drawing.draw([figure], "png").startswith(b"\x89PNG")
    assert plain("a\n b\x00c") == "a bc"
    assert len(plain("long " * 100)) <= 120


def over(*values: float, log: bool = False) -> Figure:
    """A line over these values of a sweep."""
    x = Axis("Keys of a request", log=log, ticks=values)
    return replace(LINES, x=x, series=(Series("NetMC", values, values),), references=())


@pytest.mark.parametrize("log", [False, True])
def test_ticks_are_at_the_sizes_that_were_run(log: bool) -> None:
    """None in between: a reader takes a tick for a point that was measured."""
    figure = over(2, 4, 8, 16, 32, log=log)
    svg = drawing.draw([figure], "svg").decode()
    below = svg[svg.index('id="matplotlib.axis_1"') : svg.index('id="matplotlib.axis_2"')]
    assert below.count('id="xtick_') == 5
    assert re.findall(r"<!-- ([0-9.]+) -->", below) == [
        label for _, label in layout.ticks(figure.x, layout.x_limits(figure)) if label
    ]


def test_labels_of_ticks_do_not_overlap() -> None:
    figure = over(1, 2, 3, 4, 5, 6, 1000)
    found = layout.ticks(figure.x, layout.x_limits(figure))
    assert [at for at, _ in found] == [1, 2, 3, 4, 5, 6, 1000]
    assert [label for _, label in found if label] == ["1", "1k"]
    figure = over(2, 4, 8, 16, 32, log=True)
    labels = [label for _, label in layout.ticks(figure.x, layout.x_limits(figure))]
    assert labels == ["2", "4", "8", "16", "32"]


def test_several_figures_share_a_sheet_in_two_columns() -> None:
    svg = drawing.draw(ALL, "svg").decode()
    assert re.search(r'<svg [^>]*width="504pt"', svg)
    for figure in ALL:
        assert f"<!-- {layout.title_lines(figure)[0]} -->" in svg


def test_line_has_a_gap_at_a_missing_value() -> None:
    gap = replace(LINES, series=(Series("a", (1, 2, 3), (1, None, 3)),))
    svg = drawing.draw([gap], "svg").decode()
    line = next(path for path in re.findall(r'<path d="([^"]*)"', svg) if path.count("M") == 2)
    assert "L" not in line, "no line crosses the gap"
