"""`netkv p4 info --budget`: resources that a program needs of a switch with stages."""

from __future__ import annotations

from pathlib import Path

import typer

from netkv.cli.output import notify, print_json, stdout


def show(program: Path, bundle: bytes, *, strict: bool, json: bool) -> None:
    """Print the estimate. With `strict`, exit status 1 if something does not fit."""
    from netkv import _engine
    from netkv.errors import NetkvError
    from netkv.report import budget as report

    try:
        budget = _engine.p4_budget(bundle)
    except ValueError as error:
        raise NetkvError(f"{program}: {error}") from error
    paper = report.paper_of(program)
    pipelines = [budget[name] for name in report.PIPELINES]
    fits = not any(pipeline["warnings"] or pipeline["exceeded"] for pipeline in pipelines)
    if json:
        print_json({"program": str(program), "fits": fits, **budget, "paper": paper})
    else:
        console = stdout()
        console.print(
            f"{program.name} on a Tofino-like switch: an estimate from its dependencies, "
            "not a compilation",
            style="bold",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        for table in report.tables(budget, paper):
            console.print(table)
        for name in report.PIPELINES:
            for line in report.chain(name, budget[name]):
                console.print(line, soft_wrap=True)
        for line in report.findings(budget):
            console.print(line, soft_wrap=True)
        if paper:
            source = f"The paper: {paper['source']}."
            console.print(source, style="dim", markup=False, highlight=False, soft_wrap=True)
        notify("It fits, by this estimate." if fits else "It does not fit as it is.")
    if strict and not fits:
        raise typer.Exit(1)
