"""What a reviewer of an artefact needs: claims, commands, expected output, times, and what is not
supported, as a README beside the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netkv import __version__
from netkv.errors import NetkvError
from netkv.evaluation import document, table
from netkv.evaluation.rows import CONFIDENCE, Row
from netkv.evaluation.selection import Chosen
from netkv.evaluation.words import NEAR
from netkv.report import text
from netkv.report.reproduction import Found, setup
from netkv.runs import walltime
from netkv.scenarios import loader


def write(directory: Path, found: Found) -> Path:
    """Writes `README.md`, `run.sh` and `expected/EXPERIMENT.md` into a directory, which it creates.

    Returns the README. Raises `NetkvError` if the files cannot be written.
    """
    files = {
        "README.md": _readme(found),
        "run.sh": _commands(found),
        **{f"expected/{each.experiment.name}.md": _expected(each, rows) for each, rows in found},
    }
    try:
        for name, content in files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
    except OSError as error:
        raise NetkvError(f"{file} cannot be written: {error.strerror or error}.") from error
    (directory / "run.sh").chmod(0o755)
    return directory / "README.md"


def _readme(found: Found) -> str:
    kept = list(dict.fromkeys(each.paper for each, _ in found))
    lines = [
        "# Artefact",
        "",
        f"Made by netkv {__version__} (`netkv reproduce --artifact`). Needed: a machine with "
        "Linux, Python 3.11 or newer and 4 GB of memory; no switch, no card, no root. "
        "`pip install netkv` or `make setup` in a clone installs it. `./run.sh` repeats "
        "everything below; it can be interrupted and started again, and repeats nothing that is "
        "stored.",
        "",
        "## Claims",
        "",
        "| claim | paper | netkv | experiment | command | time on a core, each seed |",
        "| --- | ---: | ---: | --- | --- | ---: |",
        *(line for each, rows in found for line in _claims(each, rows)),
        "",
        f"A claim is supported if netkv's mean is within {NEAR:.0%} of the paper's figure, or if "
        "the words hold. The figures of another machine are the same with the same seeds: runs are "
        f"in virtual time. Other seeds lie in the interval of {CONFIDENCE:.0%} in `expected/`.",
        "",
        "## Not supported",
        "",
        *(_missing(found) or ["Nothing of these papers."]),
        "",
        "## Evaluations",
        "",
        *(f"- {name}: `netkv reproduce {name}`" for name in kept),
    ]
    return "\n".join(lines) + "\n"


def _claims(each: Chosen, rows: Sequence[Row]) -> list[str]:
    own = each.experiment
    if own.variant or own.control:
        return []
    lines = []
    scenario = loader.load(loader.find(own.scenario), list(own.changes))
    seconds = walltime.of_scenario(scenario, walltime.History(()), 1).wall_seconds
    for row in rows:
        if row.alike.verdict is None and row.alike.holds is None:
            continue
        digits = row.claim.digits
        found = row.measured if row.published is None else row.published
        reported = table.reported(row.reported, digits) or f"{row.listed:,.{digits}f}"
        point = "" if row.point is None else f" ({row.claim.along} {row.point})"
        said = table.verdict(row, row.alike).rendered()
        lines.append(
            f"| {row.claim.name}{point} | {reported} | {found.mean:,.{digits}f} ({said}) | "
            f"{own.name} | `{each.command}` | {text.duration(seconds)} |"
        )
    return lines


def _missing(found: Found) -> list[str]:
    """What netkv does not show, then claims that its figures do not support."""
    ledgers = {each.paper: each.evaluation.ledger for each, _ in found}
    unshown = [
        f"- {paper}, {entry.source}: {entry.says}. Not shown: {entry.missing}."
        for paper, ledger in ledgers.items()
        for entry in ledger
        if entry.missing is not None
    ]
    return unshown + [
        f"- {row.claim.name} ({each.experiment.name}, {row.point}): "
        f"{table.verdict(row, row.alike).rendered()}. {row.claim.cause or ''}".rstrip()
        for each, rows in found
        if not (each.experiment.variant or each.experiment.control)
        for row in rows
        if row.alike.verdict in ("direction", "differs") or row.alike.holds is False
    ]


def _expected(each: Chosen, rows: Sequence[Row]) -> str:
    own = each.experiment
    lines = "\n".join(f"- {line}" for line in setup(own))
    return f"# {own.title}\n\n{own.source}.\n\n{lines}\n{document.markdown(rows, each.command)}"


def _commands(found: Found) -> str:
    lines = "".join(f"{each.command} --save results\n" for each, _ in found)
    return (
        "#!/bin/sh\n# Repeats the experiments of this artefact; figures go to results/.\nset -e\n"
        f"{lines}"
    )
