"""Runs the scenarios of this folder, draws their figures and writes a table of their throughput.

python study.py FOLDER [OPTIONS of 'netkv scenario run']...
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIOS = ("cache-size", "writes")


def run(name: str, results: Path, options: list[str]) -> dict[str, Any]:
    """Runs a scenario, writes its document and figures, and returns the document."""
    command = [sys.executable, "-m", "netkv", "scenario", "run", str(HERE / f"{name}.yaml")]
    figures = ["--plot", f"{results / name}/"]
    done = subprocess.run(
        [*command, *figures, "--json", *options], stdout=subprocess.PIPE, text=True, check=True
    )
    (results / f"{name}.json").write_text(done.stdout)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def table(document: dict[str, Any]) -> str:
    """The mean throughput of each scheme at each point of the sweep, as Markdown."""
    schemes = list(dict.fromkeys(each["scheme"] for each in document["runs"]))
    points: dict[str, dict[str, list[float]]] = {}
    for each in document["runs"]:
        point = ", ".join(f"{path} = {value}" for path, value in each["params"].items())
        points.setdefault(point, {}).setdefault(each["scheme"], []).append(each["throughput_ops"])
    lines = [f"| operations/s | {' | '.join(schemes)} |", "|---|" + "---:|" * len(schemes)]
    for point, of_schemes in points.items():
        means = (sum(it) / len(it) for it in (of_schemes[scheme] for scheme in schemes))
        lines.append(f"| {point} | {' | '.join(f'{mean:,.0f}' for mean in means)} |")
    return f"## {document['title']}\n\n" + "\n".join(lines) + "\n"


def main(folder: str, *options: str) -> None:
    results = Path(folder)
    results.mkdir(parents=True, exist_ok=True)
    tables = [table(run(name, results, list(options))) for name in SCENARIOS]
    (results / "table.md").write_text("\n".join(tables))
    print("\n".join(tables))


if __name__ == "__main__":
    main(*sys.argv[1:])
