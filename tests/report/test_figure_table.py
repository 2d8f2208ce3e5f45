"""The table under a figure, as CSV and LaTeX."""

from __future__ import annotations

import csv
import io

from netkv.report.figure import Axis, Figure, Reference, Series
from netkv.report.figure_table import escaped, to_csv, to_latex

FIGURE = Figure(
    name="lines",
    title="Throughput over skew",
    x=Axis("Zipf exponent"),
    y=Axis("Throughput", "operations/s"),
    series=(
        Series("NoCache & co", (0, 0.9), (2000.5, 812.345678), spread=(20, None)),
        Series("NetCache", (0.9, 0.99), (4000, None)),
    ),
    references=(Reference(0.1 + 0.2, "predicted_50%"), Reference(1, "")),
)


def test_csv_has_all_digits_and_empty_unknown_values() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(FIGURE))))
    assert rows == [
        ["Zipf exponent", "NoCache & co", "± NoCache & co", "NetCache", "predicted_50%"],
        ["0", "2000.5", "20", "", "0.30000000000000004"],
        ["0.9", "812.345678", "", "4000", "0.30000000000000004"],
        ["0.99", "", "", "", "0.30000000000000004"],
    ]


def test_latex_table_is_escaped_and_has_intervals() -> None:
    assert to_latex(FIGURE).splitlines() == [
        "% Throughput over skew. Values: Throughput (operations/s).",
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"Zipf exponent & NoCache \& co & NetCache & predicted\_50\% \\",
        r"\midrule",
        r"0 & 2,000 $\pm$ 20 & -- & 0.3 \\",
        r"0.9 & 812.3 & 4,000 & 0.3 \\",
        r"0.99 & -- & -- & 0.3 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_text_has_no_meaning_for_latex() -> None:
    assert escaped(r"a\b{c}~^<$&#_%") == (
        r"a\textbackslash{}b\{c\}\textasciitilde{}\textasciicircum{}\textless{}\$\&\#\_\%"
    )


def test_shares_are_percentages_and_categories_names() -> None:
    figure = Figure(
        "hits",
        "Hits",
        x=Axis("", categories=("ycsb-a", "ycsb-b")),
        y=Axis("Hit ratio", share=True),
        series=(Series("", (0, 1), (0.481, 0.5), "bars"),),
    )
    assert r"ycsb-a & 48.1\% \\" in to_latex(figure)
    assert to_csv(figure).splitlines()[1] == "ycsb-a,0.481"


def test_long_table_breaks_across_pages() -> None:
    x = tuple(float(second) for second in range(200))
    text = to_latex(Figure("t", "t", Axis("Time", "s"), Axis("y"), (Series("", x, x),)))
    assert r"\begin{longtable}{lr}" in text
    assert r"\endhead" in text
    assert r"\usepackage{booktabs,longtable}" in text
